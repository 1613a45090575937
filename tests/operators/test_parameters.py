"""The checks and the rendering of the operator, without any cluster."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from airflow.sdk import DAG, BaseOperator, Context, XComArg, task

from airflow_provider_spark_operator.airflow_compat import AirflowFailException
from airflow_provider_spark_operator.core.compose.application import apply_parameters
from airflow_provider_spark_operator.core.compose.document import new_application
from airflow_provider_spark_operator.core.kubernetes.problems import InvalidResource
from airflow_provider_spark_operator.core.models.parse import parse_application
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator
from airflow_provider_spark_operator.operators.spark_cluster import DeleteSparkClusterOperator, SparkClusterOperator
from airflow_provider_spark_operator.sensors.spark_application import SparkApplicationSensor
from airflow_provider_spark_operator.sensors.spark_cluster import SparkClusterSensor
from tests.task import TaskInstance, build_context

REPOSITORY = Path(__file__).resolve().parents[2]

DOCUMENT: dict[str, Any] = {
    "apiVersion": "spark.apache.org/v1",
    "kind": "SparkApplication",
    "spec": {
        "pyFiles": "local:///opt/job.py",
        "driverArgs": ["--config", "/etc/job/{{ ds }}.yaml"],
        "runtimeVersions": {"sparkVersion": "4.3.0"},
    },
}
CONTEXT = cast("Context", {"ds": "2026-01-02", "params": {"file": "app.yaml", "name": "pi"}})


def render(operator: SparkApplicationOperator) -> SparkApplicationOperator:
    dag = operator.get_dag()
    operator.render_template_fields(CONTEXT, dag.get_template_env() if dag else None)
    return operator


@pytest.fixture
def dag(tmp_path: Path) -> Iterator[DAG]:
    with DAG("files", schedule=None, template_searchpath=str(tmp_path)) as dag:
        yield dag


def test_templates_in_object_are_rendered_but_file_names_in_it_are_not_read(dag: DAG) -> None:
    operator = render(SparkApplicationOperator(task_id="a", application=DOCUMENT, name="{{ params.name }}"))
    assert isinstance(operator.application, dict)
    assert operator.application["spec"]["driverArgs"] == ["--config", "/etc/job/2026-01-02.yaml"]
    assert operator.name == "pi"


def test_placeholders_of_spark_and_its_operator_are_not_rendered(dag: DAG) -> None:
    image = "apache/spark:{{SPARK_VERSION}}"
    conf = {"image": image, "label": "{{APP_ID}}-{{ EXECUTOR_ID }}-{{ ds }}"}
    operator = render(SparkApplicationOperator(task_id="a", application={"spec": {"sparkConf": conf}}, image=image))
    assert operator.application["spec"]["sparkConf"] == {
        "image": image,
        "label": "{{APP_ID}}-{{EXECUTOR_ID}}-2026-01-02",
    }
    assert operator.image == image


def test_placeholders_of_kubeflow_are_not_rendered_if_raw(dag: DAG) -> None:
    written = "{% raw %}{{$appName}}{% endraw %}.{{ ds }}.example.com"
    assert written.partition(".")[0] in (REPOSITORY / "docs" / "guides" / "kubeflow.md").read_text()
    options = [{"ingressURLFormat": written}]
    operator = render(SparkApplicationOperator(task_id="a", application={"spec": {"driverIngressOptions": options}}))
    assert operator.application["spec"]["driverIngressOptions"] == [
        {"ingressURLFormat": "{{$appName}}.2026-01-02.example.com"}
    ]


def test_macro_of_the_dag_overrides_a_placeholder() -> None:
    with DAG("macros", schedule=None, user_defined_macros={"SPARK_VERSION": "4.1.0"}):
        operator = render(SparkApplicationOperator(task_id="a", application="spec: spark:{{ SPARK_VERSION }}\n"))
    assert operator.application == "spec: spark:4.1.0"


@pytest.mark.parametrize("path", ["app.yaml", "{{ params.file }}"], ids=["plain", "templated"])
def test_file_next_to_the_dag_is_read_and_rendered(dag: DAG, tmp_path: Path, path: str) -> None:
    (tmp_path / "app.yaml").write_text("spec: {driverArgs: ['{{ ds }}', other.yaml]}")
    operator = render(SparkApplicationOperator(task_id="a", application=path))
    assert operator.application == "spec: {driverArgs: ['2026-01-02', other.yaml]}"


def test_path_object_is_accepted(dag: DAG, tmp_path: Path) -> None:
    (tmp_path / "app.json").write_text('{"ds": "{{ ds }}"}')
    operator = render(SparkApplicationOperator(task_id="a", application=tmp_path / "app.json"))
    assert operator.application == '{"ds": "2026-01-02"}'


def test_absolute_path_needs_no_search_path(tmp_path: Path) -> None:
    (tmp_path / "app.yml").write_text("ds: {{ ds }}")
    operator = SparkApplicationOperator(task_id="a", application=str(tmp_path / "app.yml"))
    operator.render_template_fields(CONTEXT, None)
    assert operator.application == "ds: 2026-01-02"


def test_file_can_include_another_file(dag: DAG, tmp_path: Path) -> None:
    (tmp_path / "conf.yaml").write_text("a: b")
    (tmp_path / "app.yaml").write_text("sparkConf: {% include 'conf.yaml' %}")
    operator = render(SparkApplicationOperator(task_id="a", application="app.yaml"))
    assert operator.application == "sparkConf: a: b"


def test_missing_file_is_reported(dag: DAG, tmp_path: Path) -> None:
    operator = render(SparkApplicationOperator(task_id="a", application="nowhere.yaml"))
    with pytest.raises(AirflowFailException, match=rf"could not find application file 'nowhere.yaml' in .*{tmp_path}"):
        operator.execute(build_context(TaskInstance()))


def test_yaml_text_is_rendered(dag: DAG) -> None:
    operator = render(SparkApplicationOperator(task_id="a", application=json.dumps({"ds": "{{ ds }}"})))
    assert operator.application == '{"ds": "2026-01-02"}'


def test_model_is_converted_to_its_document(dag: DAG) -> None:
    operator = render(SparkApplicationOperator(task_id="a", application=parse_application(DOCUMENT)))
    assert isinstance(operator.application, dict)
    assert operator.application["spec"]["driverArgs"] == ["--config", "/etc/job/2026-01-02.yaml"]


def test_mapped_operator_renders_its_files(dag: DAG, tmp_path: Path) -> None:
    (tmp_path / "app.yaml").write_text("ds: {{ ds }}")
    mapped = SparkApplicationOperator.partial(task_id="a").expand(application=["app.yaml"])
    operator = mapped.unmap({"application": "app.yaml"})
    assert isinstance(operator, SparkApplicationOperator)
    assert operator.render_template(operator.application, CONTEXT, dag.get_template_env()) == "ds: 2026-01-02"


def test_application_can_be_the_output_of_another_task(dag: DAG) -> None:
    @task
    def build() -> dict[str, Any]:
        return DOCUMENT

    operator = SparkApplicationOperator(task_id="a", application=build())

    assert operator.upstream_task_ids == {"build"}


@pytest.mark.parametrize(
    ("result", "application"), [("app.yaml", "day: 2026-01-02"), (DOCUMENT, DOCUMENT)], ids=["a path", "an object"]
)
def test_file_path_can_be_the_output_of_another_task(
    dag: DAG,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    result: dict[str, Any] | str,
    application: dict[str, Any] | str,
) -> None:
    (tmp_path / "app.yaml").write_text("day: {{ ds }}")

    @task
    def choose() -> dict[str, Any] | str:
        return result

    chosen = choose()
    monkeypatch.setattr(type(chosen), "resolve", lambda self, context: result)
    assert render(SparkApplicationOperator(task_id="a", application=chosen)).application == application


@pytest.mark.parametrize("application", [3, ["a"], SparkApplicationOperator, dict])
def test_wrong_type_is_rejected_at_parse_time(application: Any) -> None:
    with pytest.raises(TypeError, match="application must be a dict"):
        SparkApplicationOperator(task_id="a", application=application)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"name": "No Name"}, "metadata.name: 'No Name' is not a valid name"),
        ({"namespace": "a_b"}, "metadata.namespace: 'a_b' is not a valid namespace"),
    ],
)
def test_wrong_name_is_rejected_at_parse_time(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SparkApplicationOperator(task_id="a", application=DOCUMENT, **parameters)


def test_deferrable_has_the_configured_default() -> None:
    assert SparkApplicationOperator(task_id="a", application=DOCUMENT).deferrable is False
    assert SparkApplicationOperator(task_id="a", application=DOCUMENT, deferrable=True).deferrable is True


@pytest.mark.needs_airflow("3.1")  # Airflow 3.0 restores the tasks into the open DAG
def test_dag_with_the_operator_can_be_serialized(dag: DAG) -> None:
    from tests.dag_serialization import DagSerialization

    SparkApplicationOperator(task_id="a", application=DOCUMENT, deferrable=True)
    restored = DagSerialization.from_dict(DagSerialization.to_dict(dag))
    assert restored.get_task("a").task_type == "SparkApplicationOperator"


def test_example_parses_without_a_cluster() -> None:
    from runpy import run_path

    example = run_path(str(Path(__file__).parents[2] / "example_dags" / "spark_pi.py"))
    for name in ("COMPUTE_PI", "FAIL_ON_PURPOSE"):
        assert parse_application(example[name]).spec.runtime_versions.spark_version == "4.3.0"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, "no program is given"),
        ({"py_file": "local:///a.py", "driver_memory": 4}, "driver_memory: must be a size with its unit, .* not 4"),
        ({"py_file": "local:///a.py", "image": "a:4.3.0", "upload_to": "bucket/jobs"}, "upload_to: must be the URL"),
        (
            {"application": {}, "service_account": "A b"},
            "service_account: must be the name of a ServiceAccount, not 'A b'",
        ),
        ({"application": {}, "service_account": ""}, "service_account: must be the name of a ServiceAccount, not ''"),
        ({"application": {}, "service_account": 3}, "service_account: must be the name of a ServiceAccount, not 3"),
    ],
)
def test_invalid_parameters_are_rejected_at_parse_time(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SparkApplicationOperator(task_id="a", **parameters)


TASKS: tuple[tuple[type[BaseOperator], dict[str, Any]], ...] = (
    (SparkApplicationOperator, {"application": DOCUMENT}),
    (SparkClusterOperator, {"cluster": {}}),
    (DeleteSparkClusterOperator, {"name": "shared"}),
    (SparkApplicationSensor, {"name": "pi"}),
    (SparkClusterSensor, {"name": "shared"}),
)


@pytest.mark.parametrize(("kind", "parameters"), TASKS)
@pytest.mark.parametrize("given", [3, True, " "])
def test_invalid_connection_id_is_rejected_at_parse_time(
    kind: type[BaseOperator], parameters: dict[str, Any], given: object
) -> None:
    message = f"kubernetes_conn_id must be the id of a connection or None, not {given!r}"
    with pytest.raises(ValueError, match=message):
        kind(task_id="a", kubernetes_conn_id=given, **parameters)


@pytest.mark.parametrize(("kind", "parameters"), [one for one in TASKS if one[0] is not DeleteSparkClusterOperator])
def test_empty_connection_id_is_rejected_at_parse_time(kind: type[BaseOperator], parameters: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="kubernetes_conn_id must be the id of a connection or None, not ''"):
        kind(task_id="a", kubernetes_conn_id="", **parameters)


@pytest.mark.parametrize(("kind", "parameters"), TASKS)
@pytest.mark.parametrize("given", ["{{ params.cluster }}", "spark", None])
def test_template_of_a_connection_id_is_accepted(
    kind: type[BaseOperator], parameters: dict[str, Any], given: str | None
) -> None:
    arguments: dict[str, Any] = {"kubernetes_conn_id": given}
    (name,) = arguments
    assert getattr(kind(task_id="a", **arguments, **parameters), name) == given


@pytest.mark.parametrize(("kind", "parameters"), TASKS)
def test_connection_id_can_be_the_output_of_another_task(kind: type[BaseOperator], parameters: dict[str, Any]) -> None:
    with DAG("connections", schedule=None):
        chosen = XComArg(BaseOperator(task_id="choose"))
        operator = kind(task_id="a", kubernetes_conn_id=chosen, **parameters)
    assert operator.upstream_task_ids == {"choose"}


@pytest.mark.parametrize("given", ["{{ params.account }}", "spark", "team.spark-jobs"])
def test_service_account_is_accepted_at_parse_time(given: str) -> None:
    task = SparkApplicationOperator(task_id="a", application=DOCUMENT, service_account=given)
    assert task.service_account == given


def test_templates_are_checked_after_rendering() -> None:
    with DAG("templates", schedule=None) as dag:
        operator = SparkApplicationOperator(
            task_id="a", py_file="local:///{{ ds }}.py", executor_instances="{{ params.n }}", arguments=["{{ ds }}"],
            image="spark:{{ params.version }}", conf={"spark.day": "{{ ds }}"},
        )  # fmt: skip
    context = cast("Context", {"ds": "2026-01-02", "params": {"n": "none", "version": "4.3.0"}})
    operator.render_template_fields(context, dag.get_template_env())
    assert (operator.py_file, operator.arguments) == ("local:///2026-01-02.py", ["2026-01-02"])
    assert operator.conf == {"spark.day": "2026-01-02"}
    with pytest.raises(InvalidResource, match="executor_instances: must be an integer of 0 or more"):
        apply_parameters(new_application(), operator._collect_parameters())


def test_each_parameter_can_be_the_output_of_another_task() -> None:
    from airflow.sdk import task

    @task
    def how_many() -> int:
        return 3

    with DAG("results", schedule=None):
        instances: Any = how_many()
        operator = SparkApplicationOperator(
            task_id="a", py_file="local:///a.py", image="a:4.3.0", executor_instances=instances
        )
    assert operator.upstream_task_ids == {"how_many"}
