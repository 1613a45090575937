"""Parse a document into the model of a SparkCluster. Most commands do not need it, and it takes long to import."""

from collections.abc import Mapping

from .cluster import SparkCluster
from .parse import parse_model


def parse_cluster(document: Mapping[str, object]) -> SparkCluster:
    """Parse a SparkCluster.

    Args:
        document: The resource, as JSON values with field names in camelCase.

    Raises:
        InvalidResource: A field is missing, has the wrong type, or an unsupported value.
    """
    return parse_model(SparkCluster, document)
