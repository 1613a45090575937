"""The scripted cluster of `airflow_provider_spark_operator.testing`, under the names that the tests use."""

from airflow_provider_spark_operator.testing.applications import fail, run_on, stay_submitted, succeed
from airflow_provider_spark_operator.testing.cluster import NAMESPACE
from airflow_provider_spark_operator.testing.cluster import ScriptedCluster as Cluster

__all__ = ["NAMESPACE", "Cluster", "fail", "run_on", "stay_submitted", "succeed"]
