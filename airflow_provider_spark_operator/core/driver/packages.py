"""Coordinates of packages in a Maven repository, which the driver downloads: only their form is judged here."""

from collections.abc import Mapping

from airflow_provider_spark_operator.core.driver.errors import DriverBuildError
from airflow_provider_spark_operator.core.driver.text import split

PACKAGES_KEY = "spark.jars.packages"
EXCLUDES_KEY = "spark.jars.excludes"
_PARTS = 3


def check_packages(conf: Mapping[str, str]) -> None:
    """Raise DriverBuildError for packages that are not `group:artifact:version`, or exclusions not `group:artifact`.

    spark-submit looks at the exclusions only where there are packages.
    """
    if not conf.get(PACKAGES_KEY, "").strip():
        return
    for coordinates in split(conf[PACKAGES_KEY], ","):
        _check(PACKAGES_KEY, coordinates, coordinates, "group:artifact:version")
    excluded = conf.get(EXCLUDES_KEY, "")
    for coordinates in split(excluded, ",") if excluded.strip() else ():
        _check(EXCLUDES_KEY, coordinates, f"{coordinates}:*", "group:artifact")


def _check(key: str, given: str, coordinates: str, form: str) -> None:
    parts = split(coordinates.replace("/", ":"), ":")
    if len(parts) != _PARTS or not all(part.strip() for part in parts):
        raise DriverBuildError(key, f"{given!r} must have the form {form}")
