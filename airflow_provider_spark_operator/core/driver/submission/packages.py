"""Checks the form of Maven coordinates. The driver downloads the packages."""

from collections.abc import Mapping

from ..configuration.errors import DriverBuildError
from ..configuration.text import split

PACKAGES_KEY = "spark.jars.packages"
EXCLUDES_KEY = "spark.jars.excludes"
_PARTS = 3


def check_packages(conf: Mapping[str, str]) -> None:
    """Raise DriverBuildError unless packages are `group:artifact:version` and exclusions are `group:artifact`.

    As in spark-submit, exclusions are checked only if there are packages.
    """
    if not conf.get(PACKAGES_KEY, "").strip():
        return
    for coordinates in split(conf[PACKAGES_KEY], ","):
        _check_coordinates(PACKAGES_KEY, coordinates, coordinates, "group:artifact:version")
    excluded = conf.get(EXCLUDES_KEY, "")
    for coordinates in split(excluded, ",") if excluded.strip() else ():
        _check_coordinates(EXCLUDES_KEY, coordinates, f"{coordinates}:*", "group:artifact")


def _check_coordinates(key: str, given: str, coordinates: str, form: str) -> None:
    parts = split(coordinates.replace("/", ":"), ":")
    if len(parts) != _PARTS or not all(part.strip() for part in parts):
        raise DriverBuildError(key, f"{given!r} must have the form {form}")
