"""The Spark configuration of the master and the workers of a cluster."""

from collections.abc import Mapping

from ..models.cluster import SparkCluster
from ..spark.spark_conf import replace_version_in_images

SCHEDULER_KEY = "spark.kubernetes.scheduler.name"


def build_cluster_configuration(cluster: SparkCluster) -> dict[str, str]:
    """Build the configuration of `cluster`, with its own namespace and with the shuffle service enabled by default.

    `{{SPARK_VERSION}}` in the names of images is replaced by the Spark version.
    """
    given = replace_version_in_images(cluster.spec.spark_conf, cluster.spec.runtime_versions.spark_version)
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
