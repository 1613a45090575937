"""An empty environment into which the wheels in `dist/` are installed."""

import re
import subprocess
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]
WHEELS = ROOT / "dist"


def install(folder: Path, requirement: str) -> Path:
    """Install one requirement into an empty environment, with the pinned versions. Return its folder of programs."""
    pins = re.findall(
        r"^[\w.-]+==[^ \n]+(?: ;[^\\\n]*)?", (ROOT / "requirements" / "dev.txt").read_text(), re.MULTILINE
    )
    constraints = folder / "constraints.txt"
    constraints.write_text("\n".join(pins), encoding="utf-8")
    venv.create(folder / "venv", with_pip=True)
    programs = folder / "venv" / "bin"
    command: list[str | Path] = [
        programs / "pip",
        "install",
        "--quiet",
        "--no-cache-dir",
        "--find-links",
        WHEELS,
        "-c",
        constraints,
    ]
    subprocess.run([*command, requirement], check=True, cwd=folder)
    return programs
