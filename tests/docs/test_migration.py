"""The migration pages map every parameter of another operator to a parameter that exists."""

import inspect
import re
from collections.abc import Collection
from pathlib import Path

import pytest
from airflow.providers.cncf.kubernetes.operators.spark_kubernetes import SparkKubernetesOperator
from airflow.providers.cncf.kubernetes.sensors.spark_kubernetes import SparkKubernetesSensor
from airflow.sdk import BaseOperator, BaseSensorOperator

from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator
from airflow_provider_spark_operator.sensors.spark_application import SparkApplicationSensor

PAGES = Path(__file__).resolve().parents[2] / "docs" / "migration"
OPENLINEAGE = "openlineage_inject_parent_job_info openlineage_inject_transport_info"
# The parameters of operators of providers that are not installed here, from the providers' source.
SPARK_SUBMIT = f"""application conf conn_id files py_files archives driver_class_path jars java_class packages
    exclude_packages repositories total_executor_cores executor_cores executor_memory driver_memory keytab principal
    proxy_user name num_executors status_poll_interval application_args env_vars verbose spark_binary properties_file
    yarn_queue deploy_mode use_krb5ccache post_submit_commands track_driver_via_k8s_api yarn_track_via_rm_api
    yarn_rm_auth reconnect_on_retry durable {OPENLINEAGE}"""
EMR_CONTAINER = f"""name virtual_cluster_id execution_role_arn release_label job_driver configuration_overrides
    client_request_token wait_for_completion poll_interval tags max_polling_attempts job_retry_max_attempts deferrable
    cancel_on_kill aws_conn_id region_name verify {OPENLINEAGE}"""
DATAPROC_BATCH = f"""region project_id batch batch_id request_id num_retries_if_resource_is_not_ready retry timeout
    metadata gcp_conn_id impersonation_chain result_retry asynchronous deferrable polling_interval_seconds
    {OPENLINEAGE}"""
DATAPROC_JOB = f"""job region project_id request_id retry timeout metadata gcp_conn_id impersonation_chain asynchronous
    deferrable polling_interval_seconds cancel_on_kill wait_timeout {OPENLINEAGE}"""


def read_parameters(*classes: type) -> set[str]:
    found = {name for one in classes for name in inspect.signature(one).parameters}
    return found - {"self", "kwargs"}


def read_own_parameters(operator: type) -> set[str]:
    return set(inspect.signature(operator.__init__).parameters) - {"self", "kwargs"}  # type: ignore[misc]


OPERATOR = read_parameters(SparkApplicationOperator, BaseOperator)
SENSOR = read_parameters(SparkApplicationSensor, BaseSensorOperator, BaseOperator)


def read_table(page: str, heading: str) -> list[list[str]]:
    text = (PAGES / f"{page}.md").read_text()
    (table,) = re.findall(rf"^\| `{heading}` \| .* \|\n\|[-|]+\|\n((?:\|.*\n)+)", text, re.MULTILINE)
    return [row.strip("| ").split(" | ", 1) for row in table.splitlines()]


TABLES = [
    ("spark-kubernetes-operator", "SparkKubernetesOperator", read_own_parameters(SparkKubernetesOperator), OPERATOR),
    ("spark-kubernetes-operator", "SparkKubernetesSensor", read_own_parameters(SparkKubernetesSensor), SENSOR),
    ("spark-submit-operator", "SparkSubmitOperator", SPARK_SUBMIT.split(), OPERATOR),
    ("emr-on-eks", "EmrContainerOperator", EMR_CONTAINER.split(), OPERATOR),
    ("dataproc", "DataprocCreateBatchOperator", DATAPROC_BATCH.split(), OPERATOR),
    ("dataproc", "DataprocSubmitJobOperator", DATAPROC_JOB.split(), OPERATOR),
]
# Words in the right column that are not parameters, for example fields of documents.
OTHER_WORDS = {"proxyUser", "restartConfig", "sparkConf", "spark", "timeToLiveSeconds"}


@pytest.mark.parametrize(("page", "other", "parameters", "_"), TABLES, ids=[table[1] for table in TABLES])
def test_table_has_every_parameter_of_the_other_operator(
    page: str, other: str, parameters: Collection[str], _: Collection[str]
) -> None:
    named = {name for there, _ in read_table(page, other) for name in re.findall(r"`(\w+)", there)}
    assert set(parameters) - named == set()


@pytest.mark.parametrize(("page", "other", "_", "ours"), TABLES, ids=[table[1] for table in TABLES])
def test_replacement_is_a_parameter(page: str, other: str, _: Collection[str], ours: Collection[str]) -> None:
    replacements = {name for _, here in read_table(page, other) for name in re.findall(r"`(\w+)(?:=[^`]*)?`", here)}
    assert replacements
    assert replacements - set(ours) - OTHER_WORDS == set()
