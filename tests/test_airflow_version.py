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


@pytest.mark.parametrize("module", MODULES)
def test_import_names_the_required_version_when_airflow_is_older(module: str, tmp_path: Path) -> None:
    metadata = tmp_path / "apache_airflow_core-2.11.2.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text("Metadata-Version: 2.3\nName: apache-airflow-core\nVersion: 2.11.2\n")

    sentence = _import(module, {"PYTHONPATH": str(tmp_path)})

    assert sentence == (
        "ImportError: airflow-provider-spark-operator requires Apache Airflow 3.0 or newer, but found 2.11.2"
    )


def test_import_names_the_required_version_when_airflow_is_missing() -> None:
    blocked = "from importlib import metadata; metadata.MetadataPathFinder.find_distributions = lambda context: []; "

    sentence = _import("operators.spark_application", {}, before=blocked)

    assert sentence.endswith("requires Apache Airflow 3.0 or newer, but found none")


def _import(module: str, environment: dict[str, str], before: str = "") -> str:
    """Import a module in a new process, which fails, and return the last line of its error."""
    code = f"{before}import airflow_provider_spark_operator.{module}"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=False, text=True, timeout=60, env=environment
    )
    assert done.returncode == 1, done.stdout
    return done.stderr.strip().splitlines()[-1]
