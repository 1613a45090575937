from typing import Any

import pytest
from pydantic import ValidationError

from airflow_provider_spark_operator.core.kubernetes.problems import InvalidResource, Problem
from airflow_provider_spark_operator.core.models.cluster import SparkCluster, parse_cluster
from airflow_provider_spark_operator.core.validation.cluster import validate_cluster
from airflow_provider_spark_operator.core.validation.validate import validate
from tests.core.cluster_resources.clusters import build_cluster_document, build_model

INSTANCES = "spec.clusterTolerations.instanceConfig"


def find_problems(**modifiers: Any) -> list[str]:
    return [str(problem) for problem in validate_cluster(build_cluster_document(**modifiers))]


def test_valid_cluster_has_no_problems() -> None:
    assert find_problems() == []


def test_cluster_keeps_unknown_fields_in_round_trip() -> None:
    document = build_cluster_document(master={"serviceSpec": {"type": "ClusterIP"}}, future={"field": 1})
    assert parse_cluster(document).to_document() == document


def test_templates_are_empty_unless_given() -> None:
    spec = build_model().spec
    assert spec.master_spec.stateful_set_spec is None
    assert spec.worker_spec.horizontal_pod_autoscaler_spec is None


def test_status_without_state_is_none() -> None:
    assert parse_cluster(build_cluster_document() | {"status": {"stateTransitionHistory": {}}}).status is None


@pytest.mark.parametrize(
    ("remove", "path"),
    [
        (("spec",), "spec"),
        (("spec", "runtimeVersions"), "spec.runtimeVersions"),
        (("spec", "runtimeVersions", "sparkVersion"), "spec.runtimeVersions.sparkVersion"),
        (("spec", "clusterTolerations"), "spec.clusterTolerations"),
        (("spec", "clusterTolerations", "instanceConfig"), INSTANCES),
        (("spec", "clusterTolerations", "instanceConfig", "initWorkers"), f"{INSTANCES}.initWorkers"),
        (("spec", "clusterTolerations", "instanceConfig", "maxWorkers"), f"{INSTANCES}.maxWorkers"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_missing_field_is_reported_with_path(remove: tuple[str, ...], path: str) -> None:
    document = build_cluster_document()
    parent = document
    for name in remove[:-1]:
        parent = parent[name]
    del parent[remove[-1]]
    (problem,) = validate_cluster(document)
    assert problem.path == path
    assert problem.message.startswith("is required")


@pytest.mark.parametrize(
    ("modifiers", "expected"),
    [
        ({"name": "c" * 46}, "metadata.name: has 46 characters: use at most 45"),
        ({"name": "1st"}, "metadata.name: '1st' is not a valid name for the cluster and its services"),
        ({"name": "a.b"}, "metadata.name: 'a.b' is not a valid name for the cluster and its services"),
        ({"init": -1}, f"{INSTANCES}.initWorkers: must not be negative, but is -1"),
        ({"init": 10_001}, f"{INSTANCES}.initWorkers: is 10001: use at most 10000"),
        ({"maximum": 2_000_000_000}, f"{INSTANCES}.maxWorkers: is 2000000000: use at most 10000"),
        ({"minimum": 5, "maximum": 3}, f"{INSTANCES}.minWorkers: is 5, more than maxWorkers (3)"),
        ({"init": 4, "minimum": 1, "maximum": 3}, f"{INSTANCES}.initWorkers: is 4, more than maxWorkers (3)"),
        ({"init": 0, "minimum": 1, "maximum": 3}, f"{INSTANCES}.initWorkers: is 0, but an autoscaler does"),
        ({"minimum": 0, "maximum": 2}, f"{INSTANCES}.minWorkers: is 0 and maxWorkers is 2"),
        ({"init": "2"}, f"{INSTANCES}.initWorkers: must be an integer, not a string"),
        ({"conf": {"spark.x": 1}}, "spec.sparkConf['spark.x']: must be a string, not a number: put it in quotes"),
        ({"version": 4.3}, "spec.runtimeVersions.sparkVersion: must be a string, not a number: put it in quotes"),
        ({"version": "4.3 b"}, "spec.runtimeVersions.sparkVersion: is used as a label value"),
        (
            {"worker": {"statefulSetSpec": {"template": {"spec": {"containers": "spark"}}}}},
            "spec.workerSpec.statefulSetSpec.template.spec.containers: must be a list",
        ),
    ],
    ids=[
        "name too long for its children",
        "name begins with a digit",
        "name with a dot",
        "negative workers",
        "more workers than Kubernetes can plan",
        "a higher bound than Kubernetes can plan",
        "more at least than at most",
        "more at first than at most",
        "autoscaling from none",
        "autoscaling down to none",
        "quoted number",
        "number in the configuration",
        "version as a number",
        "version that no label can have",
        "template of a wrong form",
    ],
)
def test_problem_of_cluster_is_reported_with_path(modifiers: dict[str, Any], expected: str) -> None:
    (problem,) = find_problems(**modifiers)
    assert problem.startswith(expected)


@pytest.mark.parametrize("name", ["c" * 45, "a", "a-1"])
def test_valid_cluster_name_has_no_problem(name: str) -> None:
    assert find_problems(name=name) == []


@pytest.mark.parametrize(("minimum", "maximum"), [(0, 0), (3, 0), (3, 3), (1, 9)])
def test_valid_worker_bounds_have_no_problem(minimum: int, maximum: int) -> None:
    assert find_problems(minimum=minimum, maximum=maximum) == []


def test_initial_workers_are_unlimited_without_autoscaler() -> None:
    assert find_problems(init=4, minimum=2, maximum=2) == []


@pytest.mark.parametrize("document", [None, [], "text", 3])
def test_cluster_that_is_not_an_object_has_one_problem(document: int | list[Any] | str | None) -> None:
    (problem,) = validate_cluster(document)
    assert str(problem).startswith("a SparkCluster must be an object")
    assert validate(document)


def test_wrong_kind_and_version_of_cluster_are_errors() -> None:
    document = build_cluster_document() | {"kind": "SparkApplication", "apiVersion": "v1"}
    assert [problem.path for problem in validate_cluster(document)] == ["apiVersion", "kind"]


def test_parse_cluster_raises_with_every_problem() -> None:
    wrong: dict[str, Any] = {"init": "a", "minimum": "b"}
    document = build_cluster_document(**wrong)
    with pytest.raises(InvalidResource) as caught:
        parse_cluster(document)
    assert len(caught.value.problems) == 2


def test_unexpected_value_is_reported_with_path() -> None:
    conf: dict[str, Any] = {"spark.x": b"\xff"}
    with pytest.raises(InvalidResource, match=r"^spec\.sparkConf\['spark\.x'\]: is not valid: "):
        parse_cluster(build_cluster_document(conf=conf))


def test_model_rejects_value_that_is_not_an_object() -> None:
    with pytest.raises(ValidationError, match="valid dictionary"):
        SparkCluster.model_validate([])


def test_document_is_validated_by_its_kind() -> None:
    assert validate(build_cluster_document()) == []
    assert validate({**build_cluster_document(), "kind": "SparkApplication"})[0].path.startswith("spec")


@pytest.mark.parametrize("kind", ["Pod", None, ["SparkCluster"]])
def test_unsupported_kind_is_the_only_problem(kind: list[str] | str | None) -> None:
    (problem,) = validate({"kind": kind})
    assert isinstance(problem, Problem)
    assert problem.path == "kind"
    assert "SparkApplication, SparkCluster" in problem.message
