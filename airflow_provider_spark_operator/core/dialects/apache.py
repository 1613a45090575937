"""Read the progress of a `spark.apache.org` SparkApplication, whichever operator manages it.

A status may have any content. Malformed parts are ignored.
"""

from collections.abc import Mapping
from datetime import datetime

from ..driver.configuration.errors import DriverBuildError
from ..driver.configuration.resource_names import get_driver_pod_name
from ..kubernetes.names import build_application_id
from ..kubernetes.pods import get_object, get_text
from ..kubernetes.times import read_time
from ..lifecycle.driver_end import get_main_container
from ..log.driver_log import split_lines
from ..log.java_message import shorten_java_message
from ..spark.spark_conf import uses_dynamic_allocation
from ..states.states import RUNNING, STOPPING, TERMINATED, ApplicationState, read_suspend_reason
from .progress import Phase, Progress, StateEntry, find_last_stop
from .spark_properties import read_properties

# Spark's default of spark.executor.instances.
_DEFAULT_EXECUTORS = 2
_MAX_DIGITS = 9
_DRIVER_EXPECTED = frozenset({ApplicationState.DRIVER_REQUESTED, ApplicationState.DRIVER_STARTED})
_DRIVER_RUNS = RUNNING | {
    ApplicationState.DRIVER_READY,
    ApplicationState.INITIALIZED_BELOW_THRESHOLD_EXECUTORS,
}


def read_progress(resource: Mapping[str, object]) -> Progress:
    """Return the progress of a SparkApplication.

    Without a status the application counts as submitted. An unknown state counts as waiting.

    Args:
        resource: The whole resource as the API returns it.
    """
    status = get_object(resource.get("status"))
    current = _read_entry(get_object(status.get("currentState")))
    attempt = _read_attempt(status)
    history = _read_history(get_object(status.get("stateTransitionHistory")))
    stop = find_last_stop(history)
    identifier = read_application_id(resource, attempt)
    return Progress(
        state=current.state,
        phase=_get_phase(current.state),
        since=current.time,
        message=current.message,
        attempt=attempt,
        history=history,
        driver_status=stop.driver_status if stop else current.driver_status,
        application_id=identifier if status else None,
        restart_pending=_is_restart_pending(resource, current.state),
        driver_expected=current.state in _DRIVER_EXPECTED,
        reason=current.reason,
        main_container=get_main_container(read_properties(resource)),
        driver_name=read_driver_pod_name(resource, identifier) if status else None,
        suspended_by=current.suspended_by,
    )


def read_history(resource: Mapping[str, object], driver_started: datetime | None) -> tuple[StateEntry, ...]:  # noqa: ARG001 - see Dialect
    """Return the recorded states of all attempts, oldest first.

    If the controller trims the history, the status contains the states of the last two attempts.
    """
    status = get_object(resource.get("status"))
    past = get_object(get_object(status.get("previousAttemptSummary")).get("stateTransitionHistory"))
    history = _read_history({**past, **get_object(status.get("stateTransitionHistory"))})
    if history:
        return history
    created = read_time(get_object(resource.get("metadata")).get("creationTimestamp"))
    current = _read_entry(get_object(status.get("currentState")))
    return (current if status else StateEntry(ApplicationState.SUBMITTED, created),)


def read_executor_states(resource: Mapping[str, object]) -> Mapping[str, str]:  # noqa: ARG001 - see Dialect
    """Return an empty mapping: the status does not contain the executors."""
    return {}


def count_wanted_executors(resource: Mapping[str, object]) -> int:
    """Return the number of executors with which the application starts."""
    conf = _read_conf(resource)
    dynamic = uses_dynamic_allocation(conf)
    key = "spark.dynamicAllocation.minExecutors" if dynamic else "spark.executor.instances"
    value = str(conf.get(key, 0 if dynamic else _DEFAULT_EXECUTORS))
    # Python refuses to parse thousands of digits. No cluster has that number of executors.
    return int(value) if value.isdecimal() and len(value) <= _MAX_DIGITS else _DEFAULT_EXECUTORS


def read_application_id(resource: Mapping[str, object], attempt: int) -> str | None:
    """Return Spark's id of an attempt; None if the application has no name."""
    metadata = get_object(resource.get("metadata"))
    name, namespace = get_text(metadata.get("name")), get_text(metadata.get("namespace"))
    fixed = _read_conf(resource).get("spark.app.id")
    return str(fixed) if fixed else (build_application_id(namespace, name, attempt) if name else None)


def read_driver_pod_name(resource: Mapping[str, object], identifier: str | None) -> str | None:
    """Return the name of the driver pod of the attempt with an application id; None if no driver can have a name."""
    try:
        return get_driver_pod_name(identifier, _read_conf(resource)) if identifier else None
    except DriverBuildError:
        return None


def _read_conf(resource: Mapping[str, object]) -> Mapping[str, object]:
    return get_object(get_object(resource.get("spec")).get("sparkConf"))


def _get_phase(state: str) -> Phase:
    if state in TERMINATED:
        return Phase.ENDED
    if state in STOPPING:
        return Phase.STOPPING
    return Phase.RUNNING if state in _DRIVER_RUNS else Phase.WAITING


def _is_restart_pending(resource: Mapping[str, object], state: str) -> bool:
    if state == ApplicationState.SCHEDULED_TO_RESTART:
        return True
    tolerations = get_object(get_object(resource.get("spec")).get("applicationTolerations"))
    policy = get_text(get_object(tolerations.get("restartConfig")).get("restartPolicy"))
    return state in STOPPING and policy not in ("", "Never")


def _read_history(history: Mapping[str, object]) -> tuple[StateEntry, ...]:
    numbered = {int(key): value for key, value in history.items() if _is_position(key)}
    return tuple(_read_entry(get_object(numbered[key])) for key in sorted(numbered))


def _is_position(key: object) -> bool:
    return isinstance(key, str) and key.isascii() and key.isdecimal() and len(key) <= 18


def _read_entry(record: Mapping[str, object]) -> StateEntry:
    driver_status = record.get("lastObservedDriverStatus")
    text, log_lines = split_lines(get_text(record.get("message")))
    state = get_text(record.get("currentStateSummary")) or ApplicationState.SUBMITTED
    return StateEntry(
        state=state,
        time=read_time(record.get("lastTransitionTime")),
        message=shorten_java_message(text) or None,
        driver_status=driver_status if isinstance(driver_status, Mapping) else None,
        reason=get_text(record.get("reason")) or None,
        log_lines=log_lines,
        suspended_by=read_suspend_reason(record) if state == ApplicationState.SUSPENDED else None,
    )


def _read_attempt(status: Mapping[str, object]) -> int:
    info = get_object(get_object(status.get("currentAttemptSummary")).get("attemptInfo"))
    number = info.get("id")
    return number if isinstance(number, int) and not isinstance(number, bool) and number >= 0 else 0
