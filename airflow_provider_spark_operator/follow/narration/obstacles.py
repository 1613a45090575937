"""Show what an application waits for before it runs, once per change."""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from typing import Any
from weakref import WeakKeyDictionary

from ...core.dialects.dialect import dialect_of, read_progress
from ...core.dialects.progress import Phase, Progress
from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.names import ROLE_DRIVER
from ...core.kubernetes.ownership import find_owner
from ...core.lifecycle.executor_obstacles import describe_executor_obstacle
from ...core.log.driver_log import clean_sentence
from ...core.verdict import obstacles
from ...core.verdict.driver_reports import describe_refusal
from ...core.verdict.holds import CLEAR_SUSPEND, find_held_application, find_ignored_queue, get_queue
from ...kube.backoff import Backoff
from ...kube.client import KubeClient
from ...kube.errors import Forbidden, KubeError
from ...kube.resources import NAMESPACES
from ..access import side_task
from ..access.pods import find_blocked_container, list_executors_of, read_driver_pod
from ..access.reference import ApplicationReference
from ..ending.evidence import read_log_end, read_warnings
from ..recording.recorder import RunRecorder
from .holds import find_lost_controller, list_own_events, read_hold
from .sink import Sink, warn_about

logger = logging.getLogger(__name__)

# How often the log of a task repeats that its application is held.
_REMINDER_SECONDS = 1800.0

_pace: WeakKeyDictionary[KubeClient, asyncio.Lock] = WeakKeyDictionary()


@dataclass(frozen=True)
class Pauses:
    """The pauses and time limits of the requests for the pods of an application, in seconds.

    Attributes:
        driver: The first and the longest pause before the driver runs.
        executors: The first and the longest pause while the driver runs.
        keeps_counting: Whether executors are counted even after all of them were ready.
        request: The time between two requests of one client for applications that wait. It limits the load of thousands
            of queued applications on the API server.
        suspension: The time that an operator has to stop the driver of an application that is suspended while it runs.
        last_check: If the API server takes longer, a task that has timed out reports the last known obstacle.
    """

    driver: tuple[float, float]
    executors: tuple[float, float]
    keeps_counting: bool = False
    request: float = 0.2
    suspension: float = 60.0
    last_check: float = 2.0


# A driver that starts at once needs no request.
BACKGROUND = Pauses(driver=(5.0, 120.0), executors=(1.0, 60.0))
"""The pauses for a process that waits for thousands of applications."""
ATTENDED = Pauses(driver=(0.1, 1.0), executors=(0.1, 1.0), keeps_counting=True)
"""The pauses for a process that waits for few applications while a user watches."""


@dataclass
class WaitState:
    """The state of an application and what it waits for, for the message of a task that has timed out.

    Attributes:
        state: The state. Empty until it is known.
        obstacle: What the application waits for. None if it is not known.
        lost_controller: A clause that says that the controller does not run. None if it runs, or if this is unknown.
    """

    state: str = ""
    obstacle: str | None = None
    lost_controller: str | None = None

    @property
    def cause(self) -> str | None:
        """The reason why the application waits. None if it is not known."""
        return self.lost_controller or self.obstacle

    def __str__(self) -> str:
        """Return state and obstacle in parentheses after a space, or an empty string if nothing is known."""
        known = ": ".join(part for part in (self.state, self.cause) if part)
        return f" ({known})" if known else ""


async def describe_wait(
    client: KubeClient, reference: ApplicationReference, resource: Mapping[str, Any], resume: str = CLEAR_SUSPEND
) -> str | None:
    """Describe in one line what keeps an application from running now; None if nothing is known to.

    Args:
        client: The client of the cluster. Objects that it may not read are omitted.
        reference: The application.
        resource: Its content.
        resume: How the user starts it if it is suspended.

    Raises:
        KubeError: The API could not be reached.
    """
    now, seen = client.get_time(), read_progress(resource)
    lost = await find_lost_controller(client, resource)
    if resource["metadata"].get("deletionTimestamp") and await _is_namespace_ending(client, reference.namespace):
        return obstacles.describe_ending_namespace(reference.namespace, lost)
    if lost:
        return lost.describe(now)
    if hold := await read_hold(client, reference, find_held_application(seen, resource), resume):
        return hold.describe(now)
    if seen.phase not in (Phase.WAITING, Phase.RUNNING):
        return None
    driver: JsonObject | None = None
    why = None
    with suppress(Forbidden):
        driver = await read_driver_pod(client, reference)
        if seen.phase is Phase.RUNNING:
            why = await _find_executor_wait(client, reference, seen, resource, driver)
        elif driver is not None or seen.driver_expected or not resource.get("status"):
            why = await _find_driver_wait(client, reference, seen, driver)
    if why is None and driver is None and (missing := obstacles.find_missing_status(resource, now)):
        why = missing.describe(now)
    return clean_sentence(why) if why else None


async def _is_namespace_ending(client: KubeClient, namespace: str) -> bool:
    with suppress(KubeError):  # the permission is often missing
        return bool((await client.get(NAMESPACES, namespace, None))["metadata"].get("deletionTimestamp"))
    return False


async def _find_executor_wait(
    client: KubeClient,
    reference: ApplicationReference,
    seen: Progress,
    resource: Mapping[str, Any],
    driver: JsonObject | None,
) -> str | None:
    """Describe what the executors wait for. If executors are missing, the driver's log can name the cause."""
    if driver is None:
        return None
    executors = await list_executors_of(client, reference, driver)
    wanted = dialect_of(resource.get("apiVersion")).count_wanted_executors(resource)
    why = describe_executor_obstacle(executors)
    if why is not None or len(executors) >= max(wanted, 1):
        return why
    log, *_ = await read_log_end(client, reference.namespace, driver)
    return describe_refusal(log.refusal, seen.settings) if log.refusal else None


async def _find_driver_wait(
    client: KubeClient, reference: ApplicationReference, seen: Progress, pod: Mapping[str, Any] | None
) -> str | None:
    """Describe what the driver waits for, from its pod, or from the latest warning; None if no obstacle is known."""
    if pod is not None and (why := obstacles.describe_driver_wait(pod, seen, ())):
        return clean_sentence(why)
    events = await read_warnings(client, reference, pod["metadata"]["uid"] if pod is not None else reference.uid)
    if pod is None:
        return events[-1] if events else None
    why = obstacles.describe_driver_wait(pod, seen, events)
    return clean_sentence(why) if why else None


class ObstacleWatch:
    """Reads the driver pod of an application at intervals until the application runs.

    Args:
        client: The client of the cluster. Objects that it may not read are omitted.
        reference: The application.
        sink: Where obstacles are shown.
        situation: Where the latest obstacle is recorded.
        pauses: The pauses and time limits of the requests.
        recorder: Keeps the record of the run. None if it is not recorded.
    """

    def __init__(
        self,
        client: KubeClient,
        reference: ApplicationReference,
        sink: Sink,
        situation: WaitState,
        pauses: Pauses,
        recorder: RunRecorder | None = None,
    ) -> None:
        self._client = client
        self._reference = reference
        self._sink = sink
        self._warn = warn_about(reference, sink)
        self._situation = situation
        self._pauses = pauses
        self._recorder = recorder
        self._shown: set[str] = set()
        self._hold: str | None = None
        self._last_reminder = -inf
        self._has_checked_queue = False
        self._blocked: set[str] = set()  # the uids of driver pods
        self._seen: Progress | None = None
        self._resource: Mapping[str, Any] = {}
        self._task: asyncio.Task[None] | None = None

    async def update(self, seen: Progress, resource: Mapping[str, Any]) -> None:
        """Update the content of the application. Start or stop reading the driver pod if the state changed.

        A request to suspend the application, or to resume it, also starts the time that its operator has for this.
        """
        if (
            self._seen is None
            or (seen.state, seen.attempt) != (self._seen.state, self._seen.attempt)
            or obstacles.wants_suspension(resource) != obstacles.wants_suspension(self._resource)
        ):
            if seen.state != self._situation.state:
                self._situation.state, self._situation.obstacle = seen.state, None
            self._seen, self._resource = seen, resource
            await self.close()
            is_claimed = find_owner(resource) is not None and seen.phase is not Phase.ENDED
            if (
                is_claimed
                or seen.phase is Phase.WAITING
                or (seen.phase is Phase.RUNNING and obstacles.wants_suspension(resource))
            ):
                self._task = side_task.start(self._run(), "the cause for which it waits", self._warn)
        self._seen, self._resource = seen, resource
        self._check_suspension(settled=False)

    async def close(self) -> None:
        """Stop reading."""
        await side_task.stop(self._task)
        self._task = None

    async def check(self) -> None:
        """Read what the application or its driver waits for, and show it if it is new."""
        seen = self._seen
        if seen is None or await self._check_controller():
            return
        if not seen.driver_expected:
            await self._check_hold(seen)
            await self._check_operator()
            return
        await self._check_queue()
        self._situation.obstacle = why = await self._find_obstacle(seen)
        if why:
            self._show(f"{self._reference} is waiting: {why}")

    async def check_at_once(self) -> None:
        """Read what the driver waits for without a pause, for a task that has timed out."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._pauses.last_check):
                await self.check()

    async def _run(self) -> None:
        first, longest = self._pauses.driver
        loop, backoff = asyncio.get_running_loop(), Backoff(first=first, longest=longest)
        settled = loop.time() + self._pauses.suspension
        while True:
            await asyncio.sleep(backoff.next())
            if self._seen is not None and self._seen.phase is Phase.WAITING:
                async with _pace.setdefault(self._client, asyncio.Lock()):
                    await asyncio.sleep(self._pauses.request)
            await self.check()
            if loop.time() >= settled and self._situation.lost_controller is None:
                self._check_suspension(settled=True)

    async def _check_controller(self) -> bool:
        """Show, once, that the controller that claimed the application does not run. Return whether it does not."""
        lost = await find_lost_controller(self._client, self._resource)
        was_lost, self._situation.lost_controller = self._situation.lost_controller, None
        if lost is None:
            return False
        self._situation.lost_controller = sentence = lost.describe(self._client.get_time())
        if was_lost is None:
            self._sink.show_obstacle(f"{self._reference}: {sentence}")
        return True

    async def _check_hold(self, seen: Progress) -> None:
        """Read what holds the application, and show it once per cause and as a reminder."""
        try:
            hold = await read_hold(self._client, self._reference, find_held_application(seen, self._resource))
        except KubeError as error:
            logger.debug("could not find out why %s is queued or suspended: %s", self._reference, error)
            return
        if hold is None:
            self._hold = None
            return
        self._situation.obstacle = sentence = hold.describe(self._client.get_time())
        if self._recorder is not None and hold.detail:
            self._recorder.note_hold(hold.detail)
        cause, time = hold.cause, asyncio.get_running_loop().time()
        if cause != self._hold or time >= self._last_reminder + _REMINDER_SECONDS:
            self._hold, self._last_reminder = cause, time
            self._sink.show_obstacle(f"{self._reference} is waiting: {sentence}")

    async def _check_queue(self) -> None:
        """Show, once, that the operator ignores the queue of the application."""
        if self._has_checked_queue or not get_queue(self._resource):
            return
        try:
            events = await list_own_events(self._client, self._reference)
        except KubeError as error:
            logger.debug("could not read the Events of %s: %s", self._reference, error)
            return
        self._has_checked_queue = True
        why = find_ignored_queue(self._resource, events or ())
        if why:
            self._show(f"{self._reference}: {clean_sentence(why)}")

    async def _find_obstacle(self, seen: Progress) -> str | None:
        try:
            pod = await read_driver_pod(self._client, self._reference)
            if pod is not None:
                self._show_blocked(pod)
                if self._recorder is not None:
                    await self._recorder.observe([pod], is_complete=False)
            return await _find_driver_wait(self._client, self._reference, seen, pod)
        except KubeError as error:
            logger.debug("could not find out what %s waits for: %s", self._reference, error)
            return None

    async def _check_operator(self) -> None:
        now = self._client.get_time()
        why = obstacles.find_missing_status(self._resource, now)
        if why is None or self._hold is not None:
            return
        with suppress(KubeError):
            if await read_driver_pod(self._client, self._reference) is not None:
                return  # only an operator creates it
        self._situation.obstacle = why.cause
        self._show(f"{self._reference}: {why.describe(now)}", cause=why.cause)

    def _check_suspension(self, *, settled: bool) -> None:
        if self._seen is not None and obstacles.ignores_suspension(self._seen, self._resource, settled=settled):
            self._show(
                f"{self._reference} runs although spec.suspend is true: the operator of this cluster ignores the "
                "field. Delete the application to stop it"
            )

    def _show_blocked(self, pod: Mapping[str, Any]) -> None:
        container, uid = find_blocked_container(pod), pod["metadata"]["uid"]
        if container is not None and uid not in self._blocked:
            self._blocked.add(uid)
            self._sink.show_blocked_pod(ROLE_DRIVER, pod["metadata"]["name"], container)

    def _show(self, sentence: str, cause: str = "") -> None:
        """Show a sentence once; only the first of the sentences with the same cause."""
        if (cause or sentence) not in self._shown:
            self._shown.add(cause or sentence)
            self._sink.show_obstacle(sentence)
