"""The commands and files of the tutorial work literally, from the clone of the repository to the end."""

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from tests.installation.environment import (
    AIRFLOW_PINS,
    ROOT,
    build_user_environment,
    clone,
    install,
    read_commands,
    run_in_terminal,
)

PAGE = "docs/get-started/tutorial.md"
SCRIPT, DAG_FILE = re.findall(r"^```python\n(.*?)^```", (ROOT / PAGE).read_text(), re.MULTILINE | re.DOTALL)
INSTALL, START, CONNECT, RUN, LOOK = read_commands(PAGE)

pytestmark = pytest.mark.timeout(1500)


def test_tutorial_runs_as_described(tmp_path: Path) -> None:
    code, output = run_in_terminal([*clone(tmp_path), *INSTALL[2:]], tmp_path, build_user_environment())
    assert code == 0, output
    folder = tmp_path / "airflow-provider-spark-operator" / START[0].removeprefix("cd ")
    check_tutorial(folder.resolve(), tmp_path)


@pytest.mark.parametrize("pins", AIRFLOW_PINS)
def test_tutorial_runs_with_the_wheels_alone(pins: str, tmp_path: Path) -> None:
    install(tmp_path, "airflow-provider-spark-operator[airflow,local]", pins=pins)
    check_tutorial(tmp_path / "venv", tmp_path)


def check_tutorial(folder: Path, home: Path) -> None:
    """Follow the tutorial from its first command after the installation, in the folder of the environment."""
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    environment = {"PATH": path, "HOME": str(home), "AIRFLOW_HOME": str(folder / "airflow")}
    with subprocess.Popen(
        ["bash", "-c", f"exec {START[1]}"], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True
    ) as cluster:
        try:
            assert cluster.stdout is not None
            assert cluster.stdout.readline() == "ready kubeconfig=spark.kubeconfig\n"
            code, output = run_in_terminal(CONNECT, folder, environment)
            assert code == 0, output
            dags = folder / "airflow" / "dags"
            dags.mkdir()
            (dags / "words.py").write_text(SCRIPT)
            (dags / "tutorial.py").write_text(DAG_FILE)
            code, output = run_in_terminal(RUN, folder, environment)
            assert code == 0, output
            assert "different words: 5" in output

            (dags / "words.py").write_text("\n".join([*SCRIPT.splitlines()[:-1], "sys.exit(3)"]))
            code, output = run_in_terminal(RUN, folder, environment)
            assert code != 0, output
            assert "ended with exit code 3" in output
            assert len(set(re.findall(r"word-count-words-[0-9a-f]+-\d+", output))) == 1, "the task was retried"

            code, output = run_in_terminal(LOOK, folder, environment)
            assert code == 0, output
            assert output.count("Succeeded") >= 1, output
            assert "exit code 3" in output, output
        finally:
            cluster.send_signal(signal.SIGINT)
            cluster.communicate(timeout=60)
    assert cluster.returncode == 130  # docs/reference/exit-codes.md
    assert not (folder / "spark.kubeconfig").exists()
    assert (folder / ".spark-local" / "logs").is_dir()
    code, output = run_in_terminal(["spark-operator local reset"], folder, environment)
    assert code == 0, output
    assert not (folder / ".spark-local").exists()
