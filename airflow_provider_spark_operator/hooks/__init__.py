"""Connect Airflow to a cluster: connections, and what operators, sensors and triggers share."""

import airflow_provider_spark_operator.airflow_version  # noqa: F401 - rejects an unsupported Airflow
