"""The CustomResourceDefinitions, generated from the models, so that the two cannot disagree."""

from airflow_provider_spark_operator.crds.definitions import custom_resource_definitions

__all__ = ["custom_resource_definitions"]
