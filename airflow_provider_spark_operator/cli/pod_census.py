"""Read what a list needs in addition to the applications.

Executors are counted. Drivers show why they do not start, or the end that a status lacks. Warnings show which volumes
are missing, and Leases whether controllers run.
"""

from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Final

from airflow_provider_spark_operator.core.dialects.dialect import DIALECTS, read_progress
from airflow_provider_spark_operator.core.dialects.progress import Phase
from airflow_provider_spark_operator.core.driver_facts import has_more_facts
from airflow_provider_spark_operator.core.names import (
    LABEL_APPLICATION_SELECTOR,
    LABEL_ROLE,
    ROLE_DRIVER,
    ROLE_EXECUTOR,
)
from airflow_provider_spark_operator.core.obstacles import name_driver_obstacle
from airflow_provider_spark_operator.core.pods import get_status, is_pending
from airflow_provider_spark_operator.follow.controllers import find_lost_controller
from airflow_provider_spark_operator.follow.events import list_stops
from airflow_provider_spark_operator.follow.snapshot import MOST_EVENTS
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import Forbidden, KubeError
from airflow_provider_spark_operator.kube.resources import EVENTS, PODS
from airflow_provider_spark_operator.kube.transport import JsonObject

_LABELS: Final = (LABEL_ROLE, LABEL_APPLICATION_SELECTOR, *(dialect.application_label for dialect in DIALECTS))
_METADATA: Final = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")


class PodCensus:
    """Reads the pods of a namespace, once for each role, when an application needs them.

    Args:
        client: The client of the cluster.
        namespace: The namespace. If None, all namespaces.

    Attributes:
        refusals: The missing permission, if pods cannot be listed.
    """

    def __init__(self, client: KubeClient, namespace: str | None) -> None:
        self._client = client
        self._namespace = namespace
        self._pods: dict[str, list[JsonObject]] = {}
        self._stops: list[JsonObject] | None = None
        self._warnings: list[JsonObject] | None = None
        self.refusals: tuple[Forbidden, ...] = ()

    async def read(self, applications: Sequence[JsonObject]) -> list[JsonObject] | None:
        """Return the pods of a namespace as far as these applications need them. None if they are unknown.

        Raises:
            KubeError: The API could not be reached. A missing permission is no error.
        """
        await self._read_role(ROLE_EXECUTOR, is_needed=any(map(_can_have_executors, applications)))
        await self._read_role(ROLE_DRIVER, is_needed=any(map(_has_requested_driver, applications)))
        pending = [pod for pod in self._pods.get(ROLE_DRIVER, ()) if is_pending(get_status(pod))]
        if self._warnings is None and any(not name_driver_obstacle(pod) for pod in pending):
            self._warnings = await self._list_warnings({pod["metadata"]["uid"] for pod in pending})
        return await self.read_drivers(applications)

    async def _list_warnings(self, uids: Collection[str]) -> list[JsonObject]:
        """List the warnings about pods. Empty if the Events cannot be read."""
        selector = "involvedObject.kind=Pod,type=Warning"
        with suppress(KubeError):  # this permission is often missing, and Events are optional
            found = await self._client.list(EVENTS, self._namespace, field_selector=selector, most=MOST_EVENTS)
            return [event for event in found.items if event["involvedObject"].get("uid") in uids]
        return []

    def get_events(self, application: JsonObject) -> list[JsonObject]:
        """Return the Events that were read in the namespace of an application."""
        namespace = application["metadata"]["namespace"]
        events = (*(self._stops or ()), *(self._warnings or ()))
        return [event for event in events if event["metadata"].get("namespace") == namespace]

    async def has_lost_controller(self, application: JsonObject) -> bool:
        """Return whether the controller that manages an application is known not to run."""
        return await find_lost_controller(self._client, application) is not None

    async def read_drivers(self, applications: Sequence[JsonObject]) -> list[JsonObject] | None:
        """Return the pods that were read, and the drivers if only they show how one of these applications ended.

        Raises:
            KubeError: The API could not be reached. A missing permission is no error.
        """
        await self._read_role(ROLE_DRIVER, is_needed=any(map(_needs_driver, applications)))
        if self._stops is None and any(has_more_facts(read_progress(one)) for one in applications):
            self._stops = await list_stops(self._client, self._namespace)
        if not self._pods:
            return None
        return [pod for pods in self._pods.values() for pod in pods]

    def forget(self) -> None:
        """Read the pods again when they are needed next."""
        self._pods.clear()
        self._stops = self._warnings = None

    async def _read_role(self, role: str, *, is_needed: bool) -> None:
        if not is_needed or role in self._pods or self.refusals:
            return
        try:
            found = await self._client.list(PODS, self._namespace, label_selector=f"{LABEL_ROLE}={role}", trim=_trim)
            self._pods[role] = found.items
        except Forbidden as error:
            self.refusals = (error,)


def _can_have_executors(application: JsonObject) -> bool:
    return read_progress(application).phase in (Phase.RUNNING, Phase.STOPPING)


def _has_requested_driver(application: JsonObject) -> bool:
    seen = read_progress(application)
    return seen.phase is Phase.WAITING and seen.driver_expected


def _needs_driver(application: JsonObject) -> bool:
    seen = read_progress(application)
    return seen.has_unread_end or has_more_facts(seen)


def _trim(pod: JsonObject) -> None:
    """Keep what is needed: a namespace may have thousands of executors."""
    metadata, status = pod["metadata"], pod.get("status") or {}
    kept = {key: metadata[key] for key in _METADATA if key in metadata}
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key in _LABELS}
    if labels.get(LABEL_ROLE) == ROLE_EXECUTOR:
        pod.clear()
        status = status if is_pending(status) else {"phase": status.get("phase")}
    pod.update({"metadata": {**kept, "labels": labels}, "status": status})
