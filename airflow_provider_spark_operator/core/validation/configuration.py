"""Checks of `spec.sparkConf` that Spark otherwise makes only when the driver starts."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from ..driver.configuration.configuration import DriverBuildError, is_positive_size, parse_memory_mib
from ..kubernetes.problems import Problem, Severity
from ..models.parse import format_path
from ..spark.spark_conf import (
    DRIVER_IMAGE_KEY,
    DYNAMIC_ALLOCATION_KEY,
    EXECUTOR_IMAGE_KEY,
    IMAGE_KEY,
    uses_dynamic_allocation,
)
from .numbers import MAX_EXECUTORS

_INSTANCES_KEY: Final = "spark.executor.instances"
_MEMORIES: Final = ("spark.driver.memory", "spark.executor.memory")
_OTHER_SIZES: Final = ("spark.driver.memoryOverhead", "spark.executor.memoryOverhead", "spark.executor.pyspark.memory")
_CORES: Final = ("spark.driver.cores", "spark.executor.cores")
_BOUNDS: Final = tuple(f"spark.dynamicAllocation.{name}Executors" for name in ("min", "initial", "max"))
_ARCHIVES: Final = "spark.archives"
_IMAGES: Final = (IMAGE_KEY, DRIVER_IMAGE_KEY, EXECUTOR_IMAGE_KEY)
# Every driver reads these booleans and times, so Spark never accepts another value.
_BOOLEANS: Final = (
    DYNAMIC_ALLOCATION_KEY,
    "spark.authenticate",
    "spark.eventLog.enabled",
    "spark.shuffle.compress",
    "spark.shuffle.service.enabled",
    "spark.speculation",
    "spark.ui.enabled",
)
_TIMES: Final = (
    "spark.executor.heartbeatInterval",
    "spark.locality.wait",
    "spark.network.timeout",
    "spark.rpc.askTimeout",
)
_TIME: Final = re.compile(r"-?[0-9]+(us|ms|s|m|min|h|d)?")
_INTEGER: Final = re.compile(r"\s*[+-]?[0-9]{1,18}\s*", re.ASCII)
_REFERENCE: Final = "${"


def find_configuration_problems(conf: Mapping[str, str]) -> Iterator[Problem]:
    """Find the problems of images, archives, sizes, counts, times and booleans in `conf`.

    Spark rejects them, too, in the submission or when the driver starts. A value that refers to another one (`${...}`)
    is not checked.
    """
    literal = {key: value for key, value in conf.items() if _REFERENCE not in value}
    yield from _find_size_problems(literal)
    yield from _find_form_problems(literal)
    yield from _find_archive_problems(literal)
    is_dynamic = uses_dynamic_allocation(literal)
    for key in _CORES:
        yield from _find_count_problems(literal, key, 1)
    yield from _find_count_problems(literal, _INSTANCES_KEY, 0 if is_dynamic else 1)
    if is_dynamic:
        yield from _find_bound_problems(literal)


def format_conf_path(key: str) -> str:
    """Return the path of a Spark property in a document."""
    return format_path(("spec", "sparkConf", key))


def _find_size_problems(conf: Mapping[str, str]) -> Iterator[Problem]:
    for key in (*_MEMORIES, *_OTHER_SIZES):
        if key not in conf:
            continue
        try:
            if key in _MEMORIES and not is_positive_size(key, conf[key]):
                yield Problem(format_conf_path(key), "must be greater than 0")
            parse_memory_mib(key, conf[key])
        except DriverBuildError as error:
            yield Problem(format_conf_path(key), error.sentence)


def _find_form_problems(conf: Mapping[str, str]) -> Iterator[Problem]:
    """Find malformed images, booleans and times. They are admissible: the driver rejects them, not the operator."""
    for key in _IMAGES:
        if re.search(r"\s", conf.get(key, "")):
            yield Problem(format_conf_path(key), f"must not contain white space, but is {conf[key]!r}", admissible=True)
    for key in _BOOLEANS:
        if key in conf and conf[key].strip().lower() not in ("true", "false"):
            yield Problem(format_conf_path(key), f"must be true or false, but is {conf[key]!r}", admissible=True)
    for key in _TIMES:
        if key in conf and not _TIME.fullmatch(conf[key].strip().lower()):
            message = f"must be an integer with a unit (ms, s, m, h, d), such as 120s, but is {conf[key]!r}"
            yield Problem(format_conf_path(key), message, admissible=True)


def _find_archive_problems(conf: Mapping[str, str]) -> Iterator[Problem]:
    """Find the first archive that only the driver unpacks: Spark does not send `local:` files to the executors."""
    archives = map(str.strip, conf.get(_ARCHIVES, "").split(","))
    uri = next((each for each in archives if each.startswith("local:")), None)
    if uri is not None:
        message = f"only the driver unpacks {uri}. If executors need the archive, use a URL that the driver can read"
        yield Problem(format_conf_path(_ARCHIVES), message, Severity.WARNING)


def _find_count_problems(conf: Mapping[str, str], key: str, least: int) -> Iterator[Problem]:
    if key not in conf:
        return
    value = conf[key]
    if not _INTEGER.fullmatch(value):
        yield Problem(format_conf_path(key), f"must be an integer, but is {value!r}")
    elif int(value) < least:
        dynamic = f". Set {DYNAMIC_ALLOCATION_KEY} to allow 0" if key == _INSTANCES_KEY and int(value) == 0 else ""
        yield Problem(format_conf_path(key), f"must be at least {least}, but is {value.strip()}{dynamic}")
    elif int(value) > MAX_EXECUTORS:
        yield Problem(format_conf_path(key), f"is {value.strip()}: use at most {MAX_EXECUTORS}")


def _find_bound_problems(conf: Mapping[str, str]) -> Iterator[Problem]:
    minimum, initial, maximum = _BOUNDS
    problems = [problem for key in _BOUNDS for problem in _check_bound(conf, key)]
    yield from problems
    if problems or maximum not in conf:
        return
    for key in (minimum, initial):
        if key in conf and int(conf[key]) > int(conf[maximum]):
            yield Problem(
                format_conf_path(key), f"is {conf[key].strip()}, more than {maximum} ({conf[maximum].strip()})"
            )


def _check_bound(conf: Mapping[str, str], key: str) -> Iterator[Problem]:
    # Spark's default, which means no limit, is the largest 32-bit integer, so there is no upper limit here.
    if key not in conf:
        return
    if not _INTEGER.fullmatch(conf[key]):
        yield Problem(format_conf_path(key), f"must be an integer, but is {conf[key]!r}")
    elif int(conf[key]) < 0:
        yield Problem(format_conf_path(key), f"must not be negative, but is {conf[key].strip()}")
