"""The commands, resources, programs and DAGs of the pages work with the wheels, without the sources of the packages."""

import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.installation.environment import (
    ROOT,
    WHEELS,
    build_user_environment,
    clone_without_sources,
    install,
    pin_versions,
)

# The tests that run what the pages show. `make test` and `make e2e` run them with the sources.
TESTS = (
    "tests/airflow/test_examples.py",
    "tests/cli/local/test_local_script.py",
    "tests/cli/program/test_documented_commands.py",
    "tests/docs/test_code_blocks.py",
    "tests/docs/test_documentation.py",
    "tests/docs/test_hook.py",
    "tests/docs/test_tutorial.py",
    "tests/local/test_streaming.py",
)

pytestmark = [
    pytest.mark.skipif(not WHEELS.is_dir(), reason="there are no wheels in dist/: see `make installation`"),
    pytest.mark.timeout(1800),
]


def test_pages_work_with_the_wheels(tmp_path: Path) -> None:
    programs = install(tmp_path, "airflow-provider-spark-operator[airflow,files,local,webhook]")
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]["dev"]
    environment = build_user_environment(programs) | pin_versions(tmp_path)
    subprocess.run([programs / "pip", "install", "--quiet", *tools], check=True, cwd=tmp_path, env=environment)
    repository = clone_without_sources(tmp_path, environment)

    command: list[str | Path] = [
        programs / "python",
        "-m",
        "pytest",
        "-q",
        "-rs",
        "-n",
        "2",
        "-m",
        "not scheduler",
        *TESTS,
    ]
    found = subprocess.run(command, cwd=repository, env=environment, capture_output=True, text=True, timeout=1500)

    print(found.stdout[-2000:])  # the reasons for skipped tests, and the sums
    assert found.returncode == 0, found.stdout[-20_000:] + found.stderr
