"""The page of the fields agrees with the definitions."""

import re
from pathlib import Path

import yaml

from airflow_provider_spark_operator.core.models.application import RestartConfig, SparkApplicationSpec
from docs import list_fields


def test_page_is_up_to_date() -> None:
    written = (list_fields.FOLDER / "reference" / "crds.md").read_text(encoding="utf-8")
    assert written == list_fields.build_page(), "run python docs/list_fields.py"


def test_page_has_each_field_with_its_default() -> None:
    rows = dict(re.findall(r"^\| `spec\.([\w.\[\]]+)` \| [^|]+ \| ([^|]*) \|$", list_fields.build_page(), re.MULTILINE))
    names = {path.removesuffix("[]") for path in rows}
    assert {field.alias for field in SparkApplicationSpec.model_fields.values()} <= names
    shown = rows["applicationTolerations.restartConfig.maxRestartAttempts"]
    assert shown == f"`{RestartConfig().max_restart_attempts}`"
    assert rows["runtimeVersions.sparkVersion"] == "required"


def test_first_example_is_the_tested_document() -> None:
    (example,) = re.findall(r"^```yaml\n(.*?)^```", list_fields.build_page(), re.MULTILINE | re.DOTALL)
    golden = Path(__file__).parents[1] / "golden" / "apache_operator" / "documents" / "pi-v1alpha1.yaml"
    assert yaml.safe_load(example) == yaml.safe_load(golden.read_text())
