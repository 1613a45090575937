"""From a document to a SparkCluster."""

from collections.abc import Mapping

from airflow_provider_spark_operator.core.models.cluster import SparkCluster
from airflow_provider_spark_operator.core.models.reading import read


def parse_cluster(document: Mapping[str, object]) -> SparkCluster:
    """Read a SparkCluster out of `document` (JSON values, camelCase).

    Raises:
        InvalidResource: a field is missing, of the wrong type, or has an unknown word.
    """
    return read(SparkCluster, document)
