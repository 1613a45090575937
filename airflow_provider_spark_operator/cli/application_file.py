"""Read a file with one SparkApplication."""

from typing import Any

from airflow_provider_spark_operator.cli.documents import DocumentError, read_documents
from airflow_provider_spark_operator.cli.errors import CommandError
from airflow_provider_spark_operator.cli.exit_codes import ExitCode
from airflow_provider_spark_operator.core.problems import filter_errors, filter_warnings
from airflow_provider_spark_operator.core.validation.application import validate_application


def read_application_file(path: str) -> tuple[dict[str, Any], list[str]]:
    """Return the SparkApplication in a file, and the warnings about it.

    Args:
        path: The path of the file; `-` for standard input.

    Raises:
        CommandError: The file does not contain exactly one document, or the document is not a valid SparkApplication.
    """
    documents = list(read_documents(path))
    if len(documents) != 1:
        raise DocumentError(
            documents[0].source, f"contains {len(documents)} manifests; it must contain one SparkApplication"
        )
    (document,) = documents
    problems = validate_application(document.content)
    errors = filter_errors(problems)
    if errors or not isinstance(document.content, dict):
        raise CommandError("\n".join(f"{document.source}: {problem}" for problem in errors), ExitCode.INVALID)
    return document.content, [str(problem) for problem in filter_warnings(problems)]
