"""Airflow sensors for the resources of the Spark Kubernetes Operator."""

import airflow_provider_spark_operator.airflow_version  # noqa: F401 - rejects an unsupported Airflow
