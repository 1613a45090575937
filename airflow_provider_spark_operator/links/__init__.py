"""Links from a task page in Airflow to the web pages of its Spark application."""

import airflow_provider_spark_operator.airflow_version  # noqa: F401 - rejects an unsupported Airflow
