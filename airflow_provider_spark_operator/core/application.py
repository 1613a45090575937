"""The lifecycle of a SparkApplication: what to do next, from what is written, seen, and the time.

Rules are small functions, in order for each state; the first that answers decides. They change
nothing: what is to be done are actions in the decision, carried out by whoever asked.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final, TypeAlias

from airflow_provider_spark_operator.core import executors, observation, pods, policy, reasons
from airflow_provider_spark_operator.core.decision import (
    Action,
    AddFinalizer,
    CreateAttempt,
    Decision,
    DeleteApplication,
    RemoveFinalizer,
    Settings,
)
from airflow_provider_spark_operator.core.interruption import interruption, never_ended
from airflow_provider_spark_operator.core.models.application import DeploymentMode, SparkApplication
from airflow_provider_spark_operator.core.models.status import AttemptInfo
from airflow_provider_spark_operator.core.names import APPLICATION_FINALIZER
from airflow_provider_spark_operator.core.observation import Observed, Present, Refused, Unconfirmed
from airflow_provider_spark_operator.core.release import confirm_absence, leftovers, release
from airflow_provider_spark_operator.core.routes import missing_in_routes
from airflow_provider_spark_operator.core.situation import AT_ONCE, Situation
from airflow_provider_spark_operator.core.states import (
    INITIALIZING,
    RUNNING,
    STOPPING,
    ApplicationState,
)
from airflow_provider_spark_operator.core.transitions import initial_status, move, move_to_next_attempt, remark

_State = ApplicationState
Rule: TypeAlias = Callable[[Situation], Decision | None]


def decide(application: SparkApplication, observed: Observed, settings: Settings, now: datetime) -> Decision:
    """Say what to do next about `application`; change nothing and never raise.

    Args:
        application: the resource as it was read; its status is the one that the decision builds on.
        observed: the driver of the current attempt, its executors, and what came of `CreateAttempt`.
        settings: the controller's own.
        now: the time, with an offset. It may have run backwards since the last look.
    """
    status = application.status or initial_status(application.creation_timestamp or now)
    seen = Situation(application, status, observed, settings, now)
    for rule in RULES_OF_DELETION if application.deletion_timestamp else (_finalizer_missing, *RULES[seen.state]):
        if decision := rule(seen):
            return decision
    return seen.wait(reasons.NOTHING_DUE, "", settings.reconcile_interval)


# --- of every state ---


def _finalizer_missing(seen: Situation) -> Decision | None:
    if seen.state is _State.RESOURCE_RELEASED or APPLICATION_FINALIZER in seen.application.finalizers:
        return None
    message = "The finalizer is added before anything is created."
    return seen.wait(reasons.FINALIZER_MISSING, message, AT_ONCE, AddFinalizer())


def _not_held_by_us(seen: Situation) -> Decision | None:
    if APPLICATION_FINALIZER in seen.application.finalizers:
        return None
    return seen.wait(reasons.APPLICATION_DELETED, "The application is deleted; nothing is left to do.", None)


def _released_before_deletion(seen: Situation) -> Decision | None:
    if seen.state is not _State.RESOURCE_RELEASED:
        return None
    message = "Nothing of the application is left; its resource can go."
    return seen.wait(reasons.APPLICATION_DELETED, message, None, RemoveFinalizer())


def _deleted(seen: Situation) -> Decision:
    message = "The application was deleted; its resources are released."
    return release(seen) or seen.move(
        _State.RESOURCE_RELEASED, reasons.APPLICATION_DELETED, message, actions=leftovers(seen)
    )


# --- initializing: Submitted, ScheduledToRestart ---


def _held(seen: Situation) -> Decision | None:
    if not seen.spec.suspend:
        return None
    message = "The application is suspended; set spec.suspend to false to start it."
    return release(seen) or seen.wait(reasons.SUSPENDED, message, None)


def _unsupported(seen: Situation) -> Decision | None:
    if seen.spec.deployment_mode is DeploymentMode.CLIENT_MODE:
        message = "spec.deploymentMode: ClientMode cannot be run by an operator: use ClusterMode."
    elif field := next(missing_in_routes(seen.spec), None):
        message = f"{field}: is required: a route without it leads nowhere."
    else:
        return None
    return seen.move(_State.FAILED, reasons.SPEC_UNSUPPORTED, message)


def _backoff(seen: Situation) -> Decision | None:
    backoff = policy.backoff(seen.tolerations.restart_config, seen.status)
    left = seen.remaining(backoff)
    # Of a clock that was set back by more than that nobody knows how long it has been; waiting until it has caught
    # up may take hours.
    if left <= AT_ONCE or seen.since - seen.now > backoff:
        return None
    return seen.wait(reasons.RESTART_BACKOFF, "The next attempt waits for the end of its backoff.", left)


def _create(seen: Situation) -> Decision:
    outcome = seen.observed.create_outcome
    if outcome is None:
        message = f"Attempt {seen.attempt_id} is due."
        return seen.wait(reasons.ATTEMPT_DUE, message, AT_ONCE, CreateAttempt(seen.attempt_id))
    if isinstance(outcome, Refused):
        return seen.move(_State.SCHEDULING_FAILURE, outcome.reason, outcome.detail)
    return seen.move(_State.DRIVER_REQUESTED, reasons.DRIVER_REQUESTED, "The driver has been requested.")


# --- with a driver: from DriverRequested to the running states ---


def _suspended(seen: Situation) -> Decision | None:
    """Stop the driver of a suspended application, and go on to the next attempt.

    That this is why the driver ends is written down before it is told to: else the end of a driver
    whose suspension is lifted meanwhile would be taken for a failure.
    """
    driver = seen.observed.driver
    marked = seen.status.current_state.reason == reasons.SUSPENDED
    if not (seen.spec.suspend or marked) or (isinstance(driver, Present) and _ended_by_itself(seen, driver)):
        return None
    if not marked:
        return _remarked(seen, reasons.SUSPENDED, "The application is suspended; its driver is being stopped.")
    if not seen.spec.suspend and isinstance(driver, Present) and pods.deletion_began(driver.pod) is None:
        return _remarked(seen, reasons.RESUMED, "The suspension was lifted before the driver was stopped.")
    return release(seen) or _next_attempt_after_suspension(seen)


def _remarked(seen: Situation, reason: str, message: str) -> Decision:
    return Decision(reason, message, (), remark(seen.status, reason, message), AT_ONCE)


def _next_attempt_after_suspension(seen: Situation) -> Decision:
    info = seen.status.current_attempt_summary.attempt_info
    message = "The application was suspended; another attempt follows when spec.suspend is false."
    following = info.model_copy(update={"id": policy.one_more(info.id)})
    return _attempted_again(seen, following, reasons.SUSPENDED, message)


def _attempted_again(
    seen: Situation, following: AttemptInfo, reason: str, message: str, actions: tuple[Action, ...] = ()
) -> Decision:
    trim = seen.settings.trim_state_transition_history
    status = move_to_next_attempt(seen.status, following, seen.now, message, trim=trim, reason=reason)
    return Decision(reason, message, actions, status, AT_ONCE)


def _ended_by_itself(seen: Situation, driver: Present) -> bool:
    # What ends after its deletion was asked for ends because of that, and with any exit code.
    began = pods.deletion_began(driver.pod)
    ended = observation.find_driver_end(driver.pod, _main_container(seen)) is not None
    return ended and (began is None or pods.ended_before(driver.pod, began))


def _missing(seen: Situation) -> Decision | None:
    if isinstance(seen.observed.driver, Present):
        return None
    if isinstance(seen.observed.driver, Unconfirmed):
        # Only a driver that was never seen can be missing because the cache lags behind its creation.
        left = seen.remaining(seen.settings.missing_driver_grace_period)
        if seen.state is not _State.DRIVER_REQUESTED or left <= AT_ONCE:
            return confirm_absence(seen)
        message = "The driver pod has been requested but not seen yet."
        after = min(left, seen.settings.missing_driver_requeue_interval)
        return seen.wait(reasons.DRIVER_UNCONFIRMED, message, after)
    message = "The driver pod is gone, and nobody saw it end: it was deleted, or its node was."
    return seen.move(_State.FAILED, reasons.DRIVER_LOST, message)


def _ended(seen: Situation) -> Decision | None:
    end = observation.find_driver_end(_driver_pod(seen), _main_container(seen))
    if end is None:
        return None
    reason, message = end.reason, end.message
    if end.state is _State.FAILED and (what := interruption(_driver_pod(seen))):
        reason, message = reasons.DRIVER_INTERRUPTED, f"{what} {message}"
    return seen.move(end.state, reason, message, driver_status=end.driver_status)


def _never_ended(seen: Situation) -> Decision | None:
    return never_ended(seen, _driver_pod(seen))


def _started(seen: Situation) -> Decision | None:
    pod = _driver_pod(seen)
    if not observation.has_started(pod, _main_container(seen)):
        return None
    status = seen.status
    reason, message = reasons.DRIVER_STARTED, "The driver has started."
    if seen.state is _State.DRIVER_REQUESTED:
        status = move(status, _State.DRIVER_STARTED, seen.now, message, reason=reason)
    if pods.is_ready(pod):
        reason, message = reasons.DRIVER_READY, "The driver is ready."
        status = move(status, _State.DRIVER_READY, seen.now, message, reason=reason)
        # Nobody could do anything in that state: one write tells of both.
        if decision := _executors(replace(seen, status=status)):
            return decision
    return Decision(reason, message, (), status, AT_ONCE) if status is not seen.status else None


_EXECUTOR_WORDS: Final[Mapping[ApplicationState, tuple[str, str]]] = {
    _State.RUNNING_HEALTHY: (reasons.EXECUTORS_READY, "The application runs"),
    _State.RUNNING_WITH_PARTIAL_CAPACITY: (
        reasons.EXECUTORS_PARTIAL,
        "The application runs with fewer executors than it may have",
    ),
    _State.RUNNING_WITH_BELOW_THRESHOLD_EXECUTORS: (
        reasons.EXECUTORS_BELOW_THRESHOLD,
        "The application runs with fewer executors than it asks for",
    ),
    _State.INITIALIZED_BELOW_THRESHOLD_EXECUTORS: (
        reasons.EXECUTORS_BELOW_THRESHOLD,
        "The driver is ready, but too few executors are",
    ),
}


def _executors(seen: Situation) -> Decision | None:
    ready = sum(1 for executor in seen.observed.executors if pods.is_ready(executor))
    proposed = policy.executor_state(
        seen.tolerations.instance_config,
        seen.state,
        ready,
        dynamic_allocation=policy.dynamic_allocation(seen.spec.spark_conf),
    )
    if proposed is seen.state:
        return None
    reason, what = _EXECUTOR_WORDS[proposed]
    return seen.move(proposed, reason, f"{what} (executors ready: {ready}).")


_TIMEOUT_MESSAGES: Final[Mapping[ApplicationState, str]] = {
    _State.DRIVER_START_TIMED_OUT: "The driver did not start within {limit:g} s "
    "(spec.applicationTolerations.applicationTimeoutConfig.driverStartTimeoutMillis).",
    _State.DRIVER_READY_TIMED_OUT: "The driver was not ready within {limit:g} s of its start "
    "(spec.applicationTolerations.applicationTimeoutConfig.driverReadyTimeoutMillis).",
    _State.EXECUTORS_START_TIMED_OUT: "Too few executors were ready within {limit:g} s "
    "(spec.applicationTolerations.applicationTimeoutConfig.executorStartTimeoutMillis).",
}


def _timed_out(seen: Situation) -> Decision | None:
    limit = policy.timeout(seen.tolerations.application_timeout_config, seen.state)
    if limit is None:
        return None
    left = seen.remaining_beyond(limit)
    if left > AT_ONCE:
        return seen.wait(reasons.NOTHING_DUE, "", min(left, seen.settings.reconcile_interval))
    to = policy.TIMED_OUT[seen.state]
    message = _TIMEOUT_MESSAGES[to].format(limit=limit.total_seconds())
    if to is _State.EXECUTORS_START_TIMED_OUT and (cause := executors.hindrance(seen.observed.executors)):
        message = f"{message.removesuffix('.')}: {cause}."
    # The words of these states are their reasons too.
    return seen.move(to, str(to), message, driver_status=pods.status_of(_driver_pod(seen)))


def _executors_held_up(seen: Situation) -> Decision | None:
    """End an application that asks for no number of executors, and has got none of those that Spark asked for.

    The oldest one's pod has to be older than the limit: Spark replaces executors, and the state is as old
    as the driver. One that merely waits for a node does not count: its turn may come.
    """
    limit = policy.executor_start_limit(seen.tolerations.application_timeout_config)
    held_up = executors.held_up(seen.observed.executors)
    if limit is None or not held_up or len(held_up) < len(seen.observed.executors):
        return None
    left = seen.remaining_beyond(limit, held_up[0].created)
    if left > AT_ONCE:
        return seen.wait(reasons.NOTHING_DUE, "", min(left, seen.settings.reconcile_interval))
    message = (
        f"No executor has started within {limit.total_seconds():g} s "
        "(spec.applicationTolerations.applicationTimeoutConfig.executorStartTimeoutMillis): "
        f"{held_up[0].sentence}."
    )
    status = pods.status_of(_driver_pod(seen))
    return seen.move(_State.EXECUTORS_START_TIMED_OUT, reasons.EXECUTORS_START_TIMED_OUT, message, driver_status=status)


# --- stopping ---


def _restarted(seen: Situation) -> Decision | None:
    if not policy.restart_wanted(seen.spec, seen.state):
        return None
    config = seen.tolerations.restart_config
    following = policy.next_attempt(config, seen.status)
    if policy.exceeded_limit(config, seen.state, following):
        return None
    if decision := release(seen):
        return decision
    message = f"Attempt {seen.attempt_id} ended in {seen.state}; attempt {following.id} follows."
    return _attempted_again(seen, following, reasons.RESTART_SCHEDULED, message, leftovers(seen))


def _retained(seen: Situation) -> Decision | None:
    if not policy.retained(seen.tolerations, seen.state):
        return None
    reason, message = _final_words(seen, reasons.RESOURCES_RETAINED, "The driver and what it owns are retained.")
    return seen.move(_State.TERMINATED_WITHOUT_RELEASE_RESOURCES, reason, message)


def _released(seen: Situation) -> Decision:
    if decision := release(seen):
        return decision
    reason, message = _final_words(seen, reasons.RESOURCES_RELEASED, "All resources are released.")
    return seen.move(_State.RESOURCE_RELEASED, reason, message, actions=leftovers(seen))


def _final_words(seen: Situation, reason: str, message: str) -> tuple[str, str]:
    """`reason` and `message`, or those that say why no restart follows although the policy asks for one."""
    if not policy.restart_wanted(seen.spec, seen.state):
        return reason, message
    config = seen.tolerations.restart_config
    exceeded = policy.exceeded_limit(config, seen.state, policy.next_attempt(config, seen.status))
    return reasons.RESTART_LIMIT_EXCEEDED, f"{exceeded} {message}"


# --- terminated ---


def _kept(seen: Situation) -> Decision:
    limit = policy.retention(seen.tolerations)
    if limit is None:
        return seen.wait(reasons.NOTHING_DUE, "", None)
    left = seen.remaining_beyond(limit)
    if left > AT_ONCE:
        return seen.wait(reasons.NOTHING_DUE, "", left)
    message = "The driver was kept for as long as it may be; all resources are released."
    return release(seen) or seen.move(
        _State.RESOURCE_RELEASED, reasons.RETENTION_OVER, message, actions=leftovers(seen)
    )


def _gone(seen: Situation) -> Decision:
    limit = policy.time_to_live(seen.tolerations)
    if limit is None:
        return seen.wait(reasons.NOTHING_DUE, "", None)
    stop = policy.last_stop(seen.status) or seen.status.current_state
    left = seen.remaining_beyond(limit, stop.last_transition_time)
    if left > AT_ONCE:
        return seen.wait(reasons.NOTHING_DUE, "", left)
    message = "The application ended longer ago than spec.applicationTolerations.ttlAfterStopMillis."
    return seen.wait(reasons.TIME_TO_LIVE_OVER, message, None, DeleteApplication())


def _driver_pod(seen: Situation) -> Mapping[str, object]:
    driver = seen.observed.driver
    return driver.pod if isinstance(driver, Present) else {}


def _main_container(seen: Situation) -> str | None:
    return observation.get_main_container(seen.spec.spark_conf)


_WITH_DRIVER: Final[tuple[Rule, ...]] = (_suspended, _missing, _ended, _never_ended)

RULES_OF_DELETION: Final[tuple[Rule, ...]] = (_not_held_by_us, _released_before_deletion, _deleted)
RULES: Final[Mapping[ApplicationState, tuple[Rule, ...]]] = {
    **dict.fromkeys(INITIALIZING, (_held, _unsupported, _backoff, _create)),
    _State.DRIVER_REQUESTED: (*_WITH_DRIVER, _started, _timed_out),
    _State.DRIVER_STARTED: (*_WITH_DRIVER, _started, _timed_out),
    _State.DRIVER_READY: (*_WITH_DRIVER, _executors, _timed_out),
    _State.INITIALIZED_BELOW_THRESHOLD_EXECUTORS: (*_WITH_DRIVER, _executors, _timed_out),
    **dict.fromkeys(RUNNING, (*_WITH_DRIVER, _executors)),
    # Without initExecutors this is the only running state that an application stays in.
    _State.RUNNING_HEALTHY: (*_WITH_DRIVER, _executors, _executors_held_up),
    **dict.fromkeys(STOPPING, (_restarted, _retained, _released)),
    _State.TERMINATED_WITHOUT_RELEASE_RESOURCES: (_kept,),
    _State.RESOURCE_RELEASED: (_gone,),
}
