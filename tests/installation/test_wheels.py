"""A wheel of each distribution can be installed into an empty environment and works there."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.installation.environment import AIRFLOW_PINS, WHEELS, install

KUBECTL = os.environ.get("KUBECTL") or shutil.which("kubectl")
APPLICATION = {
    "apiVersion": "spark.apache.org/v1",
    "kind": "SparkApplication",
    "metadata": {"name": "pi"},
    "spec": {
        "pyFiles": "local:///opt/spark/examples/src/main/python/pi.py",
        "driverArgs": ["2"],
        "runtimeVersions": {"sparkVersion": "4.3.0"},
        "sparkConf": {
            "spark.kubernetes.container.image": "apache/spark:4.3.0",
            "spark.driver.memory": "512m",
            "spark.executor.memory": "512m",
            "spark.executor.instances": "1",
        },
    },
}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "it"},
    "spec": {
        "restartPolicy": "Never",
        "containers": [{"name": "main", "image": "busybox", "command": ["echo", "hello"]}],
    },
}

pytestmark = [
    pytest.mark.skipif(not WHEELS.is_dir(), reason="there are no wheels in dist/: see `make installation`"),
    pytest.mark.timeout(1200),
]


@pytest.mark.skipif(KUBECTL is None, reason="there is no kubectl: set KUBECTL")
def test_local_kubernetes_alone_serves_kubectl(tmp_path: Path) -> None:
    programs = install(tmp_path, "local-kubernetes")
    kubeconfig = tmp_path / "kubeconfig"

    def kubectl(*words: str, given: object = None) -> str:
        command = [str(KUBECTL), f"--kubeconfig={kubeconfig}", f"--cache-dir={tmp_path / 'cache'}", *words]
        found = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, timeout=60)
        assert found.returncode == 0, found.stderr
        return found.stdout

    command: list[str | Path] = [
        programs / "local-kubernetes",
        "up",
        "--home",
        tmp_path / "home",
        "--kubeconfig",
        kubeconfig,
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == f"ready kubeconfig={kubeconfig}\n"
            assert kubectl("apply", "-f", "-", given=POD) == "pod/it created\n"
            kubectl("wait", "pod/it", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=30s")
            assert kubectl("get", "pod", "it", "--no-headers").split()[:3] == ["it", "0/1", "Completed"]
            assert kubectl("logs", "it") == "hello\n"
            assert kubectl("delete", "pod", "it").startswith('pod "it" deleted')
        finally:
            process.terminate()
    assert process.returncode == 0


def check_application_runs(programs: Path, folder: Path) -> None:
    """Run an application with the programs of an environment, and import Airflow."""
    document = folder / "pi.json"
    document.write_text(json.dumps(APPLICATION), encoding="utf-8")

    found = subprocess.run(
        [programs / "spark-operator", "local", "run", document], cwd=folder, capture_output=True, text=True, timeout=300
    )

    assert found.returncode == 0, found.stderr
    assert "Pi is roughly 3." in found.stdout
    subprocess.run([programs / "python", "-c", "import airflow.sdk"], check=True, cwd=folder, timeout=120)


def test_provider_with_its_extras_runs_an_application(tmp_path: Path) -> None:
    check_application_runs(install(tmp_path, "airflow-provider-spark-operator[airflow,local]"), tmp_path)


@pytest.mark.parametrize("pins", AIRFLOW_PINS)
def test_airflow_lists_the_provider(pins: str, tmp_path: Path) -> None:
    programs = install(tmp_path, "airflow-provider-spark-operator[airflow]", pins=pins)

    def run(program: str, *words: str) -> str:
        environment = os.environ | {"AIRFLOW_HOME": str(tmp_path / "airflow")}
        command: list[str | Path] = [programs / program, *words]
        return subprocess.run(
            command, check=True, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True, timeout=120
        ).stdout

    assert "No broken requirements found" in run("pip", "check")
    version = run("spark-operator", "--version").split()[-1]
    listed = run("airflow", "providers", "list", "--output", "json")  # after lines of the log, on some versions
    assert re.search(rf'"airflow-provider-spark-operator"[^}}]*"{re.escape(version)}"', listed)
