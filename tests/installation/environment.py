"""Empty environments, into which the package is installed with the commands of the documentation."""

import os
import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
WHEELS: Final = ROOT / "dist"
AIRFLOW_PINS: Final = (
    pytest.param(
        "airflow-3.0",
        marks=pytest.mark.skipif(sys.version_info >= (3, 13), reason="Airflow 3.0 does not run on Python 3.13"),
        id="3.0",
    ),
    pytest.param("dev", id="3.3"),
    pytest.param("airflow-3.4", id="3.4"),
)
"""The files in `requirements/` with the lowest, the newest and the next version of Airflow."""
_SECONDS: Final = 900


def read_commands(page: str) -> list[list[str]]:
    """Return the commands of each console block of a page, without the prompt."""
    blocks = re.findall(r"^```console\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [[line.removeprefix("$ ") for line in block.splitlines()] for block in blocks]


def run_in_terminal(commands: Iterable[str], folder: Path, environment: Mapping[str, str]) -> tuple[int, str]:
    """Run the commands of a page as a user types them in one terminal. Return the exit code and the output."""
    script = "\n".join(["set -e", *commands])
    found = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_SECONDS,
    )
    return found.returncode, found.stdout


def build_user_environment(programs: Path | None = None) -> dict[str, str]:
    """Return the variables of a user, who has the settings of pip, but no active environment.

    Args:
        programs: Folder of programs to search first.
    """
    environment = {key: value for key, value in os.environ.items() if key not in ("VIRTUAL_ENV", "PYTHONPATH")}
    folders = [folder for folder in environment["PATH"].split(os.pathsep) if not (Path(folder) / "activate").exists()]
    return environment | {"PATH": os.pathsep.join([*([str(programs)] if programs else []), *folders])}


def clone(folder: Path) -> list[str]:
    """Return the commands of the documentation that clone the repository, with the address of this one."""
    commands = read_commands("docs/get-started/install.md")[0][:2]
    return [command.replace("REPOSITORY", str(ROOT)) for command in commands]


def install(folder: Path, *requirements: str, pins: str = "dev") -> Path:
    """Install requirements into an empty environment, with pinned versions. Return its folder of programs."""
    venv.create(folder / "venv", with_pip=True)
    programs = folder / "venv" / "bin"
    command: list[str | Path] = [programs / "pip", "install", "--quiet", "--find-links", WHEELS, *requirements]
    subprocess.run(command, check=True, cwd=folder, env=os.environ | pin_versions(folder, pins))
    return programs


def clone_without_sources(folder: Path, environment: Mapping[str, str]) -> Path:
    """Clone the repository, and delete both packages from it, so that its tests can only import the wheels."""
    code, output = run_in_terminal(clone(folder), folder, environment)
    assert code == 0, output
    repository = folder / "airflow-provider-spark-operator"
    for source in ("airflow_provider_spark_operator", "packages/local-kubernetes/local_kubernetes"):
        shutil.rmtree(repository / source)
    return repository


def pin_versions(folder: Path, pins: str = "dev") -> dict[str, str]:
    """Return a variable with which pip installs the versions of a file in `requirements/`."""
    pattern = r"^[\w.-]+==[^ \n]+(?: ;[^\\\n]*)?"
    versions = re.findall(pattern, (ROOT / "requirements" / f"{pins}.txt").read_text(encoding="utf-8"), re.MULTILINE)
    (folder / "constraints.txt").write_text("\n".join(versions), encoding="utf-8")
    return {"PIP_CONSTRAINT": str(folder / "constraints.txt")}
