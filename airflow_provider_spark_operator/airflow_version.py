"""Reject an unsupported version of Airflow. Each package of the provider imports this module before it imports Airflow.

On Airflow 2, the first import of a name from Airflow 3 would otherwise fail, without naming the cause.
"""

from importlib.metadata import PackageNotFoundError, version

REQUIRED_VERSION = (3, 0)


def parse_version(text: str) -> tuple[int, int]:
    """Return the major and the minor number of a version of Airflow; (0, 0) if the text is not a version."""
    major, minor, *_ = [*text.split("."), "", ""]
    return (int(major), int(minor)) if major.isdecimal() and minor.isdecimal() else (0, 0)


def check_version(text: str) -> None:
    """Reject a version of Airflow that the provider does not support.

    Args:
        text: The version; "none" if Airflow is not installed.

    Raises:
        ImportError: The version is not supported.
    """
    if parse_version(text) < REQUIRED_VERSION:
        required = ".".join(map(str, REQUIRED_VERSION))
        raise ImportError(
            f"airflow-provider-spark-operator requires Apache Airflow {required} or newer, but found {text}"
        )


def _read_version() -> str:
    for distribution in ("apache-airflow-core", "apache-airflow"):  # Airflow 2 has no core distribution
        try:
            return version(distribution)
        except PackageNotFoundError:
            continue
    return "none"


INSTALLED = _read_version()
"""The version of the installed Airflow."""

check_version(INSTALLED)
