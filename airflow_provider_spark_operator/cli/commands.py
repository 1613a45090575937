"""Commands that messages tell the user to run."""

from airflow_provider_spark_operator.cli.program_name import get_program_name
from airflow_provider_spark_operator.follow.reference import ApplicationReference


def format_command(verb: str, reference: ApplicationReference) -> str:
    """Return the command with a verb and an application, marked as code."""
    return f"`{get_program_name()} {verb} {reference.name} -n {reference.namespace}`"
