"""The example in the README runs as a user would run it."""

import os
import re
import subprocess
import sys
from pathlib import Path

from kubernetes import client, config

from local_kubernetes.cluster import LocalCluster

PACKAGE = Path(__file__).parents[1]


def test_example_of_the_readme_passes(tmp_path: Path) -> None:
    example = re.findall(r"```python\n(.*?)```", (PACKAGE / "README.md").read_text(encoding="utf-8"), re.DOTALL)[0]
    (tmp_path / "test_example.py").write_text(example, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    options = ("-q", "-p", "no:cacheprovider", "-p", "local_kubernetes.pytest_plugin")
    command = [sys.executable, "-m", "pytest", *options, "test_example.py"]
    variables = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}

    found = subprocess.run(
        command, cwd=tmp_path, env=os.environ | variables, capture_output=True, text=True, timeout=120
    )

    assert found.returncode == 0, found.stdout + found.stderr
    assert "1 passed" in found.stdout


def test_each_test_has_an_empty_cluster(local_kubernetes: LocalCluster) -> None:
    with config.new_client_from_config(str(local_kubernetes.kubeconfig)) as connection:
        core = client.CoreV1Api(connection)
        assert core.list_pod_for_all_namespaces().items == []
        assert {item.metadata.name for item in core.list_namespace().items} == {"default", "kube-system"}
