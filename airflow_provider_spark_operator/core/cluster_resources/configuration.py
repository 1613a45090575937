"""The Spark configuration of the master and the workers of a cluster."""

from collections.abc import Mapping

from airflow_provider_spark_operator.core.models.cluster import SparkCluster

IMAGE_KEY = "spark.kubernetes.container.image"
SCHEDULER_KEY = "spark.kubernetes.scheduler.name"
_VERSION_PLACEHOLDER = "{{SPARK_VERSION}}"


def build_cluster_configuration(cluster: SparkCluster) -> dict[str, str]:
    """Build the configuration of `cluster`, with its own namespace and with the shuffle service enabled by default.

    `{{SPARK_VERSION}}` in the names of images is replaced by the Spark version.
    """
    version = cluster.spec.runtime_versions.spark_version
    given = {
        key: value.replace(_VERSION_PLACEHOLDER, version) if _is_image_key(key) else value
        for key, value in cluster.spec.spark_conf.items()
    }
    return {
        "spark.shuffle.service.enabled": "true",
        **given,
        "spark.kubernetes.namespace": cluster.namespace,
    }


def format_java_options(conf: Mapping[str, str]) -> str:
    """Format `conf` as Java system properties for Spark's launch scripts, sorted by key.

    Spark splits the line as a shell does: in double quotes, a backslash escapes the next character.
    """
    return " ".join(f'-D{key}="{_escape(conf[key])}"' for key in sorted(conf))


def get_default_image(cluster: SparkCluster) -> str:
    """Return the image of a cluster that names none: Spark's own image of the cluster's version."""
    return f"apache/spark:{cluster.spec.runtime_versions.spark_version}"


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')


def _is_image_key(key: str) -> bool:
    return key.startswith("spark.kubernetes.") and key.endswith("container.image")
