"""No field of Kubeflow's definitions is lost without a report."""

import copy
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_provider_spark_operator.core.convert.application import convert_application
from airflow_provider_spark_operator.core.convert.conversion import Conversion, Outcome
from airflow_provider_spark_operator.core.convert.fields import APPLICATION_FIELDS, SCHEDULE_FIELDS, Field
from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from tests.core.convert.documents import build_document

DEFINITIONS = yaml.safe_load(
    (Path(__file__).parents[2] / "golden" / "definitions" / "kubeflow_fields.yaml").read_text()
)
KINDS = [("SparkApplication", APPLICATION_FIELDS), ("ScheduledSparkApplication", SCHEDULE_FIELDS)]
# The conversion does not use these fields and reports no loss: the converted application implies their values.
IMPLIED = {"spec.mode", "spec.type"}
FULL: JsonObject = yaml.safe_load(Path(__file__).with_name("full_application.yaml").read_text())


def with_file_fields() -> JsonObject:
    """Return the full document with the files of the image, which replace those of the config map."""
    document = copy.deepcopy(FULL)
    monitoring = document["spec"]["monitoring"]
    monitoring["metricsPropertiesFile"] = "/etc/metrics.properties"
    monitoring["prometheus"]["configFile"] = "/etc/prometheus.yaml"
    return document


@cache
def convert_full_document(*, with_files: bool) -> Conversion:
    return convert_application(with_file_fields() if with_files else FULL)


def find_uncovered(listed: list[str], fields: Mapping[str, Field]) -> list[str]:
    return [
        path
        for path in listed
        if path not in fields and not any(path.startswith((f"{known}.", f"{known}[]")) for known in fields)
    ]


@pytest.mark.parametrize(("kind", "fields"), KINDS, ids=[kind for kind, _ in KINDS])
def test_each_field_of_the_definition_has_an_entry(kind: str, fields: Mapping[str, Field]) -> None:
    assert find_uncovered(DEFINITIONS[kind], fields) == []


@pytest.mark.parametrize(("kind", "fields"), KINDS, ids=[kind for kind, _ in KINDS])
def test_each_entry_is_a_field_of_the_definition(kind: str, fields: Mapping[str, Field]) -> None:
    ours = [path for path in fields if path.startswith("spec.")]
    assert [path for path in ours if path not in DEFINITIONS[kind]] == []


def test_full_document_has_each_field_of_the_definition() -> None:
    conversion = convert_full_document(with_files=True)
    reported = {field.path for field in conversion.fields}
    assert [path for path in APPLICATION_FIELDS if path.startswith("spec.") and path not in reported] == []


@pytest.mark.parametrize("path", [path for path in APPLICATION_FIELDS if path.startswith("spec.")])
def test_field_changes_the_result_unless_it_is_reported_as_dropped(path: str) -> None:
    with_files = path.endswith("File")
    document = with_file_fields() if with_files else FULL
    conversion = convert_full_document(with_files=with_files)
    (report,) = [field for field in conversion.fields if field.path == path]
    assert conversion.problems == ()
    assert report.outcome is Outcome.EXACT or report.reason
    without = convert_application(remove(document, path))
    is_used = without.document != conversion.document
    assert is_used is (report.outcome is not Outcome.DROPPED) or path in IMPLIED


def remove(document: JsonObject, path: str) -> JsonObject:
    changed: Any = copy.deepcopy(document)
    *parents, last = path.split(".")
    holder: Any = changed
    for name in parents:
        holder = holder[name.removesuffix("[]")]
        holder = holder[0] if name.endswith("[]") else holder
    del holder[last]
    return changed  # type: ignore[no-any-return]


def test_unknown_field_is_reported_as_dropped() -> None:
    conversion = convert_application(build_document(driver={"memmory": "1g"}))
    (report,) = [field for field in conversion.fields if field.path == "spec.driver.memmory"]
    assert (report.outcome, bool(report.reason)) == (Outcome.DROPPED, True)
