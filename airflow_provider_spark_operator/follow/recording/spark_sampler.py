"""Read what Spark did from the REST API of the driver's web interface, while the application runs."""

import asyncio
import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from ...core.compose.memory import parse_mebibytes
from ...core.dialects.dialect import dialect_of
from ...core.dialects.progress import Phase, Progress
from ...core.kubernetes.json_object import KubernetesObject
from ...core.kubernetes.names import ROLE_DRIVER, ROLE_EXECUTOR
from ...core.kubernetes.pods import get_text, list_objects
from ...core.log.driver_log import clean_sentence
from ...core.spark_metrics import ui_answers
from ...core.spark_metrics.metrics import (
    Skew,
    Source,
    SparkMetrics,
    Work,
    describe_metrics,
    describe_progress,
    find_settings,
)
from ...core.spark_metrics.sampling import FIRST_SECONDS, MAX_FAILURES, SAMPLE_SECONDS, find_line_pause
from ...kube.bounded_json import read_json, weigh
from ...kube.call import Call
from ...kube.client import KubeClient
from ...kube.errors import Forbidden, KubeError, Unauthorized
from ...kube.resources import PODS
from ...kube.transport import AnswerTooLarge, read_up_to
from ..access.pods import read_driver_pod
from ..access.reference import ApplicationReference

Show = Callable[[int, str], None]
"""Shows a sentence, with its `logging` level."""
Note = Callable[[SparkMetrics | None, str], None]
"""Receives the latest figures, and why they are not known or not complete."""

_LARGEST = 4 * 2**20  # of an answer, in bytes
_LONG_LIST = 500  # entries; a thread reads longer lists
_REQUEST_SECONDS = 10.0
_STAGES_PER_SAMPLE = 3
_CONCURRENT = 5  # applications of one cluster
_T = TypeVar("_T")
_UI_PORT = 4040
_UNAVAILABLE = 503
_ID = re.compile(r"[\w.-]{1,200}", re.ASCII)
_samples: WeakKeyDictionary[KubeClient, asyncio.Semaphore] = WeakKeyDictionary()


class UiProblem(Exception):
    """The web interface does not show the figures. The message is the cause, without control characters.

    Attributes:
        is_final: Whether another attempt cannot succeed.
    """

    def __init__(self, cause: str, *, is_final: bool = False) -> None:
        super().__init__(clean_sentence(cause))
        self.is_final = is_final


class SparkSampler:
    """Reads the figures of one application every 30 s while it runs. No method raises.

    Args:
        reference: The application.
        note: Receives the figures. If None, only the log shows them.
    """

    def __init__(self, reference: ApplicationReference, note: Note | None = None) -> None:
        self._reference = reference
        self._note = note or (lambda metrics, problem: None)  # noqa: ARG005 - the log has shown them
        self._attempt = -1
        self._task: asyncio.Task[None] | None = None
        self._latest: SparkMetrics | None = None

    def update(self, client: KubeClient, seen: Progress, resource: KubernetesObject, show: Show) -> None:
        """Note the content of the application: start with each attempt that runs, and stop with its end.

        Args:
            client: The client of the cluster.
            seen: The progress of `resource`.
            resource: The application.
            show: Shows the progress.
        """
        if seen.phase is Phase.RUNNING and seen.attempt != self._attempt:
            self._stop()
            if self._latest is not None:  # the figures of the previous attempt
                self._note(None, "")
            self._attempt, self._latest = seen.attempt, None
            interface = SparkInterface(client, self._reference, seen.application_id, resource)
            self._task = asyncio.create_task(self._sample_repeatedly(interface, show))
        elif seen.phase is not Phase.RUNNING and self._task is not None:
            self._stop()
            if self._latest is not None:
                show(logging.INFO, f"{self._reference}: {describe_metrics(self._latest)}")

    async def close(self) -> None:
        """Stop reading."""
        task = self._task
        self._stop()
        if task is not None:
            await asyncio.gather(task, return_exceptions=True)

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _sample_repeatedly(self, interface: "SparkInterface", show: Show) -> None:
        failures, lines, shown, due = 0, 0, "", 0.0
        await asyncio.sleep(FIRST_SECONDS)
        while True:
            try:
                self._latest = await interface.read(self._latest)
            except Exception as error:
                unexpected = UiProblem(f"unexpected {type(error).__name__}: {error}", is_final=True)
                problem = error if isinstance(error, UiProblem) else unexpected
                failures += 1
                is_last = problem.is_final or failures >= MAX_FAILURES
                if is_last or self._latest is None:  # a short application can end before another attempt
                    self._note(self._latest, str(problem))
                if is_last:
                    show(logging.WARNING, f"{self._reference}: could not read what Spark did: {problem}")
                    return
            else:
                failures = 0
                self._note(self._latest, "")
                progress, now = describe_progress(self._latest), asyncio.get_running_loop().time()
                if progress != shown and now >= due:
                    show(logging.INFO, f"{self._reference}: {progress}")
                    lines, shown, due = lines + 1, progress, now + find_line_pause(lines + 1) - 1
            await asyncio.sleep(SAMPLE_SECONDS)


class SparkInterface:
    """The REST API of the driver of one attempt.

    Args:
        client: The client of the cluster.
        reference: The application.
        application_id: Spark's id of the attempt. None if it is unknown.
        resource: The application.
    """

    def __init__(
        self,
        client: KubeClient,
        reference: ApplicationReference,
        application_id: str | None,
        resource: KubernetesObject,
    ) -> None:
        self._client = client
        self._reference = reference
        self._id = application_id
        dialect = dialect_of(resource.get("apiVersion"))
        self._properties = dialect.read_properties(resource)
        memory = dialect.read_memory(resource)
        sizes = {role: memory.get(f"spark.{role}.memory", "1g") for role in (ROLE_DRIVER, ROLE_EXECUTOR)}
        self._heaps = {role: size for role, text in sizes.items() if (size := parse_mebibytes(text))}
        self._settings = find_settings(self._properties)
        self._pod: str | None = None
        self._read: frozenset[tuple[int, int]] = frozenset()

    async def read(self, latest: SparkMetrics | None) -> SparkMetrics:
        """Return the figures as of now.

        Args:
            latest: The figures of the previous sample.

        Raises:
            UiProblem: They could not be read.
        """
        if str(self._properties.get("spark.ui.enabled", "")).lower() == "false":
            raise UiProblem("spark.ui.enabled is false. Enable it", is_final=True)
        async with _samples.setdefault(self._client, asyncio.Semaphore(_CONCURRENT)):
            try:
                return await self._sample(latest)
            except AnswerTooLarge as error:
                raise UiProblem(f"an answer of the Spark UI has more than {_LARGEST >> 20} MiB") from error
            except KubeError as error:
                problem = self._describe(error)
                # The API server may have rejected the credentials. Reading the pod again renews them then.
                self._pod = None if isinstance(error, Unauthorized) else self._pod
                raise problem from error
            except ValueError as error:  # also a page that says that Spark is starting up
                raise UiProblem(f"port {self._port} of pod {self._pod} does not answer with JSON") from error

    def _describe(self, error: KubeError) -> UiProblem:
        """Return the cause of a refused request. The program in the pod chooses its status and its message."""
        if error.status is None or self._pod is None or (isinstance(error, Forbidden) and error.advice):
            return UiProblem(str(error), is_final=isinstance(error, Forbidden))
        where = f"port {self._port} of pod {self._pod}"
        if error.status == _UNAVAILABLE:
            return UiProblem(f"{where} does not answer. Check spark.ui.enabled and spark.ui.port")
        return UiProblem(f"{where} answers with status {error.status}. Check spark.ui.port and spark.ui.filters")

    @property
    def _port(self) -> int:
        text = str(self._properties.get("spark.ui.port", _UI_PORT))
        return int(text) if text.isdecimal() and len(text) < 6 and 0 < int(text) < 2**16 else _UI_PORT

    async def _sample(self, latest: SparkMetrics | None) -> SparkMetrics:
        if self._pod is None:
            pod = await read_driver_pod(self._client, self._reference)
            if pod is None:
                raise UiProblem("the driver pod does not exist")
            self._pod = str(pod["metadata"]["name"])
        if self._id is None:
            found = list_objects(await self._get())
            self._id = get_text(found[0].get("id")) if found else None
        if self._id is None or not _ID.fullmatch(self._id):
            raise UiProblem("the Spark UI shows no application")
        stages, tasks = await _compute(ui_answers.read_jobs, await self._get("jobs"))
        now = self._client.get_time()
        work, peaks = await _compute(ui_answers.read_executors, await self._get("allexecutors"), now)
        if work.unknown_tasks:
            work = await self._add_running_tasks(work, now)
        if latest is not None and (latest.stages, latest.tasks) == (stages, tasks):
            return replace(latest, time=now, tasks=tasks, work=work, peaks=peaks)
        spilled, completed = await _compute(ui_answers.read_stages, await self._get("stages"))
        skew = await self._find_skew(completed, latest.skew if latest else None)
        return SparkMetrics(Source.UI, now, stages, tasks, work, spilled, skew, peaks, self._heaps, self._settings)

    async def _add_running_tasks(self, work: Work, now: datetime) -> Work:
        try:
            active = await self._get("stages", status="active", details="true", taskStatus="running")
        except AnswerTooLarge:  # more than about 1,500 tasks
            return work
        return await asyncio.to_thread(ui_answers.add_running_tasks, work, active, now)

    async def _find_skew(self, completed: list[ui_answers.StageEntry], worst: Skew | None) -> Skew | None:
        for stage in ui_answers.choose_stages(completed, self._read, worst, _STAGES_PER_SAMPLE):
            path = f"stages/{stage.stage}/{stage.attempt}/taskSummary"
            summary = await self._get(path, quantiles=ui_answers.QUANTILES)
            worst = ui_answers.find_worst(worst, ui_answers.read_skew(summary, stage))
            self._read |= {(stage.stage, stage.attempt)}
        return worst

    async def _get(self, path: str = "", **parameters: str) -> Any:
        address = f"{self._port}/api/v1/applications" + (f"/{self._id}/{path}" if path else "")
        place = (self._reference.namespace, self._pod or "", address)
        return await _read_pod_json(self._client, *place, parameters, largest=_LARGEST, seconds=_REQUEST_SECONDS)


async def _compute(read: Callable[..., _T], answer: object, *more: object) -> _T:
    """Return what an answer shows. A list of 100,000 entries takes more than a second, so a thread reads a long one."""
    if isinstance(answer, list) and len(answer) > _LONG_LIST:
        return await asyncio.to_thread(read, answer, *more)
    return read(answer, *more)


async def _read_pod_json(
    client: KubeClient,
    namespace: str,
    pod: str,
    address: str,
    parameters: Mapping[str, str],
    *,
    largest: int,
    seconds: float,
) -> Any:
    """Return a JSON value that a program in a pod serves over HTTP, through the API server. Nothing is repeated.

    Args:
        client: The client of the cluster.
        namespace: The namespace of the pod.
        pod: The name of the pod.
        address: The port and the path: `4040/api/v1/applications`.
        parameters: The query parameters.
        largest: The maximum size of the answer in bytes, see `bounded_json.weigh`.
        seconds: The time limit for the whole answer.

    Raises:
        AnswerTooLarge: The answer is larger.
        ValueError: The answer is not JSON.
        KubeError: The API rejected the request, the program did not answer, or its status is no success.
    """
    port, _, path = address.partition("/")
    call = Call("get", "GET", PODS, namespace, f"{pod}:{port}", f"proxy/{path}", parameters)
    async with client.stream(call, seconds) as response:
        content = await read_up_to(response, largest)
    if weigh(content) > largest:
        raise AnswerTooLarge
    return await read_json(content)
