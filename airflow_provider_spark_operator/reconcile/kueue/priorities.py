"""The priority of a Workload, read from the classes in the API."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from ...core.kueue.workload import (
    POD_PRIORITY_CLASS,
    WORKLOAD_PRIORITY_CLASS,
    Priority,
    PriorityClassName,
    find_default_priority,
    read_priority,
)
from ...kube.client import KubeClient
from ...kube.errors import Forbidden
from ...kube.resources import PRIORITY_CLASSES, WORKLOAD_PRIORITY_CLASSES

logger = logging.getLogger(__name__)

_TYPES: Final = {WORKLOAD_PRIORITY_CLASS: WORKLOAD_PRIORITY_CLASSES, POD_PRIORITY_CLASS: PRIORITY_CLASSES}
# Each waiting resource needs the default class in each reconcile, and the class hardly ever changes.
_VALIDITY: Final = timedelta(seconds=60)


@dataclass(frozen=True)
class _Default:
    """The default priority, and when it was read."""

    priority: Priority | None
    time: datetime


class Priorities:
    """The priority classes of the Kubernetes cluster.

    Args:
        client: The client of the API.
        now: The clock, in UTC.
    """

    def __init__(self, client: KubeClient, now: Callable[[], datetime]) -> None:
        self._client = client
        self._now = now
        self._default: _Default | None = None
        self._has_warned = False

    async def read(self, named: PriorityClassName | None) -> Priority | None:
        """Return the priority that a class sets.

        Args:
            named: The class; None for the PriorityClass with `globalDefault`, which is read once per minute.

        Returns:
            The priority; None for the default of Kueue. It applies if there is no default class, or if the API does
            not permit the controller to list the classes.

        Raises:
            KubeError: The API failed, or the named class does not exist.
        """
        if named is not None:
            return read_priority(await self._client.get(_TYPES[named.kind], named.name, None), named.kind)
        now = self._now()
        if self._default is None or not timedelta(0) <= now - self._default.time < _VALIDITY:
            self._default = _Default(await self._read_default(), now)
        return self._default.priority

    async def _read_default(self) -> Priority | None:
        try:
            classes = (await self._client.list(PRIORITY_CLASSES)).items
        except Forbidden as error:
            level = logging.DEBUG if self._has_warned else logging.WARNING
            self._has_warned = True
            logger.log(
                level, "could not read the default PriorityClass, so the priority of Workloads ignores it: %s", error
            )
            return None
        return find_default_priority(classes)
