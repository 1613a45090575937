"""The lifecycle of a SparkApplication: decide the next step from its spec, its status, its pods and the time.

Each state has an ordered list of rules. A rule is a function; the first rule that returns a decision decides. Rules
change nothing: the decision carries the actions for its caller to carry out.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final, TypeAlias

from ..driver.routes import find_missing_route_fields
from ..kubernetes import pods
from ..kubernetes.names import APPLICATION_FINALIZER
from ..models.application import DeploymentMode, SparkApplication
from ..spark.spark_conf import uses_dynamic_allocation
from ..states import reasons
from ..states.states import INITIALIZING, RUNNING, STOPPING, ApplicationState
from . import policy
from .decision import AT_ONCE, AddFinalizer, CreateAttempt, Decision, DeleteApplication, RemoveFinalizer, Settings
from .driver_end import find_driver_end, has_started
from .observation import Observed, Present, Refused, Unconfirmed
from .release import (
    confirm_absence,
    delete_unexpected_drivers,
    describe_namesake,
    list_leftovers,
    poll_unwatched_driver,
    release,
    release_all_pods,
    retain,
)
from .situation import Situation
from .suspension import (
    await_admission,
    hold,
    leave_queue,
    list_finishing_actions,
    release_quota,
    report_readiness,
    resume,
    stay_suspended,
    suspend,
    update_cause,
)
from .timeouts import fail_lost_driver, time_out, time_out_blocked_executors
from .transitions import create_status, move

_State = ApplicationState
Rule: TypeAlias = Callable[[Situation], Decision | None]


def decide(application: SparkApplication, observed: Observed, settings: Settings, now: datetime) -> Decision:
    """Decide what to do next with `application`; change nothing and never raise.

    Args:
        application: The resource as it was read, with the status on which the decision builds.
        observed: The driver of the current attempt, its executors, and the outcome of `CreateAttempt`.
        settings: The settings of the controller.
        now: The time, with an offset. It may be earlier than in the pass before.
    """
    status = application.status or create_status(application.creation_timestamp or now)
    situation = Situation(application, status, observed, settings, now)
    rules = DELETION_RULES if application.deletion_timestamp else (_add_finalizer, *RULES[situation.state])
    decisions = (rule(situation) for rule in rules)
    decision = next((each for each in decisions if each is not None), None)
    return poll_unwatched_driver(
        situation, decision or situation.wait(reasons.NOTHING_DUE, "", settings.reconcile_interval)
    )


# --- of every state ---


def _add_finalizer(situation: Situation) -> Decision | None:
    if situation.state is _State.RESOURCE_RELEASED or APPLICATION_FINALIZER in situation.application.finalizers:
        return None
    message = "The finalizer is added before anything is created."
    return situation.wait(reasons.FINALIZER_MISSING, message, AT_ONCE, AddFinalizer())


def _ignore_unowned(situation: Situation) -> Decision | None:
    if APPLICATION_FINALIZER in situation.application.finalizers:
        return None
    return situation.wait(reasons.APPLICATION_DELETED, "The application is deleted; nothing remains to be done.", None)


def _remove_finalizer(situation: Situation) -> Decision | None:
    if situation.state is not _State.RESOURCE_RELEASED:
        return None
    message = "All resources of the application are released; the finalizer is removed."
    return situation.wait(reasons.APPLICATION_DELETED, message, None, RemoveFinalizer())


def _release_deleted(situation: Situation) -> Decision:
    if decision := _release_all(situation):
        return decision
    message = "The application was deleted; its resources are released." + describe_namesake(situation)
    return situation.move(
        _State.RESOURCE_RELEASED, reasons.APPLICATION_DELETED, message, actions=list_leftovers(situation)
    )


# --- initializing: Submitted, ScheduledToRestart ---


def _reject_unsupported(situation: Situation) -> Decision | None:
    if situation.spec.deployment_mode is DeploymentMode.CLIENT_MODE:
        message = "spec.deploymentMode: ClientMode is not supported by operators: use ClusterMode."
    elif field := next(find_missing_route_fields(situation.spec), None):
        message = f"{field}: is required: without it, the HTTPRoute or GRPCRoute does not work."
    else:
        return None
    return situation.move(_State.FAILED, reasons.SPEC_UNSUPPORTED, message)


def _await_backoff(situation: Situation) -> Decision | None:
    backoff = policy.get_backoff(situation.tolerations.restart_config, situation.status)
    remaining = situation.measure_remaining(backoff)
    # If the clock was set back by more than the backoff, the time that has passed is unknown. Waiting until the clock
    # has caught up may take hours.
    if remaining <= AT_ONCE or situation.since - situation.now > backoff:
        return None
    return situation.wait(reasons.RESTART_BACKOFF, "The next attempt starts after its backoff.", remaining)


def _create(situation: Situation) -> Decision:
    outcome = situation.observed.create_outcome
    if outcome is None:
        message = f"Attempt {situation.attempt_id + 1} is due."
        return situation.wait(reasons.ATTEMPT_DUE, message, AT_ONCE, CreateAttempt(situation.attempt_id))
    if isinstance(outcome, Refused):
        return situation.move(_State.SCHEDULING_FAILURE, outcome.reason, outcome.detail)
    return situation.move(_State.DRIVER_REQUESTED, reasons.DRIVER_REQUESTED, "The driver has been requested.")


# --- with a driver: from DriverRequested to the running states ---


def _confirm_missing_driver(situation: Situation) -> Decision | None:
    if isinstance(situation.observed.driver, Present):
        return None
    if isinstance(situation.observed.driver, Unconfirmed):
        # Only a driver that was never seen can be missing because the cache lags behind its creation.
        remaining = situation.measure_remaining(situation.settings.missing_driver_grace_period)
        was_seen = situation.state is not _State.DRIVER_REQUESTED or situation.observed.last_driver is not None
        if was_seen or remaining <= AT_ONCE:
            return confirm_absence(situation)
        message = "The driver pod has been requested but not seen yet."
        after = min(remaining, situation.settings.missing_driver_requeue_interval)
        return situation.wait(reasons.DRIVER_UNCONFIRMED, message, after)
    return _judge_missing_driver(situation)


def _judge_missing_driver(situation: Situation) -> Decision:
    """Decide how a driver ended that no longer exists, by the last state of its pod that the watch has shown."""
    last = situation.observed.last_driver or {}
    if end := find_driver_end(last, situation.main_container):
        return situation.move(end.state, end.reason, end.message, driver_status=end.driver_status)
    message = "The driver pod no longer exists, and its result is unknown: the pod or its node was deleted."
    ended = pods.list_ended_containers(pods.get_status(last))
    if ended:
        exits = ", ".join(f"{container.name} with {pods.describe_exit(container)}" for container in ended)
        message += f" Before that, containers of the driver had ended: {exits}."
    return situation.move(
        _State.FAILED,
        reasons.DRIVER_LOST,
        message + describe_namesake(situation),
        driver_status=pods.get_status(last) if ended else None,
    )


def _record_end(situation: Situation) -> Decision | None:
    end = find_driver_end(situation.driver_pod, situation.main_container)
    return situation.move(end.state, end.reason, end.message, driver_status=end.driver_status) if end else None


def _record_start(situation: Situation) -> Decision | None:
    pod = situation.driver_pod
    if not has_started(pod, situation.main_container):
        return None
    status = situation.status
    reason, message = reasons.DRIVER_STARTED, "The driver has started."
    if situation.state is _State.DRIVER_REQUESTED:
        status = move(status, _State.DRIVER_STARTED, situation.now, message, reason=reason)
    if pods.is_ready(pod):
        reason, message = reasons.DRIVER_READY, "The driver is ready."
        status = move(status, _State.DRIVER_READY, situation.now, message, reason=reason)
        # Nothing can happen between the two states, so one write records both.
        if decision := _record_executors(replace(situation, status=status)):
            return decision
    return Decision(reason, message, (), status, AT_ONCE) if status is not situation.status else None


_EXECUTOR_WORDS: Final[Mapping[ApplicationState, tuple[str, str]]] = {
    _State.RUNNING_HEALTHY: (reasons.EXECUTORS_READY, "The application runs"),
    _State.RUNNING_WITH_PARTIAL_CAPACITY: (
        reasons.EXECUTORS_PARTIAL,
        "The application runs with fewer executors than its maximum",
    ),
    _State.RUNNING_WITH_BELOW_THRESHOLD_EXECUTORS: (
        reasons.EXECUTORS_BELOW_THRESHOLD,
        "The application runs with fewer executors than its minimum",
    ),
    _State.INITIALIZED_BELOW_THRESHOLD_EXECUTORS: (
        reasons.EXECUTORS_BELOW_THRESHOLD,
        "The driver is ready, but too few executors are ready",
    ),
}


def _record_executors(situation: Situation) -> Decision | None:
    ready = sum(1 for executor in situation.observed.executors if pods.is_ready(executor))
    proposed = policy.choose_executor_state(
        situation.tolerations.instance_config,
        situation.state,
        ready,
        dynamic_allocation=uses_dynamic_allocation(situation.spec.spark_conf),
    )
    if proposed is situation.state:
        return None
    reason, sentence = _EXECUTOR_WORDS[proposed]
    # Without initExecutors, the state does not depend on the number, which is usually 0 when the driver is ready.
    count = f" (executors ready: {ready})" if situation.tolerations.instance_config.init_executors > 0 else ""
    return situation.move(proposed, reason, f"{sentence}{count}.")


# --- stopping ---


def _release_all(situation: Situation) -> Decision | None:
    """Decide the next step to release the current attempt and its quota; None if both are released."""
    return release(situation) or release_quota(situation)


def _restart(situation: Situation) -> Decision | None:
    if not policy.wants_restart(situation.spec, situation.state) or _is_restart_withheld(situation):
        return None
    config = situation.tolerations.restart_config
    following = policy.count_next_attempt(config, situation.status)
    if policy.describe_exceeded_limit(config, situation.state, following):
        return None
    if decision := _release_all(situation):
        return decision
    # The ids in the status and in the names of the pods begin at 0; texts for people count from 1.
    message = (
        f"Attempt {situation.attempt_id + 1} ended in {situation.state}; attempt {following.id + 1} follows "
        f"(restart {following.restart_counter} of up to {config.max_restart_attempts})."
    )
    return situation.schedule_attempt(following, reasons.RESTART_SCHEDULED, message, list_leftovers(situation))


def _retain(situation: Situation) -> Decision | None:
    if not policy.retains_driver(situation.tolerations, situation.state):
        return None
    retained = "The driver and its resources are retained."
    if situation.state is _State.SCHEDULING_FAILURE and not situation.driver_pod:
        retained = "No driver was created. Other resources of the application are retained."
    reason, message = _choose_final_words(situation, reasons.RESOURCES_RETAINED, retained)
    actions = list_finishing_actions(situation, message)
    return situation.move(_State.TERMINATED_WITHOUT_RELEASE_RESOURCES, reason, message, actions=actions)


def _release(situation: Situation) -> Decision:
    if decision := _release_all(situation):
        return decision
    reason, message = _choose_final_words(situation, reasons.RESOURCES_RELEASED, "All resources are released.")
    return situation.move(_State.RESOURCE_RELEASED, reason, message, actions=list_leftovers(situation))


def _choose_final_words(situation: Situation, reason: str, message: str) -> tuple[str, str]:
    """Return `reason` and `message`, or those that explain why no restart follows although the policy asks for one."""
    message += describe_namesake(situation)
    if not policy.wants_restart(situation.spec, situation.state):
        return reason, message
    if _is_restart_withheld(situation):
        return reasons.RESTART_WITHHELD, f"No restart follows, because the result of the driver is unknown. {message}"
    config = situation.tolerations.restart_config
    exceeded = policy.describe_exceeded_limit(
        config, situation.state, policy.count_next_attempt(config, situation.status)
    )
    return reasons.RESTART_LIMIT_EXCEEDED, f"{exceeded} {message}"


def _is_restart_withheld(situation: Situation) -> bool:
    """Whether no restart may follow because the driver, whose result is unknown, may have completed its work.

    A pod with the name of the driver may be the driver, without its owner and labels. Then it may still run.
    """
    stop = situation.status.current_state
    if stop.reason != reasons.DRIVER_LOST:
        return False
    ended = pods.list_ended_containers(stop.last_observed_driver_status or {})
    return bool(ended) or not situation.settings.restart_lost_drivers or bool(describe_namesake(situation))


# --- terminated ---


def _end_retention(situation: Situation) -> Decision:
    limit = policy.get_retention(situation.tolerations)
    remaining = None if limit is None else situation.measure_remaining_beyond(limit)
    if remaining is None or remaining > AT_ONCE:
        return retain(situation, remaining)
    if decision := _release_all(situation):
        return decision
    message = "The retention period of the driver has expired; all resources are released."
    message += describe_namesake(situation)
    return situation.move(_State.RESOURCE_RELEASED, reasons.RETENTION_OVER, message, actions=list_leftovers(situation))


def _delete_expired(situation: Situation) -> Decision:
    limit = policy.get_time_to_live(situation.tolerations)
    if limit is None:
        return situation.wait(reasons.NOTHING_DUE, "", None)
    stop = policy.find_last_stop(situation.status) or situation.status.current_state
    remaining = situation.measure_remaining_beyond(limit, stop.last_transition_time)
    if remaining > AT_ONCE:
        return situation.wait(reasons.NOTHING_DUE, "", remaining)
    message = "The time to live of the application has expired (spec.applicationTolerations.ttlAfterStopMillis)."
    return situation.wait(reasons.TIME_TO_LIVE_OVER, message, None, DeleteApplication())


def _report_readiness_before(timeout: Rule) -> Rule:
    """Return a rule that tells Kueue that all pods are ready until `timeout` expires.

    If the API rejects the report, it is repeated in each pass. It must not delay the timeout.
    """

    def decide_both(situation: Situation) -> Decision | None:
        decision = timeout(situation)
        if decision is not None and decision.status is not None:
            return decision
        report = report_readiness(situation)
        if report is None or decision is None:
            return report or decision
        return replace(report, requeue_after=decision.requeue_after)

    return decide_both


# The order of these rules decides what an application becomes if several things are true at the same time:
#
# - Suspension comes first. It deletes the driver, and Kueue's eviction deletes pods too: the rules that judge a driver
#   would count such an end as a failure. `suspend` itself leaves a driver alone that has really ended.
# - A missing driver is confirmed next, because all rules after it read the driver pod.
# - The end of the driver counts before its loss: a pod that is being deleted, or whose node is lost, may have ended.
# - Drivers of earlier attempts cannot change the result of this attempt, so they wait until it is judged.
#
# Each state adds what it records. Timeouts are last: progress that the pods already show ends the wait.
_WITH_DRIVER: Final[tuple[Rule, ...]] = (
    suspend,
    _confirm_missing_driver,
    _record_end,
    fail_lost_driver,
    delete_unexpected_drivers,
)

# The finalizer is removed only in ResourceReleased: until then, `_release_deleted` always decides.
DELETION_RULES: Final[tuple[Rule, ...]] = (_ignore_unowned, _remove_finalizer, _release_deleted)
_AWAIT_EXECUTORS: Final = (*_WITH_DRIVER, _record_executors, _report_readiness_before(time_out))
RULES: Final[Mapping[ApplicationState, tuple[Rule, ...]]] = {
    # An invalid spec fails without waiting for anything. A driver of an earlier attempt would run next to the new one,
    # so it is deleted before all waiting. `hold` returns quota, so that it precedes the backoff; the backoff precedes
    # the admission, so that an application that does not start yet uses no quota.
    **dict.fromkeys(
        INITIALIZING,
        (
            _reject_unsupported,
            delete_unexpected_drivers,
            hold,
            _await_backoff,
            await_admission,
            _create,
        ),
    ),
    _State.DRIVER_REQUESTED: (*_WITH_DRIVER, _record_start, time_out),
    _State.DRIVER_STARTED: (*_WITH_DRIVER, _record_start, time_out),
    _State.DRIVER_READY: _AWAIT_EXECUTORS,
    _State.INITIALIZED_BELOW_THRESHOLD_EXECUTORS: _AWAIT_EXECUTORS,
    **dict.fromkeys(RUNNING, (*_WITH_DRIVER, _record_executors, report_readiness)),
    # Without initExecutors this is the only running state in which an application stays.
    _State.RUNNING_HEALTHY: (
        *_WITH_DRIVER,
        _record_executors,
        _report_readiness_before(time_out_blocked_executors),
    ),
    # A restart releases the attempt although the policy would retain it. `_release` always decides.
    **dict.fromkeys(STOPPING, (_restart, _retain, _release)),
    _State.TERMINATED_WITHOUT_RELEASE_RESOURCES: (delete_unexpected_drivers, _end_retention),
    _State.RESOURCE_RELEASED: (delete_unexpected_drivers, _delete_expired),
    # The cause decides whether the Workload stays, and quota is returned only when no pod uses it. Both are done before
    # the application is resumed, which begins a new attempt.
    _State.SUSPENDED: (update_cause, release_all_pods, leave_queue, stay_suspended, resume),
}
