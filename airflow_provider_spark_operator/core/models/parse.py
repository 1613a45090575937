"""From a document to a SparkApplication."""

from collections.abc import Mapping

from airflow_provider_spark_operator.core.models.application import SparkApplication
from airflow_provider_spark_operator.core.models.reading import read


def parse_application(document: Mapping[str, object]) -> SparkApplication:
    """Read a SparkApplication out of `document` (JSON values, camelCase).

    Raises:
        InvalidResource: a field is missing, of the wrong type, or has an unknown word.
    """
    return read(SparkApplication, document)
