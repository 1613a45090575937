"""Log what an application waits for before it runs, once per change."""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from airflow_provider_spark_operator.core.dialects.progress import Phase, Progress
from airflow_provider_spark_operator.core.last_lines import cleaned
from airflow_provider_spark_operator.core.obstacles import driver_waits_for, ignores_suspension, is_held_back
from airflow_provider_spark_operator.follow.evidence import warnings_about
from airflow_provider_spark_operator.follow.pods import driver_pod
from airflow_provider_spark_operator.follow.reference import ApplicationReference
from airflow_provider_spark_operator.kube.backoff import Backoff
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import KubeError

# An operator that runs writes a status within seconds.
_UNRECONCILED_SECONDS = 60.0
# A driver that starts at once needs no request.
_FIRST_PAUSE = 5.0
_LONGEST_PAUSE = 120.0
# Between two looks with one client: thousands in a queue must not keep the API server busy.
_PACE_SECONDS = 0.2

# A task whose time is over reports the obstacle known so far if the API server takes longer than this.
_LAST_LOOK_SECONDS = 2.0

_pace: WeakKeyDictionary[KubeClient, asyncio.Lock] = WeakKeyDictionary()


@dataclass
class Standing:
    """How far an application is, in words, for the message of a task whose time is over.

    Attributes:
        state: The state word; empty before it is known.
        obstacle: What the application waits for; None if that is not known.
    """

    state: str = ""
    obstacle: str | None = None

    def __str__(self) -> str:
        """The state and the obstacle in parentheses, after a blank; empty if nothing is known."""
        known = ": ".join(part for part in (self.state, self.obstacle) if part)
        return f" ({known})" if known else ""


class ObstacleWatch:
    """Looks at an application from time to time as long as it does not run.

    Args:
        client: The client for the cluster. What it may not read is left out.
        reference: The application.
        log: The task's log.
        standing: Where the latest obstacle is kept.
    """

    def __init__(
        self, client: KubeClient, reference: ApplicationReference, log: logging.Logger, standing: Standing
    ) -> None:
        self._client = client
        self._reference = reference
        self._log = log
        self._standing = standing
        self._told: set[str] = set()
        self._seen: Progress | None = None
        self._resource: Mapping[str, Any] = {}
        self._task: asyncio.Task[None] | None = None

    async def update(self, seen: Progress, resource: Mapping[str, Any]) -> None:
        """Take the present content of the application."""
        if self._seen is None or seen.state != self._seen.state or seen.attempt != self._seen.attempt:
            if seen.state != self._standing.state:
                self._standing.state, self._standing.obstacle = seen.state, None
            self._seen, self._resource = seen, resource
            await self.close()
            if seen.phase is Phase.WAITING or (seen.phase is Phase.RUNNING and is_held_back(resource)):
                self._task = asyncio.create_task(self._run())
        self._seen, self._resource = seen, resource
        self._check_suspension(settled=False)

    async def close(self) -> None:
        """Stop looking."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def look(self) -> None:
        """Find out what the driver waits for, and log it if it is new."""
        seen = self._seen
        if seen is None or not seen.driver_expected:
            return
        self._standing.obstacle = why = await self._why(seen)
        if why:
            self._warn(f"{self._reference} waits: {why}")

    async def look_once_more(self) -> None:
        """Find out what the driver waits for at once, for a task whose time is over."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_LAST_LOOK_SECONDS):
                await self.look()

    async def _run(self) -> None:
        loop, backoff = asyncio.get_running_loop(), Backoff(first=_FIRST_PAUSE, longest=_LONGEST_PAUSE)
        overdue = loop.time() + _UNRECONCILED_SECONDS
        while True:
            left = overdue - loop.time()
            pause = backoff.next()
            await asyncio.sleep(min(pause, left) if left > 0 else pause)
            if loop.time() >= overdue:
                self._check_operator()
                self._check_suspension(settled=True)
            async with _pace.setdefault(self._client, asyncio.Lock()):
                await asyncio.sleep(_PACE_SECONDS)
            await self.look()

    async def _why(self, seen: Progress) -> str | None:
        try:
            pod = await driver_pod(self._client, self._reference)
            if pod is not None and (why := driver_waits_for(pod, seen, ())):
                return cleaned(why)
            uid = pod["metadata"]["uid"] if pod is not None else self._reference.uid
            events = await warnings_about(self._client, self._reference, uid)
        except KubeError as error:
            self._log.debug("what %s waits for cannot be read: %s", self._reference, error)
            return None
        if pod is None:
            return events[-1] if events else None
        why = driver_waits_for(pod, seen, events)
        return cleaned(why) if why else None

    def _check_operator(self) -> None:
        if self._resource.get("status"):
            return
        if is_held_back(self._resource):
            self._standing.obstacle = "it is suspended; set spec.suspend to false to start it"
            self._warn(f"{self._reference} waits: {self._standing.obstacle}")
            return
        self._standing.obstacle = "no operator seems to reconcile it"
        self._warn(
            f"{self._reference} has had no status for {_UNRECONCILED_SECONDS:.0f} s: no operator seems to reconcile "
            f"it. Check that an operator for {self._reference.resource.api_version} runs, that it watches the "
            f"namespace {self._reference.namespace}, and that its log shows no error"
        )

    def _check_suspension(self, *, settled: bool) -> None:
        if self._seen is not None and ignores_suspension(self._seen, self._resource, settled=settled):
            self._warn(
                f"{self._reference} runs although spec.suspend is true: the operator of this cluster ignores the "
                "field. Delete the application to stop it"
            )

    def _warn(self, message: str) -> None:
        if message not in self._told:
            self._told.add(message)
            self._log.warning("%s", message)
