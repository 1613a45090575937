"""Checks of durations, limits and counts: negative values without a meaning, and values that are too large."""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from ..kubernetes.pods import get_object
from ..kubernetes.problems import Problem, Severity
from ..kubernetes.times import LONGEST_MILLIS
from ..models.application import ApplicationTolerations

if TYPE_CHECKING:
    from ..models.cluster import SparkClusterSpec

MAX_EXECUTORS: Final = 150_000
"""The maximum number of pods in a cluster that Kubernetes supports. No application needs more executors."""

_VERSION: Final = re.compile(r"[0-9]+\.[0-9]+")
_TOLERATIONS: Final = "spec.applicationTolerations"
_EXECUTORS: Final = f"{_TOLERATIONS}.instanceConfig"
_WORKERS: Final = "spec.clusterTolerations.instanceConfig"

# -1 disables these fields, and so does any other negative value.
_OFF_IF_NEGATIVE: Final = frozenset(
    {"resource_retain_duration_millis", "ttl_after_stop_millis", "restart_counter_reset_millis"}
)
# 0 disables these fields, and so does any negative value.
_OFF_IF_ZERO: Final = frozenset(
    {"driver_start_timeout_millis", "driver_ready_timeout_millis", "executor_start_timeout_millis"}
)


def find_version_problems(version: str) -> Iterator[Problem]:
    """Warn of a Spark version that does not begin with two numbers. Operators do not interpret the version."""
    if not _VERSION.match(version):
        message = f"{version!r} is not a Spark version: use the version in the image, for example 4.3.0"
        yield Problem("spec.runtimeVersions.sparkVersion", message, Severity.WARNING)


def find_toleration_problems(tolerations: ApplicationTolerations) -> Iterator[Problem]:
    """Find the problems of durations and limits of an application."""
    parts = (
        ("", tolerations),
        (".applicationTimeoutConfig", tolerations.application_timeout_config),
        (".restartConfig", tolerations.restart_config),
    )
    for path, part in parts:
        for name, field in type(part).model_fields.items():
            value = getattr(part, name)
            if isinstance(value, int):
                yield from _find_number_problems(f"{_TOLERATIONS}{path}.{field.alias}", name, value)


def find_executor_problems(tolerations: ApplicationTolerations) -> Iterator[Problem]:
    """Find the problems of the numbers of executors that an application expects.

    They are admissible, because no operator creates executors from these numbers.
    """
    instances = tolerations.instance_config
    counts = {
        "initExecutors": instances.init_executors,
        "minExecutors": instances.min_executors,
        "maxExecutors": instances.max_executors,
    }
    yield from _find_negative_counts(_EXECUTORS, counts, admissible=True)
    for name, count in counts.items():
        if count > MAX_EXECUTORS:
            yield Problem(f"{_EXECUTORS}.{name}", f"is {count}: use at most {MAX_EXECUTORS}", admissible=True)
    yield from _find_counts_above_maximum(_EXECUTORS, counts, ("initExecutors", "minExecutors"), "maxExecutors")


def find_worker_problems(spec: "SparkClusterSpec") -> Iterator[Problem]:
    """Find the problems of the numbers of workers. Numbers that Kubernetes rejects later are not admissible."""
    instances = spec.cluster_tolerations.instance_config
    counts = {
        "initWorkers": instances.init_workers,
        "minWorkers": instances.min_workers,
        "maxWorkers": instances.max_workers,
    }
    initial, least, most = counts.values()
    # Without an autoscaler, minWorkers and maxWorkers have no effect.
    is_scaled = least < most
    for name, count in counts.items():
        yield from _find_negative_counts(_WORKERS, {name: count}, admissible=name != "initWorkers" and not is_scaled)
    yield from _find_counts_above_maximum(
        _WORKERS, counts, ("initWorkers",) if is_scaled else ("minWorkers",), "maxWorkers"
    )
    if initial == 0 < least < most:
        message = "is 0, but an autoscaler does not scale up from 0 workers: use at least 1"
        yield Problem(f"{_WORKERS}.initWorkers", message, admissible=True)
    if least == 0 < most:
        yield _describe_zero_minimum(most, spec.worker_spec.horizontal_pod_autoscaler_spec)


def _describe_zero_minimum(most: int, autoscaler: Mapping[str, object] | None) -> Problem:
    """Return the problem of a minimum of 0 workers, which needs a metric that does not come from the workers."""
    metrics = (autoscaler or {}).get("metrics")
    types = [get_object(metric).get("type") for metric in metrics] if isinstance(metrics, list) else []
    is_zero = f"is 0 and maxWorkers is {most}"
    if "Object" in types or "External" in types:
        message = f"{is_zero}: the API server refuses the autoscaler unless its feature gate HPAScaleToZero is enabled"
        return Problem(f"{_WORKERS}.minWorkers", message, Severity.WARNING)
    message = (
        f"{is_zero}: an autoscaler can scale to 0 workers only with an Object or External metric. Use at least 1, "
        "set minWorkers and maxWorkers to the same value, or add such a metric to "
        "spec.workerSpec.horizontalPodAutoscalerSpec"
    )
    return Problem(f"{_WORKERS}.minWorkers", message)


def _find_number_problems(path: str, name: str, value: int) -> Iterator[Problem]:
    if "millis" in name and value > LONGEST_MILLIS:
        message = f"must be at most {LONGEST_MILLIS} milliseconds (100 years), not {value}"
        yield Problem(path, message, admissible=True)
    if value >= 0 or (value == -1 and name in _OFF_IF_NEGATIVE):
        return
    if name in _OFF_IF_NEGATIVE:
        yield Problem(path, f"is {value}, which has the same meaning as -1 (never): use -1", Severity.WARNING)
    elif name in _OFF_IF_ZERO and value == -1:
        yield Problem(path, "is -1, which has the same meaning as 0 (no limit): use 0", Severity.WARNING)
    else:
        advice = ": use 0 for no limit" if name in _OFF_IF_ZERO else ""
        yield Problem(path, f"must not be negative, but is {value}{advice}", admissible=True)


def _find_negative_counts(path: str, counts: Mapping[str, int], *, admissible: bool) -> Iterator[Problem]:
    for name, count in counts.items():
        if count < 0:
            yield Problem(f"{path}.{name}", f"must not be negative, but is {count}", admissible=admissible)


def _find_counts_above_maximum(
    path: str, counts: Mapping[str, int], names: tuple[str, ...], maximum: str
) -> Iterator[Problem]:
    for name in names:
        if 0 < counts[maximum] < counts[name]:
            message = f"is {counts[name]}, more than {maximum} ({counts[maximum]})"
            yield Problem(f"{path}.{name}", message, admissible=True)
