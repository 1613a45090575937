"""The command line `spark-operator`: one module per verb, loaded when the verb is used."""

from airflow_provider_spark_operator.cli.main import main

__all__ = ["main"]
