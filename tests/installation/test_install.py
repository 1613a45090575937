"""The commands that install the package work literally in empty environments."""

import subprocess
import venv
from pathlib import Path

import pytest

from tests.installation.environment import build_user_environment, clone, pin_versions, read_commands, run_in_terminal
from tests.installation.test_wheels import check_application_runs

FROM_CLONE, WITH_UV, BUILD_WHEELS, FROM_WHEELS = read_commands("docs/get-started/install.md")

pytestmark = pytest.mark.timeout(1500)


def test_readme_and_tutorial_install_as_the_page_does() -> None:
    readme = [command for block in read_commands("README.md") for command in block]
    position = readme.index(FROM_CLONE[2])
    assert readme[position : position + 3] == FROM_CLONE[2:]
    assert [command for command in readme if command in FROM_CLONE[:2]] == FROM_CLONE[:2]
    assert read_commands("docs/get-started/tutorial.md")[0] == FROM_CLONE


def test_uv_installs_the_clone(tmp_path: Path) -> None:
    venv.create(tmp_path / "tools", with_pip=True)
    tools = tmp_path / "tools" / "bin"
    subprocess.run([tools / "pip", "install", "--quiet", "uv"], check=True)
    uv = tmp_path / "uv"
    uv.mkdir()
    (uv / "uv").symlink_to(tools / "uv")

    code, output = run_in_terminal([*clone(tmp_path), *WITH_UV], tmp_path, build_user_environment(uv))

    assert code == 0, output
    programs = tmp_path / "tutorial" / "bin"
    subprocess.run([programs / "python", "-c", "import airflow.sdk, local_kubernetes, pyspark"], check=True)
    subprocess.run([programs / "spark-operator", "--version"], check=True)


def test_wheels_of_the_clone_run_an_application(tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    environment = build_user_environment(tmp_path / "venv" / "bin") | pin_versions(tmp_path)

    code, output = run_in_terminal([*clone(tmp_path), *BUILD_WHEELS, *FROM_WHEELS], tmp_path, environment)

    assert code == 0, output
    wheels = (tmp_path / "airflow-provider-spark-operator" / "dist").iterdir()
    assert {wheel.name.partition("-")[0] for wheel in wheels} == {"airflow_provider_spark_operator", "local_kubernetes"}
    check_application_runs(tmp_path / "venv" / "bin", tmp_path)
