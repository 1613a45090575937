"""The installed program, with the click and rich of the environment: `make airflow-versions` has older ones."""

import subprocess
import sysconfig
from pathlib import Path

import pytest

from airflow_provider_spark_operator import __version__

MANIFEST = """
apiVersion: spark.apache.org/v1
kind: SparkApplication
metadata: {name: pi}
spec:
  pyFiles: local:///opt/app.py
  runtimeVersions: {sparkVersion: 4.3.0}
  sparkConf: {spark.kubernetes.container.image: "spark:4.3.0"}
"""


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        pytest.param(["--help"], 0, "\nUsage\n", id="help"),
        pytest.param(["version"], 0, f"spark-operator {__version__}\n", id="version"),
        pytest.param(["validate", "pi.yaml"], 0, "1 resource valid\n", id="validate"),
        pytest.param(["render", "pi.yaml"], 0, "kind: Pod\n", id="render"),
        pytest.param(["render", "missing.yaml"], 2, "missing.yaml: cannot be read: no such file", id="missing file"),
        pytest.param(["submit", "pi.yaml", "--kubeconfig", "none"], 2, "kubeconfig none does not exist", id="submit"),
        pytest.param(["list", "--kubeconfig", "none"], 2, "kubeconfig none does not exist", id="list"),
    ],
)
def test_program_runs_without_a_traceback(words: list[str], code: int, text: str, tmp_path: Path) -> None:
    (tmp_path / "pi.yaml").write_text(MANIFEST)
    program = Path(sysconfig.get_path("scripts")) / "spark-operator"
    done = subprocess.run([program, *words], capture_output=True, check=False, text=True, timeout=90, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert text in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
