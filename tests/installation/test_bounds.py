"""The wheels work with the lowest packages that their metadata allow, and with the newest ones: `make bounds`."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.installation.environment import ROOT, WHEELS, build_user_environment, clone_without_sources, install

pytestmark = [
    pytest.mark.skipif(not WHEELS.is_dir(), reason="there are no wheels in dist/: see `make bounds`"),
    pytest.mark.timeout(2400),
]


@pytest.mark.parametrize("pins", ["lowest", "dev"], ids=["lowest", "newest"])
def test_tests_pass_with_the_wheels(pins: str, tmp_path: Path) -> None:
    if pins == "lowest" and sys.version_info >= (3, 13):
        pytest.skip("Airflow 3.0 does not run on Python 3.13")
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
    # The test tools are those of the pinned versions; only the packages that the wheels need are at their bounds.
    programs = install(
        tmp_path, "airflow-provider-spark-operator[airflow,testing,webhook]", *tools["airflow-versions"], pins=pins
    )
    subprocess.run([programs / "pip", "check"], check=True)
    environment = build_user_environment(programs)
    repository = clone_without_sources(tmp_path, environment)

    command: list[str | Path] = [programs / "python", "-m", "tests.selection", "bounds-tests", "-q", "-n", "2"]
    found = subprocess.run(command, cwd=repository, env=environment, capture_output=True, text=True, timeout=2100)

    print(found.stdout[-2000:])  # the reasons for skipped tests, and the sums
    assert found.returncode == 0, found.stdout[-20_000:] + found.stderr
