"""`python -m tests.e2e.image FOLDER`: run the steps of the Dockerfile on a Debian root, without an image registry.

The program needs root, debootstrap, and the mirrors of this machine. FOLDER becomes the root of the image. The program
prints the other parts of the image, one per line: the entry point and the environment variables.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
RELEASE = re.search(r"-slim-(\w+)@", (REPOSITORY / "Dockerfile").read_text(encoding="utf-8"))[1]  # type: ignore[index]
PACKAGES = "python3,python3-venv,ca-certificates"
# The folder that the last stage adds to its base.
ADDED = "opt/spark-operator"
MOST_BYTES = 90_000_000
# With these, a step inside the root reaches package indexes. They do not become part of the image, because its last
# stage runs no command.
_OUTSIDE = ("/etc/resolv.conf", "/etc/hosts", "/etc/ssl/certs/ca-certificates.crt")


@dataclass
class Stage:
    """A root file system that becomes an image."""

    root: Path
    folder: str = "/"
    environment: dict[str, str] = field(default_factory=dict)
    user: str = ""
    entrypoint: list[str] = field(default_factory=list)

    def path(self, name: str) -> Path:
        """Return the path on this machine of `name` in the root."""
        return self.root / os.path.normpath(os.path.join(self.folder, name)).lstrip("/")  # noqa: PTH118 (of the image)


def read_instructions(text: str) -> Iterator[tuple[str, str]]:
    """Yield the instructions of a Dockerfile with their arguments. Join continued lines, and fill in ARG defaults."""
    defaults: dict[str, str] = {}
    joined = re.sub(r"\\\n\s*", " ", re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE))
    for line in filter(None, map(str.strip, joined.splitlines())):
        word, _, rest = line.partition(" ")
        if word == "ARG":
            name, _, value = rest.partition("=")
            defaults[name] = value
        else:
            yield word, re.sub(r"\$\{(\w+)\}", lambda match: defaults[match[1]], rest)


def build(text: str, folder: Path) -> Stage:
    """Carry out a Dockerfile. Return its last stage.

    Raises:
        ValueError: The Dockerfile has an unknown instruction.
    """
    base, stages = folder / "base", {}
    _debootstrap(base)
    stage = None
    for number, (word, rest) in enumerate(read_instructions(text)):
        if word == "FROM":
            name = rest.partition(" AS ")[2] or "last"
            stage = stages[name] = Stage(folder / name)
            subprocess.run(["cp", "-a", base, stage.root], check=True)
            continue
        assert stage is not None, f"instruction {number} comes before FROM"
        _carry_out(stage, word, rest, stages)
    return stages["last"]


def _carry_out(stage: Stage, word: str, rest: str, stages: Mapping[str, Stage]) -> None:
    match word:
        case "WORKDIR":
            stage.folder = rest
            stage.path(".").mkdir(parents=True, exist_ok=True)
        case "ENV":
            stage.environment |= dict(pair.split("=", 1) for pair in shlex.split(rest))
        case "USER":
            stage.user = rest
        case "ENTRYPOINT":
            stage.entrypoint = json.loads(rest)
        case "CMD":
            pass  # a pod sets the arguments
        case "COPY":
            _copy(stage, shlex.split(rest), stages)
        case "RUN":
            _run(stage, rest)
        case _:
            raise ValueError(f"{word}: unknown here")


def _copy(stage: Stage, words: list[str], stages: Mapping[str, Stage]) -> None:
    option = words.pop(0) if words[0].startswith("--from=") else None
    *sources, target = words
    origin = stages[option.partition("=")[2]].root if option else REPOSITORY
    for source in sources:
        path, to = origin / source.lstrip("/"), stage.path(target)
        if path.is_dir():
            shutil.copytree(
                path, to, symlinks=True, ignore=shutil.ignore_patterns("__pycache__") if not option else None
            )
        else:
            to = to / path.name if target.endswith("/") else to
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, to)


def _run(stage: Stage, command: str) -> None:
    for name in _OUTSIDE:
        inside = stage.root / name.lstrip("/")
        inside.unlink(missing_ok=True)
        shutil.copy(name, inside)
    settings = {name: value for name, value in os.environ.items() if name.startswith("PIP_") or "proxy" in name.lower()}
    environment = {
        "PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/root",
        **settings,
        **stage.environment,
    }
    words = ["chroot", str(stage.root), "/bin/sh", "-ec", f"cd {shlex.quote(stage.folder)}; {command}"]
    subprocess.run(words, check=True, env=environment, stdout=sys.stderr)


def _debootstrap(root: Path) -> None:
    query = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Label: Debian"]
    mirrors = subprocess.run([*query, "Component: main"], check=True, stdout=subprocess.PIPE, text=True).stdout
    words = ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", RELEASE, str(root), mirrors.split()[0]]
    subprocess.run(words, check=True, stdout=sys.stderr)
    for leftover in ("var/cache/apt/archives", "var/lib/apt/lists", "dev"):
        shutil.rmtree(root / leftover)
        (root / leftover).mkdir()


if __name__ == "__main__":
    target = Path(sys.argv[1])
    with tempfile.TemporaryDirectory(dir=target.parent) as temporary:
        built = build((REPOSITORY / "Dockerfile").read_text(), Path(temporary))
        size = sum(path.lstat().st_size for path in (built.root / ADDED).rglob("*"))
        print(f"the added layer has {size / 1e6:.1f} MB", file=sys.stderr)
        if size > MOST_BYTES:
            sys.exit(f"could not build the image: /{ADDED} is larger than {MOST_BYTES / 1e6:.0f} MB. Add less to it")
        built.root.rename(target)
    print(built.entrypoint[0], *(f"{name}={value}" for name, value in built.environment.items()), sep="\n")
