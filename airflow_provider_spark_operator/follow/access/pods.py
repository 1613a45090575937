"""Find the pods of an application by the labels that every Spark operator sets on them."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

from ...core.dialects.dialect import dialect_of
from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.names import EXECUTOR_CONTAINER, LABEL_ROLE, ROLE_DRIVER, ROLE_EXECUTOR
from ...core.kubernetes.pods import ContainerStatus, get_status, is_ready, list_containers
from ...core.lifecycle.driver_end import get_driver_container
from ...core.log.driver_log import clean_sentence
from ...kube.backoff import Backoff
from ...kube.client import KubeClient
from ...kube.errors import NotFound
from ...kube.resources import PODS
from .pod_lists import list_application_pods
from .reference import ApplicationReference, DeletionStuck
from .requests import wait_until_deleted

Observe: TypeAlias = Callable[[list[JsonObject]], Awaitable[None]]
"""Receives pods that were read."""


async def _ignore(pods: list[JsonObject]) -> None:
    """Receive pods for which there is no use."""


@dataclass(frozen=True)
class ExecutorCount:
    """The executor pods of an application.

    Attributes:
        ready: The number of pods that are ready.
        present: The number of pods that exist.
        wanted: The number of executors that the application requests. 0 if the number is not fixed.
    """

    ready: int
    present: int
    wanted: int = 0

    @property
    def is_complete(self) -> bool:
        """Whether all executors are ready."""
        # With dynamic allocation the final number is unknown: at least one executor and all existing ones must be
        # ready.
        return self.ready >= max(self.wanted, self.present, 1)

    def __str__(self) -> str:
        """Return `2 of 3 executors ready`."""
        total = max(self.wanted, self.present)
        return f"{self.ready} of {total} executors ready" if total else "no executors"


async def read_driver_pod(
    client: KubeClient, reference: ApplicationReference, name: str | None = None
) -> JsonObject | None:
    """Read the driver pod of the latest attempt. Return None if it does not exist.

    Args:
        client: The client of the cluster.
        reference: The application.
        name: The name of the pod. If None, it is not known.

    Raises:
        KubeError: The pods could not be read.
    """
    pods = await list_application_pods(client, reference, role=ROLE_DRIVER, pod=name)
    return _choose_latest(pod for pod in pods if _is_own_driver(pod, reference))


async def list_driver_pods(
    client: KubeClient, reference: ApplicationReference, name: str | None = None
) -> list[JsonObject]:
    """List the driver pods of all attempts.

    Args:
        client: The client of the cluster.
        reference: The application.
        name: The name of a driver pod to read if no driver pod with this name has the labels. Labels can be changed.

    Raises:
        KubeError: The pods could not be read.
    """
    pods = [*await list_application_pods(client, reference, role=ROLE_DRIVER)]
    if name is not None and all(pod["metadata"]["name"] != name for pod in pods):
        with suppress(NotFound):
            pods.append(await client.get(PODS, name, reference.namespace))
    return [pod for pod in pods if _is_own_driver(pod, reference)]


async def wait_until_gone(client: KubeClient, reference: ApplicationReference, seconds: float) -> None:
    """Wait until a deleted application and its driver pod no longer exist: the name of the pod may be needed again.

    Raises:
        DeletionStuck: One of them still exists after `seconds`.
        KubeError: The API rejected a request or could not be reached.
    """
    deadline, backoff = time.monotonic() + seconds, Backoff(first=0.2, longest=5.0)
    await wait_until_deleted(client, reference, seconds)
    while (pod := await read_driver_pod(client, reference)) is not None:
        if time.monotonic() >= deadline:
            metadata = pod["metadata"]
            raise DeletionStuck(reference, metadata.get("finalizers") or [], seconds, metadata["name"])
        await asyncio.sleep(backoff.next())


async def list_executor_pods(
    client: KubeClient, reference: ApplicationReference, observe: Observe = _ignore, *, is_background: bool = False
) -> list[JsonObject]:
    """List the executor pods of the application's driver.

    Args:
        client: The client of the cluster.
        reference: The application.
        observe: Receives all pods of the application.
        is_background: See `list_application_pods`.

    Raises:
        KubeError: The pods could not be listed.
    """
    pods = await list_application_pods(client, reference, is_background=is_background)
    await observe(pods)
    driver = _choose_latest(pod for pod in pods if _has_role(pod, ROLE_DRIVER) and _is_own_driver(pod, reference))
    if driver is None:
        return []
    return [pod for pod in pods if _has_role(pod, ROLE_EXECUTOR) and _is_owned_by(pod, driver["metadata"]["uid"])]


async def list_executors_of(
    client: KubeClient, reference: ApplicationReference, driver: Mapping[str, Any]
) -> list[JsonObject]:
    """List the executor pods of one driver, which may be the driver of an earlier attempt.

    Raises:
        KubeError: The pods could not be listed.
    """
    pods = await list_application_pods(client, reference, role=ROLE_EXECUTOR)
    return [pod for pod in pods if _is_owned_by(pod, driver["metadata"]["uid"])]


def count_executors(executors: Sequence[Mapping[str, Any]], wanted: int = 0) -> ExecutorCount:
    """Count executor pods.

    Args:
        executors: The pods.
        wanted: The number of executors that the application requests. 0 if the number is not fixed.
    """
    return ExecutorCount(sum(is_ready(pod) for pod in executors), len(executors), wanted)


def find_blocked_container(pod: Mapping[str, Any]) -> ContainerStatus | None:
    """Find the container that prevents the pod from starting, for example because its image cannot be pulled."""
    status = get_status(pod)
    for container in [*list_containers(status, "initContainerStatuses"), *list_containers(status)]:
        if container.is_blocked:
            return container
    return None


def describe_block(container: ContainerStatus) -> str:
    """Return the reason, the message and the image of a blocked container in one line."""
    description = clean_sentence(": ".join(part for part in (container.reason, container.message) if part))
    return description if container.image in description else f"{description} (image {container.image})"


def get_executor_container(pod: Mapping[str, Any]) -> str | None:
    """Return the name of the executor container: the name that Spark uses, else the name of the first container."""
    names = [str(container.get("name")) for container in pod.get("spec", {}).get("containers") or ()]
    return EXECUTOR_CONTAINER if EXECUTOR_CONTAINER in names else next(iter(names), None)


def has_ended(pod: Mapping[str, Any], container: str | None = None) -> bool:
    """Return whether a container has terminated, so that its log is complete.

    Args:
        pod: The pod.
        container: The name of the container. If None, the driver container.
    """
    name = container or get_driver_container(pod)
    ended = {each.name: each.exit_code is not None for each in list_containers(get_status(pod))}
    return ended.get(name or "", False) or get_status(pod).get("phase") in ("Succeeded", "Failed")


def _choose_latest(pods: Iterable[JsonObject]) -> JsonObject | None:
    return max(pods, key=lambda pod: str(pod["metadata"].get("creationTimestamp", "")), default=None)


def _has_role(pod: Mapping[str, Any], role: str) -> bool:
    return (pod["metadata"].get("labels") or {}).get(LABEL_ROLE) == role


def _is_own_driver(pod: Mapping[str, Any], reference: ApplicationReference) -> bool:
    may_be_unowned = not dialect_of(reference.resource.api_version).owned_driver
    return _is_owned_by(pod, reference.uid) or (may_be_unowned and not _owners_of(pod))


def _is_owned_by(pod: Mapping[str, Any], uid: str) -> bool:
    return any(owner.get("uid") == uid for owner in _owners_of(pod))


def _owners_of(pod: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return pod["metadata"].get("ownerReferences") or ()
