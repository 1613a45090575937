"""What to do about an application that has the name of a new one."""

from airflow_provider_spark_operator.cli.program_name import get_program_name
from airflow_provider_spark_operator.follow.errors import NameTaken
from airflow_provider_spark_operator.follow.reference import ApplicationReference
from airflow_provider_spark_operator.follow.stamp import NO_TASK


def describe_taken_name(error: NameTaken) -> str:
    """Return why an application could not be submitted under a name, and what to do."""
    owner = "" if error.owner == NO_TASK else f" and belongs to {error.owner}"
    return f"{error.reference} already exists{owner}; it {error.state}. {advise_on_name(error.reference)}"


def advise_on_name(present: ApplicationReference) -> str:
    """Return how to submit an application although another one has its name."""
    command = f"{get_program_name()} delete {present.name} -n {present.namespace} --wait"
    return f"Delete it first with `{command}`, or set another name with --name"
