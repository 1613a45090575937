"""Text as Java reads it."""

from airflow_provider_spark_operator.core.driver.errors import DriverBuildError
from airflow_provider_spark_operator.core.spark_conf import JAVA_BLANKS


def decoded(field: str, content: bytes) -> str:
    """The content as UTF-8 text; raise DriverBuildError, naming `field`, if it is something else."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise DriverBuildError(field, "must be a text file in UTF-8") from error


def trimmed(text: str) -> str:
    """The text as `String.trim` leaves it."""
    return text.strip(JAVA_BLANKS)


def trimmed_but_lines(text: str) -> str:
    """The text without blanks around it; an end of a line is none, where a file goes out of its way to have one."""
    return text.strip(JAVA_BLANKS.replace("\r", "").replace("\n", ""))


def split(text: str, separator: str) -> list[str]:
    """The parts as `String.split` makes them: without those at the end that are empty, if there is a separator."""
    if separator not in text:
        return [text]
    kept = text.rstrip(separator)
    return kept.split(separator) if kept else []
