"""Read what a list needs in addition to the applications.

Executors are counted. Drivers show why they do not start, or the end that a status lacks. Warnings show which volumes
are missing, and Leases whether controllers run.
"""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from ...core.dialects.dialect import DIALECTS, dialect_of, read_progress
from ...core.dialects.progress import Phase
from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.names import LABEL_APPLICATION_SELECTOR, LABEL_ROLE, ROLE_DRIVER, ROLE_EXECUTOR
from ...core.kubernetes.pods import get_status, is_pending
from ...core.report.events import EXECUTOR_INFIX, find_pod_names
from ...core.report.observed_pods import reduce_pod
from ...core.report.summary import ApplicationSummary, summarize
from ...core.verdict.driver_facts import has_more_facts
from ...core.verdict.obstacles import name_driver_obstacle
from ...follow.access.events import MAX_EVENTS, POD_EVENTS, list_stops, list_warnings
from ...follow.narration.holds import find_lost_controller
from ...kube.client import KubeClient
from ...kube.errors import Forbidden
from ...kube.resources import EVENTS, PODS

_APPLICATION_LABELS: Final = frozenset(dialect.application_label for dialect in DIALECTS)
_LABELS: Final = (LABEL_ROLE, LABEL_APPLICATION_SELECTOR, *_APPLICATION_LABELS)
_METADATA: Final = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")


class PodCensus:
    """Reads the pods of a namespace, once for each role, when an application needs them.

    Args:
        client: The client of the cluster.
        namespace: The namespace. If None, all namespaces.
        for_timeline: Whether to keep what a timeline needs of the pods.

    Attributes:
        refusals: The missing permission, if pods cannot be listed.
        unread: Why pods, or the Events that `read_all` reads, could not be read: by `pods` and `events`.
    """

    def __init__(self, client: KubeClient, namespace: str | None, *, for_timeline: bool = False) -> None:
        self._client = client
        self._trim = _trim_for_timeline if for_timeline else _trim
        self._namespace = namespace
        self._pods: dict[str, list[JsonObject]] = {}
        self._pods_of: defaultdict[tuple[str, str, str], list[JsonObject]] = defaultdict(list)
        self._stops: list[JsonObject] | None = None
        self._warnings: list[JsonObject] | None = None
        self._has_executor_events = False
        self._events_of: defaultdict[tuple[str | None, str | None], list[JsonObject]] = defaultdict(list)
        self.refusals: tuple[Forbidden, ...] = ()
        self.unread: dict[str, str] = {}

    async def read(self, applications: Sequence[JsonObject]) -> None:
        """Read the pods and Events that these applications need.

        Raises:
            KubeError: The API could not be reached. A missing permission is no error.
        """
        await self._read_role(ROLE_EXECUTOR, is_needed=any(map(_can_have_executors, applications)))
        await self._read_role(ROLE_DRIVER, is_needed=any(map(_has_requested_driver, applications)))
        pending = [pod for pod in self._pods.get(ROLE_DRIVER, ()) if is_pending(get_status(pod))]
        if self._warnings is None and any(not name_driver_obstacle(pod) for pod in pending):
            uids = {pod["metadata"]["uid"] for pod in pending}
            found = await list_warnings(self._client, self._namespace)
            self._warnings = [event for event in found if event["involvedObject"].get("uid") in uids]
        await self.read_drivers(applications)

    async def read_all(self) -> None:
        """Read the pods of all applications, and the Events about executors that no longer exist.

        Raises:
            KubeError: The API could not be reached. A missing permission is no error.
        """
        for role in (ROLE_DRIVER, ROLE_EXECUTOR):
            await self._read_role(role, is_needed=True)
        if self._has_executor_events:
            return
        self._has_executor_events = True
        try:
            answer = await self._client.list(EVENTS, self._namespace, field_selector=POD_EVENTS, most=MAX_EVENTS)
        except Forbidden as error:
            self.unread["events"] = str(error)
            return
        for event in answer.items:
            prefix, infix, _ = str(event["involvedObject"].get("name")).rpartition(EXECUTOR_INFIX)
            self._events_of[event["metadata"].get("namespace"), prefix + infix].append(event)

    def get_executor_events(self, application: JsonObject) -> list[JsonObject]:
        """Return the Events that `read_all` has read about the executors of an application."""
        names = find_pod_names(application, read_progress(application), self.get_pods(application) or ())
        place = application["metadata"]["namespace"]
        return [event for prefix in {*names.prefixes} for event in self._events_of.get((place, prefix), ())]

    def get_pods(self, application: JsonObject) -> list[JsonObject] | None:
        """Return the pods of an application that were read. None if no pods were read."""
        metadata, label = application["metadata"], dialect_of(application["apiVersion"]).application_label
        return self._pods_of.get((metadata["namespace"], label, metadata["name"]), []) if self._pods else None

    def get_events(self, application: JsonObject) -> list[JsonObject]:
        """Return the Events that were read about the drivers of an application."""
        namespace, known = application["metadata"]["namespace"], self.get_pods(application) or ()
        names = {pod["metadata"]["name"] for pod in known} | {read_progress(application).driver_name}
        return [event for name in names for event in self._events_of.get((namespace, name), ())]

    def get_time(self) -> datetime:
        """Return the current time by the clock of the API server."""
        return self._client.get_time()

    def summarize(self, application: JsonObject, *, controller_lost: bool = False) -> ApplicationSummary:
        """Summarize an application with the pods and Events that were read."""
        pods, events = self.get_pods(application), self.get_events(application)
        return summarize(application, self.get_time(), pods, events, controller_lost=controller_lost)

    async def has_lost_controller(self, application: JsonObject) -> bool:
        """Return whether the controller that manages an application is known not to run."""
        return await find_lost_controller(self._client, application) is not None

    async def read_drivers(self, applications: Sequence[JsonObject]) -> None:
        """Read the drivers if only they show how one of these applications ended, and the Events about their end.

        Raises:
            KubeError: The API could not be reached. A missing permission is no error.
        """
        await self._read_role(ROLE_DRIVER, is_needed=any(map(_needs_driver, applications)))
        if self._stops is None and any(has_more_facts(read_progress(one)) for one in applications):
            self._stops = await list_stops(self._client, self._namespace)
        # Each application gets only its own pods and Events: a list can have thousands of applications.
        self._events_of = defaultdict(list)
        for event in (*(self._stops or ()), *(self._warnings or ())):
            self._events_of[event["metadata"].get("namespace"), event["involvedObject"].get("name")].append(event)

    def forget(self) -> None:
        """Read the pods again when they are needed next."""
        self._pods.clear()
        self._pods_of.clear()
        self._stops = self._warnings = None

    async def _read_role(self, role: str, *, is_needed: bool) -> None:
        if not is_needed or role in self._pods or self.refusals:
            return
        try:
            found = await self._client.list(
                PODS, self._namespace, label_selector=f"{LABEL_ROLE}={role}", trim=self._trim
            )
            self._pods[role] = found.items
            for pod in found.items:
                labels = pod["metadata"]["labels"]
                for label in _APPLICATION_LABELS & labels.keys():
                    self._pods_of[pod["metadata"]["namespace"], label, labels[label]].append(pod)
        except Forbidden as error:
            self.refusals = (error,)
            self.unread["pods"] = str(error)


def _can_have_executors(application: JsonObject) -> bool:
    return read_progress(application).phase in (Phase.RUNNING, Phase.STOPPING)


def _has_requested_driver(application: JsonObject) -> bool:
    seen = read_progress(application)
    return seen.phase is Phase.WAITING and seen.driver_expected


def _needs_driver(application: JsonObject) -> bool:
    seen = read_progress(application)
    return seen.has_unread_end or has_more_facts(seen)


def _trim_for_timeline(pod: JsonObject) -> None:
    kept = reduce_pod(pod, _APPLICATION_LABELS)
    pod.clear()
    pod.update(kept)


def _trim(pod: JsonObject) -> None:
    """Keep what is needed: a namespace may have thousands of executors."""
    metadata, status = pod["metadata"], pod.get("status") or {}
    kept = {key: metadata[key] for key in _METADATA if key in metadata}
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key in _LABELS}
    if labels.get(LABEL_ROLE) == ROLE_EXECUTOR:
        pod.clear()
        status = status if is_pending(status) else {"phase": status.get("phase")}
    pod.update({"metadata": {**kept, "labels": labels}, "status": status})
