"""Each example of Kubeflow's repository is converted, or refused with a reason."""

from pathlib import Path

import pytest
import yaml

from airflow_provider_spark_operator.core.convert.conversion import Status
from airflow_provider_spark_operator.core.convert.document import convert_document
from airflow_provider_spark_operator.core.kubernetes.problems import filter_errors
from airflow_provider_spark_operator.core.validation.validate import validate

FOLDER = Path(__file__).parents[2] / "golden" / "kubeflow_examples"
# A template with placeholders in braces, which no parser of YAML accepts.
INVALID_YAML = "spark-pi-prometheus.yaml"
REFUSED = {"spark-connect.yaml": "a SparkConnect is not converted"}
FILES = sorted(file.name for file in FOLDER.glob("*.yaml"))


def test_all_examples_are_recorded() -> None:
    assert len(FILES) == 15


@pytest.mark.parametrize("name", [name for name in FILES if name not in REFUSED])
def test_example_is_converted_to_a_valid_document(name: str) -> None:
    text = (FOLDER / name).read_text()
    if name == INVALID_YAML:
        text = text.replace("{IMAGE_REGISTRY}/{IMAGE_REPOSITORY}/", "")
    for document in yaml.safe_load_all(text):
        for conversion in convert_document(document):
            assert conversion.problems == ()
            if document["apiVersion"] == "v1":
                assert conversion.status is Status.UNCHANGED
            elif document["kind"] == "SparkApplication":
                assert filter_errors(validate(conversion.document)) == []
            else:
                assert conversion.dag is not None


@pytest.mark.parametrize(("name", "reason"), REFUSED.items())
def test_example_without_an_equivalent_is_refused(name: str, reason: str) -> None:
    (conversion,) = convert_document(yaml.safe_load((FOLDER / name).read_text()))
    assert conversion.status is Status.REFUSED
    assert reason in str(conversion.problems[0])
