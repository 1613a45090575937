"""`spark-operator version`: print the version of this program."""

from airflow_provider_spark_operator import __version__
from airflow_provider_spark_operator.cli.base.exit_codes import ExitCode
from airflow_provider_spark_operator.cli.base.program_name import PROGRAM

EXAMPLES = """
spark-operator version
"""


def run() -> ExitCode:
    """Print the version of this program, without contacting a cluster."""
    print(f"{PROGRAM} {__version__}")
    return ExitCode.SUCCESS
