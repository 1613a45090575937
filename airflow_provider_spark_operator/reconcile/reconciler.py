"""One look at one application: observe, let the core decide, apply, write the status."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from airflow_provider_spark_operator.core.application import decide
from airflow_provider_spark_operator.core.decision import (
    Action,
    AddFinalizer,
    ConfirmAbsence,
    CreateAttempt,
    Decision,
    DeleteApplication,
    DeleteAttemptResources,
    DeleteDriver,
    RemoveFinalizer,
    Settings,
)
from airflow_provider_spark_operator.core.models.application import SparkApplication
from airflow_provider_spark_operator.core.models.status import ApplicationStatus
from airflow_provider_spark_operator.core.names import APPLICATION_FINALIZER, can_label
from airflow_provider_spark_operator.core.observation import (
    Absent,
    Observed,
    Present,
    find_driver,
    find_drivers,
    find_executors,
    get_attempt_id,
    get_main_container,
    has_fixed_child_names,
    list_owner_uids,
    observe,
)
from airflow_provider_spark_operator.core.problems import InvalidResource
from airflow_provider_spark_operator.core.states import FAILURE
from airflow_provider_spark_operator.core.unreadable import refusal
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import BadRequest, Conflict, Invalid, NotFound
from airflow_provider_spark_operator.kube.resources import PODS, SPARK_APPLICATIONS
from airflow_provider_spark_operator.reconcile.arbitration import Claims
from airflow_provider_spark_operator.reconcile.attempt import NotYet, clear_mounts, create_attempt, delete_attempt
from airflow_provider_spark_operator.reconcile.cache import JsonObject, ObjectKey, key_of
from airflow_provider_spark_operator.reconcile.events import (
    NORMAL,
    WARNING,
    EventRecorder,
    Happening,
    invalid,
    spec_warning,
)
from airflow_provider_spark_operator.reconcile.informer import Caches
from airflow_provider_spark_operator.reconcile.last_lines import with_last_lines
from airflow_provider_spark_operator.reconcile.metrics import Metrics
from airflow_provider_spark_operator.reconcile.observe import driver_selector
from airflow_provider_spark_operator.reconcile.reading import ApplicationReader
from airflow_provider_spark_operator.reconcile.resources import Resources
from airflow_provider_spark_operator.reconcile.status import status_patch

logger = logging.getLogger(__name__)

# Somebody who changes a resource all the time can make us start again; not for ever.
_MOST_READS = 5
# A decision asks at most for a live read and for the creation; more would be a loop.
_MOST_DECISIONS = 6

# A look that changed nothing and wants another at once would keep a worker busy for nothing.
_SHORTEST_PAUSE = timedelta(seconds=1)


class _Outdated(Exception):
    """The resource has changed since it was read."""


class _Unclaimed(Exception):
    """Nobody has looked yet whether another controller drives the resource."""


@dataclass(frozen=True)
class _Pass:
    """A look at one state of a resource.

    `fresh` says that the API has just shown this state to be the current one.
    """

    resource: JsonObject
    application: SparkApplication
    fresh: bool


class Reconciler:
    """Brings one application at a time a step on. No method may run twice at once for the same key.

    Nothing is remembered between two looks beside the caches, so that it can be killed at any point and
    another can go on.

    Args:
        client: the way to the API.
        caches: what the watches have shown; the answers to writes are added.
        settings: what decisions depend on; may be changed at any time, but for the operator's name.
        recorder: takes what is worth telling the user.
        metrics: counts what comes of it.
        now: the clock, UTC.
        claims: which applications are driven by this controller; None where there can be no other one.
    """

    def __init__(
        self,
        client: KubeClient,
        caches: Caches,
        settings: Settings,
        recorder: EventRecorder,
        metrics: Metrics,
        now: Callable[[], datetime],
        claims: Claims | None = None,
    ) -> None:
        self._client = client
        self._caches = caches
        self.settings = settings
        self._recorder = recorder
        self._metrics = metrics
        self._now = now
        self._reader = ApplicationReader()
        self._applications = Resources(client, SPARK_APPLICATIONS, caches.applications, APPLICATION_FINALIZER, claims)

    async def reconcile(self, key: ObjectKey) -> timedelta | None:
        """Look at the application `key`; return when to look again, None to wait for a change.

        Raises:
            NotYet: something has to end first.
            Rivalled: another controller drives it.
            KubeError: the API failed; nothing is lost, the look is to be repeated.
        """
        fresh = False
        for _ in range(_MOST_READS):
            resource = self._applications.get(key)
            if resource is None:
                return None
            try:
                return await self._look_at(resource, fresh)
            except _Outdated:
                fresh = True
            except (_Unclaimed, Conflict):
                await self._applications.claim(key)
                fresh = True
        raise NotYet(f"{key} is being changed faster than it can be looked at")

    async def _look_at(self, resource: JsonObject, fresh: bool) -> timedelta | None:
        is_claimed = self._applications.is_claimed(resource)
        if not is_claimed and self._applications.is_foreign(resource):
            raise _Unclaimed
        try:
            current = _Pass(resource, self._reader.read(resource), fresh)
        except InvalidResource as problems:
            if not is_claimed:
                raise _Unclaimed from None
            await self._set_aside(resource, problems)
            return None
        observed = self._observe(current)
        decision = self._decide(current, observed)
        if not is_claimed and _changes_something(current, decision):
            raise _Unclaimed
        if _wants_finalizer_only(decision):
            await self._applications.add_finalizer(current.resource)
            raise _Outdated
        return await self._act(current, observed, decision)

    def _observe(self, current: _Pass) -> Observed:
        key, pods = key_of(current.resource), self._caches.pods
        return observe(current.application, pods.belonging_to(key), pods.departed_from(key))

    def _decide(self, current: _Pass, observed: Observed) -> Decision:
        return decide(current.application, observed, self.settings, self._now())

    async def _act(self, current: _Pass, observed: Observed, decision: Decision) -> timedelta | None:
        for _ in range(_MOST_DECISIONS):
            known = observed
            for action in decision.actions:
                observed = await self._apply(action, current, observed)
            if observed is known:
                changed = await self._write_status(current, await self._with_last_lines(current, observed, decision))
                return _paced(decision.requeue_after, bool(changed or decision.actions))
            decision = self._decide(current, observed)
        raise NotYet(f"{key_of(current.resource)}: no decision came of looking ({decision.reason})")

    async def _with_last_lines(self, current: _Pass, observed: Observed, decision: Decision) -> Decision:
        if not isinstance(observed.driver, Present):
            return decision
        main = get_main_container(current.application.spec.spark_conf)
        return await with_last_lines(self._client, observed.driver.pod, main, current.application.status, decision)

    async def _apply(self, action: Action, current: _Pass, observed: Observed) -> Observed:
        """Do what was decided; return what is known then: the same object if nothing new has to be decided."""
        match action:
            case ConfirmAbsence():
                return await self._confirm_absence(current, observed)
            case CreateAttempt(attempt_id):
                return await self._create_attempt(attempt_id, current, observed)
            case DeleteDriver(attempt_id, force):
                await self._delete_driver(attempt_id, force, current)
            case DeleteAttemptResources(attempt_id):
                name = self.settings.operator_name
                await delete_attempt(self._client, current.application, attempt_id, name)
            case DeleteApplication():
                await self._delete_application(current)
            case AddFinalizer():
                await self._applications.add_finalizer(current.resource)
            case RemoveFinalizer():
                await clear_mounts(self._client, current.application, self.settings.operator_name)
                await self._applications.remove_finalizer(current.resource)
        return observed

    async def _confirm_absence(self, current: _Pass, observed: Observed) -> Observed:
        driver = await self._find_driver(current.application, get_attempt_id(current.application))
        if driver is None:
            return replace(observed, driver=Absent())
        pods = self._caches.pods.belonging_to(key_of(current.resource))
        return replace(observed, driver=Present(driver), executors=find_executors(driver, pods))

    async def _find_driver(self, application: SparkApplication, attempt_id: int) -> JsonObject | None:
        return find_driver(application, attempt_id, await self._list_drivers(application))

    async def _list_drivers(self, application: SparkApplication) -> list[JsonObject]:
        drivers = await self._list_named(ObjectKey(application.namespace, application.name))
        for pod in drivers:
            self._caches.pods.put_answer(pod)
        return find_drivers(application, drivers)

    async def _list_named(self, key: ObjectKey) -> list[JsonObject]:
        """Read the driver pods that carry an application's name as a label."""
        if not can_label(key.name):
            return []  # there are none, and the API refuses the selector
        selector = driver_selector(self.settings.operator_name, key.name)
        return (await self._client.list(PODS, key.namespace, label_selector=selector)).items

    async def _create_attempt(self, attempt_id: int, current: _Pass, observed: Observed) -> Observed:
        # What is decided on an old state could create the driver of an attempt that has long ended.
        if not current.fresh:
            live = await self._applications.read_again(key_of(current.resource))
            if live is None or _state_of(live) != _state_of(current.resource):
                raise _Outdated
        drivers = [] if _is_untouched(current) else await self._list_drivers(current.application)
        creation = await create_attempt(
            self._client, current.application, attempt_id, self.settings.operator_name, drivers
        )
        if creation.driver is None:
            return replace(observed, create_outcome=creation.outcome)
        if warning := spec_warning(current.resource, self._now()):
            self._recorder.record(warning)
        self._caches.pods.put_answer(creation.driver)
        return replace(observed, create_outcome=creation.outcome, driver=Present(creation.driver))

    async def _delete_driver(self, attempt_id: int, force: bool, current: _Pass) -> None:
        key = key_of(current.resource)
        driver = find_driver(current.application, attempt_id, self._caches.pods.belonging_to(key))
        driver = driver or await self._find_driver(current.application, attempt_id)
        if driver is None or ("deletionTimestamp" in driver["metadata"] and not force):
            return
        try:
            await self._client.delete(
                PODS,
                driver["metadata"]["name"],
                key.namespace,
                # In the foreground the driver waits for its services and config maps, and all of them for one collector
                # of garbage, which takes 20 requests a second by default (kube-controller-manager's --kube-api-qps).
                propagation="Background" if force or not has_fixed_child_names(current.application) else "Foreground",
                grace_seconds=0 if force else None,
                uid=driver["metadata"]["uid"],
            )
        except (NotFound, Conflict):
            # It is gone, whatever the cache says; what bears its name by now is another pod.
            self._caches.pods.forget(key_of(driver))

    async def _delete_application(self, current: _Pass) -> None:
        metadata = current.resource["metadata"]
        try:
            await self._client.delete(
                SPARK_APPLICATIONS,
                metadata["name"],
                metadata["namespace"],
                propagation="Background",
                uid=metadata["uid"],
                resource_version=metadata["resourceVersion"],
            )
        except NotFound:
            self._caches.applications.forget(key_of(current.resource))

    async def _write_status(self, current: _Pass, decision: Decision) -> bool:
        """Write what changed of the status; whether anything did."""
        status = decision.status
        patch = None if status is None else status_patch(current.resource, status.to_document())
        if status is None or patch is None:
            return False
        await self._applications.patch(current.resource, patch, subresource="status")
        self._metrics.count_transition(current.application, status)
        self._tell(current, status, decision)
        return True

    def _tell(self, current: _Pass, status: ApplicationStatus, decision: Decision) -> None:
        before = current.application.status
        state = status.current_state
        if before is None or before.current_state != state:
            logger.info(
                "%s: %s", state.current_state_summary, decision.message or decision.reason, extra=_key(current.resource)
            )
            self._recorder.record(
                Happening(
                    current.resource,
                    WARNING if state.current_state_summary in FAILURE else NORMAL,
                    decision.reason,
                    decision.message or f"Application is {state.current_state_summary}",
                    f"{state.current_state_summary} {state.last_transition_time.isoformat()}",
                    self._now(),
                )
            )

    async def _set_aside(self, resource: JsonObject, problems: InvalidResource) -> None:
        """Tell what is wrong with a resource that cannot be read, end it, and let it go when it is deleted.

        Only a change of the resource leads to another look at it.

        Raises:
            KubeError: the API failed; the look is to be repeated.
        """
        happening = invalid(resource, problems, self._now())
        self._metrics.count_error(SPARK_APPLICATIONS.kind, happening.reason)
        logger.error("cannot be read: %s", happening.message, extra=_key(resource))
        if self._applications.holds(resource):
            await self._applications.remove_finalizer(resource)
            return
        self._recorder.record(happening)
        try:
            await self._refuse(resource, happening.message)
        except (BadRequest, Invalid) as error:
            # The definition does not take the resource any more, or its name was never one for a driver.
            logger.warning("nor can its status be written: %s", error, extra=_key(resource))

    async def _refuse(self, resource: JsonObject, sentence: str) -> None:
        """End an application that cannot be read and has no driver, so that nobody waits for it in vain."""
        status = refusal(resource, sentence, self._now())
        patch = None if status is None else status_patch(resource, status.to_document())
        if patch is None:
            return
        # A creation that broke off before it came into the status may have left a driver, which runs.
        uid = resource["metadata"]["uid"]
        drivers = await self._list_named(key_of(resource))
        if not any(uid in list_owner_uids(driver) for driver in drivers):
            await self._applications.patch(resource, patch, subresource="status")


def _is_untouched(current: _Pass) -> bool:
    """Whether nothing but the spec as it is now can have led to a driver: that one's name is taken, or free."""
    return current.application.status is None and current.resource["metadata"].get("generation") == 1


def _changes_something(current: _Pass, decision: Decision) -> bool:
    if decision.actions or decision.status is None:
        return bool(decision.actions)
    return status_patch(current.resource, decision.status.to_document()) is not None


def _wants_finalizer_only(decision: Decision) -> bool:
    return decision.actions == (AddFinalizer(),) and decision.status is None


def _paced(again: timedelta | None, changed: bool) -> timedelta | None:
    return again if changed or again is None else max(again, _SHORTEST_PAUSE)


def _state_of(resource: JsonObject) -> tuple[object, object]:
    return resource["metadata"].get("uid"), resource["metadata"].get("resourceVersion")


def _key(resource: JsonObject) -> dict[str, str]:
    return {"application": str(key_of(resource))}
