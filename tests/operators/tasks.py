"""The operator with the arguments that most tests use."""

from typing import Any

from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator

DOCUMENT: dict[str, Any] = {
    "apiVersion": "spark.apache.org/v1",
    "kind": "SparkApplication",
    "spec": {
        "pyFiles": "local:///opt/job.py",
        "runtimeVersions": {"sparkVersion": "4.3.0"},
        "sparkConf": {"spark.executor.instances": "2"},
    },
}


def operator(
    deferrable: bool = True, application: dict[str, Any] | str | None = DOCUMENT, **parameters: Any
) -> SparkApplicationOperator:
    parameters = {"name": "pi", "kubernetes_conn_id": "spark", **parameters}
    return SparkApplicationOperator(task_id="run", application=application, deferrable=deferrable, **parameters)


def arguments_of(task: SparkApplicationOperator) -> dict[str, Any]:
    """Return the arguments of the trigger with which the task starts."""
    assert task.start_trigger_args is not None
    assert task.start_trigger_args.trigger_kwargs is not None
    return task.start_trigger_args.trigger_kwargs
