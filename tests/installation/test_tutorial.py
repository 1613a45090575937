"""The commands and files of the tutorial work literally in an environment with the wheels."""

import os
import re
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.installation.environment import ROOT, WHEELS

PAGE = (ROOT / "docs" / "get-started" / "tutorial.md").read_text()
COMMANDS = [
    [line.removeprefix("$ ") for line in block.splitlines()]
    for block in re.findall(r"^```console\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
]
SCRIPT, DAG_FILE = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
START, CONNECT, RUN = COMMANDS

pytestmark = [
    pytest.mark.skipif(not WHEELS.is_dir(), reason="there are no wheels in dist/: see `make installation`"),
    pytest.mark.timeout(1200),
]


def run_in_terminal(commands: list[str], folder: Path, environment: Mapping[str, str]) -> tuple[int, str]:
    """Run the commands of the page as a user types them in one terminal. Return the exit code and the output."""
    script = "\n".join(["set -e", *commands])
    command = ["bash", "-c", script]
    found = subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=400
    )
    return found.returncode, found.stdout


def test_tutorial_runs_as_described(tmp_path: Path, programs: Path) -> None:
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    environment = {"PATH": path, "HOME": str(tmp_path), "AIRFLOW_HOME": str(tmp_path / "airflow")}
    install, start = START
    assert install == "pip install 'airflow-provider-spark-operator[airflow,local]'"
    with subprocess.Popen(
        ["bash", "-c", f"exec {start}"], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True
    ) as cluster:
        try:
            assert cluster.stdout is not None
            assert cluster.stdout.readline() == "ready kubeconfig=spark.kubeconfig\n"
            code, output = run_in_terminal(CONNECT, tmp_path, environment)
            assert code == 0, output
            dags = tmp_path / "airflow" / "dags"
            dags.mkdir()
            (dags / "words.py").write_text(SCRIPT)
            (dags / "tutorial.py").write_text(DAG_FILE)
            code, output = run_in_terminal(RUN, tmp_path, environment)
            assert code == 0, output
            assert "different words: 5" in output

            (dags / "words.py").write_text("\n".join([*SCRIPT.splitlines()[:-1], "sys.exit(3)"]))
            code, output = run_in_terminal(RUN, tmp_path, environment)
            assert code != 0, output
            assert "ended with exit code 3" in output
            assert len(set(re.findall(r"word-count-words-[0-9a-f]+-\d+", output))) == 1, "the task was retried"
        finally:
            cluster.send_signal(signal.SIGINT)
            cluster.communicate(timeout=60)
    assert cluster.returncode == 130  # docs/reference/exit-codes.md
    assert not (tmp_path / "spark.kubeconfig").exists()
    assert (tmp_path / ".spark-local" / "logs").is_dir()
    code, output = run_in_terminal(["spark-operator local reset"], tmp_path, environment)
    assert code == 0, output
    assert not (tmp_path / ".spark-local").exists()
