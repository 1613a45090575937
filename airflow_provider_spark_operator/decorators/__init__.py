"""Task decorators that run Python functions on Spark."""

import airflow_provider_spark_operator.airflow_version  # noqa: F401 - rejects an unsupported Airflow
