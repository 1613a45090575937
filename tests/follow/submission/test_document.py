import traceback
from typing import Any

import pytest

from airflow_provider_spark_operator.core.kubernetes.problems import InvalidResource
from airflow_provider_spark_operator.follow.submission.document import parse


class Model:
    def to_document(self) -> dict[str, str]:
        return {"kind": "SparkApplication"}


@pytest.mark.parametrize(
    "source",
    [{"kind": "SparkApplication"}, "kind: SparkApplication\n", '{"kind": "SparkApplication"}', Model()],
    ids=["object", "YAML", "JSON", "model"],
)
def test_parse_accepts_each_form_of_an_application(source: dict[str, str] | str | Model) -> None:
    assert parse(source) == {"kind": "SparkApplication"}


def test_parse_returns_a_copy() -> None:
    source: dict[str, Any] = {"spec": {"sparkConf": {}}}
    parse(source)["spec"]["sparkConf"]["a"] = "b"
    assert source == {"spec": {"sparkConf": {}}}


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("kind: [", "invalid YAML at line 1"),
        ("a: 1\n---\nb: 2\n", "must contain exactly one SparkApplication manifest, but contains 2 manifests"),
        ("a: .inf", "invalid YAML at line 1, column 4: invalid float"),
        ("a: " + "[" * 3000, "invalid YAML at line 1, column 103: more than 100 levels of nesting"),
        ("a: &a [*a]", "invalid YAML at line 1, column 8: a value that contains itself"),
        ("a: \x00", "invalid YAML: it cannot be parsed"),
        ("# nothing\n", "must contain exactly one SparkApplication manifest, but contains 0 manifests"),
        ("just words", "not a string"),
        ("- 1", "not a list"),
        (None, "not nothing"),
        ({"kind": "SparkCluster"}, "kind: must be SparkApplication, not 'SparkCluster'"),
        (3, "not a number"),
    ],
)
def test_parse_rejects_invalid_document_with_one_problem(
    source: dict[str, str] | int | str | None, message: str
) -> None:
    with pytest.raises(InvalidResource, match=message):
        parse(source)


def test_yaml_error_does_not_show_the_text() -> None:
    secret = "-".join(("hunter", "2"))  # split, so that the test file does not contain the secret
    with pytest.raises(InvalidResource) as caught:
        parse(f"sparkConf: {{spark.hadoop.fs.s3a.secret.key: {secret}")
    assert secret not in "".join(traceback.format_exception(caught.value))
