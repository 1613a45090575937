"""Files that must be text."""

from airflow_provider_spark_operator.core.driver.errors import DriverBuildError


def decoded(field: str, content: bytes) -> str:
    """The content as UTF-8 text; raise DriverBuildError, naming `field`, if it is something else."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise DriverBuildError(field, "must be a text file in UTF-8") from error
