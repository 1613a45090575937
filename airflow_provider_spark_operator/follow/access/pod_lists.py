"""Lists of pods that many applications share: a triggerer follows thousands of them.

An API server reads all pods of a namespace for each list with labels. One list per application would therefore cost it
the square of their number.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from math import inf
from typing import TypeAlias
from weakref import WeakKeyDictionary

from ...core.dialects.dialect import dialect_of
from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.names import LABEL_ROLE
from ...kube.client import KubeClient
from ...kube.errors import Forbidden, NotFound
from ...kube.resources import PODS
from .reference import ApplicationReference

_MAX_NAMES = 50
"""The most names in one selector, which is part of the address of the request."""
_MAX_PODS = 500
"""About how many pods one list reads, as many as a page has."""
_MAX_LABEL = 63
"""The longest value of a label. A longer one is an error of the whole request."""
_PAUSE = 0.25
"""The shortest time from one list in the background to the next one, in seconds."""

_Key: TypeAlias = tuple[str, str, str | None, bool]
_lists: WeakKeyDictionary[KubeClient, dict[_Key, "PodLists"]] = WeakKeyDictionary()


async def list_application_pods(
    client: KubeClient,
    reference: ApplicationReference,
    *,
    role: str | None = None,
    pod: str | None = None,
    is_background: bool = False,
) -> list[JsonObject]:
    """List the driver and executor pods of an application, of all its attempts.

    Args:
        client: The client of the cluster.
        reference: The application.
        role: The role of the pods. If None, pods of all roles are listed.
        pod: The name of the only pod that is needed, if it is known. See `PodLists.read`.
        is_background: Whether no user waits for them, so that the lists of many applications can be joined.

    Raises:
        KubeError: The pods could not be listed.
    """
    label = dialect_of(reference.resource.api_version).application_label
    known, key = _lists.setdefault(client, {}), (reference.namespace, label, role, is_background)
    if key not in known:
        known[key] = PodLists(reference.namespace, label, _PAUSE if is_background else 0.0, role)
    return await known[key].read(client, reference.name, pod)


@dataclass
class _Question:
    """A name whose pods a caller waits for."""

    pod: str | None = None
    pods: list[JsonObject] | None = None
    error: Exception | None = None

    @property
    def is_open(self) -> bool:
        return self.pods is None and self.error is None


class PodLists:
    """Lists pods by the value of one label. One request answers all names that were asked for during the one before.

    A reference to the client would keep the client in memory after its last use.

    Args:
        namespace: The namespace of the pods.
        label: The label that has the name of the application.
        pause: The shortest time between two lists, in seconds.
        role: The role of the pods. If None, pods of all roles are listed.
    """

    def __init__(self, namespace: str, label: str, pause: float = 0.0, role: str | None = None) -> None:
        self._namespace = namespace
        self._label = label
        self._role = role
        self._reading = asyncio.Lock()
        self._questions: dict[str, _Question] = {}
        self._pods_each = 1.0
        self._pause = pause
        self._next = -inf

    async def read(self, client: KubeClient, name: str, pod: str | None = None) -> list[JsonObject]:
        """List the pods of an application. The request begins after this call.

        Args:
            client: The client of the cluster, the same for all calls.
            name: The name of the application.
            pod: The name of the only pod that is needed. If no other question waits, this pod is read, which needs less
                of the API server than a list. The pods are listed if the labels of this pod differ.

        Raises:
            KubeError: The pods could not be listed.
        """
        question = self._questions.setdefault(name, _Question(pod))
        if question.pod != pod:
            question.pod = None  # another caller needs all of them
        async with self._reading:
            if question.is_open:
                await asyncio.sleep(max(0.0, self._next - asyncio.get_running_loop().time()))
                await self._answer(client, {name: question})
        if question.error is not None:
            raise question.error
        return question.pods or []

    async def _answer(self, client: KubeClient, first: dict[str, _Question]) -> None:
        [name] = first
        self._questions.pop(name, None)
        self._next = asyncio.get_running_loop().time() + self._pause
        most = min(_MAX_NAMES, max(1, int(_MAX_PODS / self._pods_each))) if len(name) <= _MAX_LABEL else 1
        others = islice((other for other in self._questions if len(other) <= _MAX_LABEL), most - 1)
        asked = first | {other: self._questions.pop(other) for other in [*others]}
        try:
            pods = await self._request(client, [*asked], first[name].pod)
        except Exception as error:
            for question in asked.values():
                question.error = error
            return
        except BaseException:  # this caller was cancelled: the others ask again, still in one request
            self._questions = {other: asked[other] for other in asked if other != name} | self._questions
            raise
        self._pods_each = max(1.0, len(pods) / len(asked))
        for each, question in asked.items():
            is_alone = len(asked) == 1
            question.pods = [pod for pod in pods if is_alone or pod["metadata"]["labels"][self._label] == each]

    async def _request(self, client: KubeClient, names: Sequence[str], pod: str | None) -> list[JsonObject]:
        if pod is not None and len(names) == 1 and (found := await self._get(client, names[0], pod)) is not None:
            return [found]
        selector = f"{self._label}={names[0]}" if len(names) == 1 else f"{self._label} in ({','.join(names)})"
        selector += f",{LABEL_ROLE}={self._role}" if self._role else ""
        return (await client.list(PODS, self._namespace, label_selector=selector)).items

    async def _get(self, client: KubeClient, name: str, pod: str) -> JsonObject | None:
        with suppress(NotFound, Forbidden):
            found = await client.get(PODS, pod, self._namespace)
            labels = found["metadata"].get("labels") or {}
            if (labels.get(self._label), labels.get(LABEL_ROLE)) == (name, self._role):
                return found
        return None
