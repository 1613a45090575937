import json
import subprocess
import sys
from pathlib import Path

import pytest

from airflow_provider_spark_operator.airflow_version import check_version, parse_version

MODULES = [
    "decorators.spark_application",
    "exceptions",
    "hooks.spark_application",
    "links.spark_application",
    "operators.spark_application",
    "operators.spark_cluster",
    "retry_policy",
    "sensors.spark_application",
    "sensors.spark_cluster",
    "triggers.spark_application",
    "triggers.spark_application_event",
    "triggers.spark_cluster",
]


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("3.0.6", (3, 0)),
        ("3.10.0b1", (3, 10)),
        ("2.11.2", (2, 11)),
        ("3.4.dev0", (3, 4)),
        ("none", (0, 0)),
        ("", (0, 0)),
    ],
)
def test_parse_version_returns_major_and_minor(text: str, version: tuple[int, int]) -> None:
    assert parse_version(text) == version


@pytest.mark.parametrize("text", ["3.0.0", "3.3.2", "3.4.0b2", "4.0.0"])
def test_check_version_accepts_supported_versions(text: str) -> None:
    check_version(text)


def test_import_names_the_required_version_when_airflow_is_older(tmp_path: Path) -> None:
    metadata = tmp_path / "apache_airflow_core-2.11.2.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text("Metadata-Version: 2.3\nName: apache-airflow-core\nVersion: 2.11.2\n")

    sentences = _import(MODULES, {"PYTHONPATH": str(tmp_path)})

    sentence = "ImportError: airflow-provider-spark-operator requires Apache Airflow 3.0 or newer, but found 2.11.2"
    assert sentences == dict.fromkeys(MODULES, sentence)


def test_import_names_the_required_version_when_airflow_is_missing() -> None:
    blocked = "from importlib import metadata; metadata.MetadataPathFinder.find_distributions = lambda context: []; "

    sentences = _import(["operators.spark_application"], {}, before=blocked)

    assert sentences["operators.spark_application"].endswith("requires Apache Airflow 3.0 or newer, but found none")


def _import(modules: list[str], environment: dict[str, str], before: str = "") -> dict[str, str]:
    """Import modules in a new process, each of which fails, and return the last line of each error."""
    code = f"""{before}
import importlib, json, traceback
errors = {{}}
for module in {modules!r}:
    try:
        importlib.import_module(f"airflow_provider_spark_operator.{{module}}")
    except Exception as error:
        errors[module] = traceback.format_exception_only(error)[-1].strip()
print(json.dumps(errors))
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, check=True, text=True, timeout=60, env=environment)
    errors: dict[str, str] = json.loads(done.stdout)
    return errors
