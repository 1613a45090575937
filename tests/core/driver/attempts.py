"""Builders of an application and of the resources of its first attempt."""

from typing import Any

from airflow_provider_spark_operator.core.driver.attempt import AttemptResources, build_attempt
from airflow_provider_spark_operator.core.models.application import SparkApplication
from airflow_provider_spark_operator.core.models.parse import parse_application
from airflow_provider_spark_operator.core.spark.properties import parse_properties

IMAGE = {"spark.kubernetes.container.image": "spark:{{SPARK_VERSION}}"}
OPERATOR = "spark-kubernetes-operator"


def build_application(conf: dict[str, Any] | None = None, name: str = "app", **spec: Any) -> SparkApplication:
    return parse_application(
        {
            "apiVersion": "spark.apache.org/v1",
            "kind": "SparkApplication",
            "metadata": {"name": name, "namespace": "ns", "uid": "application-uid"},
            "spec": {
                "runtimeVersions": {"sparkVersion": "4.3.0"},
                "sparkConf": IMAGE | (conf or {}),
                **(spec or {"mainClass": "org.example.Main", "jars": "local:///app.jar"}),
            },
        }
    )


def build_resources(*arguments: Any, **spec: Any) -> AttemptResources:
    return build_attempt(build_application(*arguments, **spec), 0, OPERATOR)


def read_properties(resources: AttemptResources) -> dict[str, str]:
    config_map = next(each for each in resources.post_resources if "spark.properties" in each.get("data", {}))
    return parse_properties(config_map["data"]["spark.properties"])
