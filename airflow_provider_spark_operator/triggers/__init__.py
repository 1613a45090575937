"""Airflow triggers, which wait for Spark resources in the triggerer."""

import airflow_provider_spark_operator.airflow_version  # noqa: F401 - rejects an unsupported Airflow
