"""A cluster's Spark configuration: what holds for master and workers, and how they are told."""

from collections.abc import Mapping

from airflow_provider_spark_operator.core.models.cluster import SparkCluster

IMAGE_KEY = "spark.kubernetes.container.image"
SCHEDULER_KEY = "spark.kubernetes.scheduler.name"
_VERSION_PLACEHOLDER = "{{SPARK_VERSION}}"


def cluster_configuration(cluster: SparkCluster) -> dict[str, str]:
    """The configuration of `cluster`: the shuffle service is on unless said otherwise, the namespace is its own.

    `{{SPARK_VERSION}}` stands for the Spark version in the names of images.
    """
    version = cluster.spec.runtime_versions.spark_version
    given = {
        key: value.replace(_VERSION_PLACEHOLDER, version) if _names_image(key) else value
        for key, value in cluster.spec.spark_conf.items()
    }
    return {
        "spark.shuffle.service.enabled": "true",
        **given,
        "spark.kubernetes.namespace": cluster.namespace,
    }


def java_options(conf: Mapping[str, str]) -> str:
    """`conf` as system properties for Spark's launch scripts, in the order of the keys.

    Spark splits such a line as a shell would: in double quotes, a backslash takes the next character as it is.
    """
    return " ".join(f'-D{key}="{_escaped(conf[key])}"' for key in sorted(conf))


def default_image(cluster: SparkCluster) -> str:
    """The image of a cluster that names none: Spark's own, of the cluster's version."""
    return f"apache/spark:{cluster.spec.runtime_versions.spark_version}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')


def _names_image(key: str) -> bool:
    return key.startswith("spark.kubernetes.") and key.endswith("container.image")
