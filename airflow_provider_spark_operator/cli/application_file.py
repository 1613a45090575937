"""A file that holds one SparkApplication."""

from typing import Any

from airflow_provider_spark_operator.cli.documents import DocumentError, read_documents
from airflow_provider_spark_operator.cli.errors import CommandError
from airflow_provider_spark_operator.cli.exit_codes import ExitCode
from airflow_provider_spark_operator.core.models.parse import validate_document


def read_application_file(path: str) -> dict[str, Any]:
    """The one SparkApplication of a file, valid; `-` is standard input.

    Raises:
        CommandError: there is none, there are several, or it is not valid.
    """
    documents = list(read_documents(path))
    if len(documents) != 1:
        raise DocumentError(f"{documents[0].source}: holds {len(documents)} documents; give one application")
    problems = validate_document(documents[0].content)
    if problems or not isinstance(documents[0].content, dict):
        lines = [f"{documents[0].source}: {problem}" for problem in problems]
        raise CommandError("\n".join(lines), ExitCode.INVALID)
    return documents[0].content
