"""An application, and what an attempt of it is built of."""

from typing import Any

from airflow_provider_spark_operator.core.driver.attempt import (
    AttemptResources,
    build_attempt,
)
from airflow_provider_spark_operator.core.driver.properties import read_properties
from airflow_provider_spark_operator.core.models.application import SparkApplication
from airflow_provider_spark_operator.core.models.parse import parse_application

IMAGE = {"spark.kubernetes.container.image": "spark:{{SPARK_VERSION}}"}
OPERATOR = "spark-kubernetes-operator"


def application(conf: dict[str, Any] | None = None, name: str = "app", **spec: Any) -> SparkApplication:
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


def attempt(*arguments: Any, **spec: Any) -> AttemptResources:
    return build_attempt(application(*arguments, **spec), 0, OPERATOR)


def properties(resources: AttemptResources) -> dict[str, str]:
    config_map = next(each for each in resources.post_resources if "spark.properties" in each.get("data", {}))
    return read_properties(config_map["data"]["spark.properties"])
