"""Rules for time limits: starting states, executors that cannot start, and drivers that do not terminate."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from ..kubernetes import pods
from ..kubernetes.times import format_seconds, to_duration
from ..states import reasons
from ..states.states import ApplicationState
from . import policy
from .decision import AT_ONCE, Decision
from .executor_obstacles import describe_executor_obstacle, find_blocked_executors
from .situation import Situation

_State = ApplicationState

_TIMEOUT_MESSAGES: Final[Mapping[ApplicationState, str]] = {
    _State.DRIVER_START_TIMED_OUT: "The driver did not start within {limit:g} s "
    "(spec.applicationTolerations.applicationTimeoutConfig.driverStartTimeoutMillis).",
    _State.DRIVER_READY_TIMED_OUT: "The driver was not ready within {limit:g} s of its start "
    "(spec.applicationTolerations.applicationTimeoutConfig.driverReadyTimeoutMillis).",
    _State.EXECUTORS_START_TIMED_OUT: "Too few executors were ready within {limit:g} s "
    "(spec.applicationTolerations.applicationTimeoutConfig.executorStartTimeoutMillis).",
}


def time_out(situation: Situation) -> Decision | None:
    """Stop an application that stays in its state for longer than its timeout."""
    limit = policy.get_timeout(situation.tolerations.application_timeout_config, situation.state)
    if limit is None:
        return None
    remaining = situation.measure_remaining_beyond(limit)
    if remaining > AT_ONCE:
        return situation.wait(reasons.NOTHING_DUE, "", min(remaining, situation.settings.reconcile_interval))
    to = policy.TIMED_OUT[situation.state]
    message = _TIMEOUT_MESSAGES[to].format(limit=limit.total_seconds())
    if to is _State.EXECUTORS_START_TIMED_OUT and (cause := describe_executor_obstacle(situation.observed.executors)):
        message = f"{message.removesuffix('.')}: {cause}."
    # The names of these states are also the reasons.
    return situation.move(to, str(to), message, driver_status=pods.get_status(situation.driver_pod))


def time_out_blocked_executors(situation: Situation) -> Decision | None:
    """Stop an application that sets no minimum of executors, if none of its executors can start.

    The oldest executor must be older than the limit, because Spark replaces executors and the state is as old as the
    driver. An executor that waits for a node does not count: a node may become available.
    """
    limit = policy.get_executor_start_limit(situation.tolerations.application_timeout_config)
    blocked = find_blocked_executors(situation.observed.executors)
    if limit is None or not blocked or len(blocked) < len(situation.observed.executors):
        return None
    remaining = situation.measure_remaining_beyond(limit, blocked[0].created)
    if remaining > AT_ONCE:
        return situation.wait(reasons.NOTHING_DUE, "", min(remaining, situation.settings.reconcile_interval))
    message = (
        f"No executor has started within {limit.total_seconds():g} s "
        "(spec.applicationTolerations.applicationTimeoutConfig.executorStartTimeoutMillis): "
        f"{blocked[0].sentence}."
    )
    status = pods.get_status(situation.driver_pod)
    return situation.move(
        _State.EXECUTORS_START_TIMED_OUT, reasons.EXECUTORS_START_TIMED_OUT, message, driver_status=status
    )


def fail_lost_driver(situation: Situation) -> Decision | None:
    """Fail an application whose driver pod was deleted by another client, or lost its node, and does not end.

    The pod gets the grace period that it has in a deletion by the controller. The rules of the next state delete it
    without grace before anything else happens. Only a node's kubelet can report the end of a pod. If the node is
    lost, the control plane deletes the pod after its toleration (five minutes by default). The pod keeps the phase
    Running until it is deleted by force.
    """
    driver = situation.driver_pod
    grace = to_duration(situation.tolerations.application_timeout_config.force_termination_grace_period_millis)
    sentence = _describe_deletion(situation, driver, grace) or _describe_lost_node(situation, driver, grace)
    if sentence is None:
        return None
    status = pods.get_status(driver)
    disruption = pods.describe_disruption(status)
    message = sentence + (f": {disruption.rstrip('.')}." if disruption else ".")
    return situation.move(_State.FAILED, reasons.DRIVER_INTERRUPTED, message, driver_status=status)


def _describe_deletion(situation: Situation, pod: Mapping[str, object], grace: timedelta) -> str | None:
    began, ends = pods.find_deletion_start(pod), pods.read_deletion_deadline(pod)
    if began is None or ends is None:
        return None
    # The pod's specification, or the client that deletes it, may grant more time.
    given = max(grace, ends - began)
    if situation.measure_remaining(given, began) > AT_ONCE:
        return None
    return f"The driver pod was deleted while it ran, and did not terminate within {format_seconds(given)}"


def _describe_lost_node(situation: Situation, pod: Mapping[str, object], grace: timedelta) -> str | None:
    since = pods.find_node_loss(pods.get_status(pod))
    if since is None or situation.measure_remaining(grace, since) > AT_ONCE:
        return None
    return f"The node of the driver pod was lost, and did not return within {format_seconds(grace)}"
