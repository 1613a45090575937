"""The hook for code in an event loop. `SparkApplicationHook` does the same for other code."""

import asyncio
import logging
import math
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass
from datetime import timedelta
from types import TracebackType
from typing import Any, Self, TypeAlias

from airflow.sdk.types import RuntimeTaskInstanceProtocol

from ..core.compose.application import TaskSettings
from ..core.dialects.dialect import read_progress
from ..core.dialects.progress import Phase
from ..core.kubernetes.json_object import JsonObject
from ..core.kubernetes.names import DEFAULT_API_VERSION, KEY_RULE, LABEL_RULE, is_label_key, is_label_value
from ..core.kubernetes.times import to_seconds
from ..core.parameters.arguments import (
    DEFAULT_CONNECTION_ID,
    KEEP_FAILED_DRIVER,
    LONGEST_LOG,
    MAX_APPLICATIONS,
    MAX_EVENTS,
)
from ..exceptions import SparkApplicationConflict, SparkApplicationTimedOut
from ..follow.access.access_review import Check, review_access
from ..follow.access.events import KubernetesEvent, list_events
from ..follow.access.pods import list_executor_pods
from ..follow.access.reference import ApplicationReference, resource_of
from ..follow.access.requests import wait_until_deleted
from ..follow.access.versions import ServedVersions
from ..follow.logs import logs
from ..follow.logs.pod_logs import stream_driver_log, stream_executor_log
from ..follow.narration.narrator import Narration
from ..follow.narration.obstacles import WaitState
from ..follow.submission.stop import set_suspended
from ..follow.submission.submit import submit
from ..follow.watching.shared_watch import share_hub
from ..follow.watching.wait import read_end, wait_for_end
from ..follow.watching.watch import WatchHub
from ..kube.client import KubeClient
from ..kube.connection import ClusterAccess
from ..kube.errors import NotFound
from .connection import async_read_access
from .errors import fail_if_invalid, translate_errors
from .manifest import Manifest, compose_manifest
from .task_log import TaskLog, read_driver_log_options
from .task_stamp import stamp_of
from .verdict import ApplicationVerdict, build_preliminary_verdict, build_verdict

__all__ = ["AsyncSparkApplicationHook"]

logger = logging.getLogger(__name__)

Named: TypeAlias = str | ApplicationReference
"""An application: its name in the namespace of the hook, or its reference."""


@dataclass(frozen=True)
class _Session:
    """The cluster of a hook, while the hook is open."""

    hub: WatchHub
    versions: ServedVersions
    closing: AsyncExitStack


class AsyncSparkApplicationHook:
    """Submit, follow and manage SparkApplications in an event loop, for example in a trigger.

    Each method has the parameters, defaults, results and exceptions of the method of `SparkApplicationHook` with the
    same name. `stream_driver_log` and `stream_executor_log` are asynchronous generators: use `async for`. All other
    methods are coroutines: use `await`. `test_connection` exists only in `SparkApplicationHook`.

    Use the hook in `async with`, or call `close` at the end. All hooks and triggers of an event loop share the
    connections to a cluster.

    Args:
        kubernetes_conn_id: Id of a connection to a Kubernetes cluster. If None, the default Kubernetes cluster is
            used: the one in which Airflow runs, or that of the local kubeconfig. The default is `kubernetes_default`.
        namespace: Namespace of the applications. If None, the namespace of the connection is used.
        api_version: apiVersion of applications that are given by their name, and of manifests that do not contain it,
            for example "sparkoperator.k8s.io/v1beta2" for Kubeflow's operator. The default is that of the Apache
            operator.
        access: Access to the cluster, for triggers of this package that have already read the connection. If None, the
            hook reads the connection.
    """

    def __init__(
        self,
        kubernetes_conn_id: str | None = DEFAULT_CONNECTION_ID,
        *,
        namespace: str | None = None,
        api_version: str = DEFAULT_API_VERSION,
        access: ClusterAccess | None = None,
    ) -> None:
        self.kubernetes_conn_id = kubernetes_conn_id
        self.namespace = namespace
        self.api_version = api_version
        self._access = access
        self._session: _Session | None = None
        self._opening = asyncio.Lock()

    async def __aenter__(self) -> Self:
        """Connect to the cluster."""
        await self._open()
        return self

    async def __aexit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the hook."""
        await self.close()

    async def close(self) -> None:
        """Close the connections that no other hook uses. The next request opens them again."""
        session, self._session = self._session, None
        if session is not None:
            await session.closing.aclose()

    async def submit(
        self,
        manifest: Manifest = None,
        *,
        name: str | None = None,
        namespace: str | None = None,
        ttl: timedelta | float | None = None,
        keep_failed_driver: timedelta | float | None = KEEP_FAILED_DRIVER,
        keep_driver: timedelta | float | None = None,
        upload_to: str | None = None,
        download_from: str | None = None,
        task_instance: RuntimeTaskInstanceProtocol | None = None,
        **parameters: Any,
    ) -> ApplicationReference:
        """Submit an application. See `SparkApplicationHook.submit`."""
        stamp = stamp_of(task_instance) if task_instance else None
        document = await asyncio.to_thread(  # reads files, and may upload some
            compose_manifest,
            manifest,
            parameters,
            TaskSettings(ttl, keep_failed_driver, keep_driver=keep_driver),
            api_version=self.api_version,
            name=name,
            namespace=namespace or self.namespace,
            upload_to=upload_to,
            download_from=download_from,
            stamp=stamp,
        )
        with fail_if_invalid("application"), translate_errors("submit the application"):
            client = (await self._open()).hub.client
            submission = await submit(client, document, stamp=stamp)
        logger.info("%s", submission.sentence)
        return submission.reference

    async def review_access(self) -> list[Check]:
        """Check the connection, the definitions and the permissions that tasks need in the namespace of the hook.

        Raises:
            ConfigurationError: The connection cannot be used.
        """
        session = await self._open()
        return await review_access(session.hub.client, self.namespace)

    async def get(self, application: Named) -> JsonObject:
        """Read an application. See `SparkApplicationHook.get`."""
        return (await self._read(application))[1]

    async def list_applications(
        self, labels: Mapping[str, str] | str | None = None, *, most: int = MAX_APPLICATIONS
    ) -> list[JsonObject]:
        """List applications. See `SparkApplicationHook.list_applications`."""
        check_most(most)
        selector = build_selector(labels)
        with translate_errors("list the applications"):
            session = await self._open()
            resource = await session.versions.choose(resource_of(self.api_version))
            namespace = self._choose_namespace(session.hub.client)
            found = await session.hub.client.list(resource, namespace, label_selector=selector, most=most)
        if not found.is_complete:
            logger.warning("namespace %s has more than %d applications; returning the first %d", namespace, most, most)
        return found.items

    async def wait(
        self,
        application: Named,
        *,
        timeout: timedelta | float | None = None,  # noqa: ASYNC109 - as in the synchronous hook
        get_logs: bool = True,
    ) -> ApplicationVerdict:
        """Wait until an application ends. See `SparkApplicationHook.wait`."""
        seconds = read_timeout(timeout)
        reference, _ = await self._read(application)
        situation = WaitState()
        driver_log = read_driver_log_options(None, logs.LogPosition()) if get_logs else None
        narration = Narration(TaskLog(reference, logger), driver_log, situation)
        try:
            with translate_errors(f"wait for {reference}"):
                async with asyncio.timeout(seconds) as limit:
                    return build_verdict(await wait_for_end((await self._open()).hub, reference, narration))
        except TimeoutError:
            if not limit.expired():
                raise
            raise SparkApplicationTimedOut(f"{reference} had not ended within {seconds:g} s{situation}") from None

    async def get_verdict(self, application: Named) -> ApplicationVerdict:
        """Return the verdict on an application without waiting. See `SparkApplicationHook.get_verdict`."""
        reference, document = await self._read(application)
        with translate_errors(f"read the result of {reference}"):
            end = await read_end((await self._open()).hub, reference, Narration(TaskLog(reference, logger)))
        return build_verdict(end) if end else build_preliminary_verdict(reference, document)

    async def delete(
        self,
        application: Named,
        *,
        missing_ok: bool = False,
        timeout: timedelta | float | None = None,  # noqa: ASYNC109 - as in the synchronous hook
    ) -> None:
        """Delete an application. See `SparkApplicationHook.delete`."""
        seconds = read_timeout(timeout)
        with translate_errors(f"delete {_describe(application)}"):
            try:
                reference, _ = await self._find(application)
                client = (await self._open()).hub.client
                await client.delete(reference.resource, reference.name, reference.namespace, uid=reference.uid)
            except NotFound:
                if not missing_ok:
                    raise
                return
            if seconds is not None:
                await wait_until_deleted(client, reference, seconds)

    async def suspend(self, application: Named) -> None:
        """Suspend an application. See `SparkApplicationHook.suspend`."""
        await self._set_suspended(application, suspended=True)

    async def resume(self, application: Named) -> None:
        """Resume a suspended application. See `SparkApplicationHook.resume`."""
        await self._set_suspended(application, suspended=False)

    async def stream_driver_log(
        self, application: Named, *, follow: bool = True, tail_lines: int | None = None, longest: int = LONGEST_LOG
    ) -> AsyncGenerator[str, None]:
        """Yield the lines of the driver log. See `SparkApplicationHook.stream_driver_log`.

        To stop early, leave the iteration through `contextlib.aclosing`.
        """
        if follow and tail_lines is not None:
            raise ValueError("tail_lines is not supported with follow=True. Set follow=False, or omit tail_lines")
        with translate_errors(f"read the driver log of {_describe(application)}"):
            reference, _ = await self._find(application)
            client = (await self._open()).hub.client
            lines = stream_driver_log(client, reference, follow=follow, tail_lines=tail_lines, longest=longest)
            async with aclosing(lines) as stream:
                async for line in stream:
                    yield line

    async def list_executors(self, application: Named) -> list[str]:
        """List the names of the executor pods. See `SparkApplicationHook.list_executors`."""
        with translate_errors(f"list the executors of {_describe(application)}"):
            reference, _ = await self._find(application)
            pods = await list_executor_pods((await self._open()).hub.client, reference)
        return sorted(pod["metadata"]["name"] for pod in pods)

    async def stream_executor_log(
        self,
        application: Named,
        executor: str,
        *,
        follow: bool = False,
        tail_lines: int | None = None,
        longest: int = LONGEST_LOG,
    ) -> AsyncGenerator[str, None]:
        """Yield the lines of the log of one executor. See `SparkApplicationHook.stream_executor_log`.

        To stop early, leave the iteration through `contextlib.aclosing`.
        """
        with translate_errors(f"read the log of executor {executor} of {_describe(application)}"):
            reference, _ = await self._find(application)
            client = (await self._open()).hub.client
            lines = stream_executor_log(
                client, reference, executor, follow=follow, tail_lines=tail_lines, longest=longest
            )
            async with aclosing(lines) as stream:
                async for line in stream:
                    yield line

    async def list_events(self, application: Named, *, most: int = MAX_EVENTS) -> list[KubernetesEvent]:
        """List the Kubernetes Events of an application. See `SparkApplicationHook.list_events`."""
        check_most(most)
        with translate_errors(f"list the events of {_describe(application)}"):
            reference, _ = await self._find(application)
            return await list_events((await self._open()).hub.client, reference, most)

    async def _set_suspended(self, application: Named, *, suspended: bool) -> None:
        action = f"{'suspend' if suspended else 'resume'} {_describe(application)}"
        with translate_errors(action):
            reference, document = await self._find(application)
            seen = read_progress(document)
            if seen.phase is Phase.ENDED:
                raise SparkApplicationConflict(f"could not {action}: it has ended in state {seen.state}")
            await set_suspended((await self._open()).hub.client, reference, suspended=suspended)

    async def _read(self, application: Named) -> tuple[ApplicationReference, JsonObject]:
        with translate_errors(f"read {_describe(application)}"):
            return await self._find(application)

    async def _find(self, application: Named) -> tuple[ApplicationReference, JsonObject]:
        """Read an application.

        Raises:
            NotFound: The application does not exist, or another application now has its name.
            KubeError: The API rejected the request or could not be reached.
        """
        session = await self._open()
        client = session.hub.client
        if isinstance(application, ApplicationReference):
            wanted, name, namespace = application.resource, application.name, application.namespace
        else:
            wanted, name, namespace = resource_of(self.api_version), application, self._choose_namespace(client)
        resource = await session.versions.choose(wanted)
        document = await client.get(resource, name, namespace)
        reference = ApplicationReference.of(document, resource)
        if isinstance(application, ApplicationReference) and reference.uid != application.uid:
            message = "it was deleted, and another application now has its name"
            raise NotFound(404, "NotFound", message, "get", resource.qualified_name, namespace, name)
        return reference, document

    async def _open(self) -> _Session:
        async with self._opening:
            if self._session is None:
                access = self._access or await async_read_access(self.kubernetes_conn_id)
                async with AsyncExitStack() as closing:
                    with translate_errors("connect to the cluster"):
                        hub = await closing.enter_async_context(share_hub(access))
                    self._session = _Session(hub, ServedVersions(hub.client), closing.pop_all())
            return self._session

    def _choose_namespace(self, client: KubeClient) -> str:
        return self.namespace or client.default_namespace


def _describe(application: Named) -> str:
    return str(application) if isinstance(application, ApplicationReference) else f"SparkApplication {application}"


def read_timeout(timeout: timedelta | float | None) -> float | None:
    """Return a timeout in seconds; None if there is no limit.

    Raises:
        ValueError: The timeout is not a duration, or is negative.
    """
    seconds = to_seconds(timeout)
    if timeout is None or (seconds is not None and 0 <= seconds < math.inf):
        return seconds
    raise ValueError(f"timeout must be a number of seconds, a timedelta, or None, not {timeout!r}")


def build_selector(labels: Mapping[str, str] | str | None) -> str:
    """Return the label selector for the labels of applications. It is empty if there are none.

    Raises:
        TypeError: `labels` is neither an object nor a string.
        ValueError: A key or a value is not valid. A comma in it would select other applications.
    """
    if labels is None or isinstance(labels, str):
        return labels or ""
    if not isinstance(labels, Mapping):
        raise TypeError(f"labels must be an object or a label selector, not {type(labels).__name__}")
    for key, value in labels.items():
        if not (isinstance(key, str) and is_label_key(key)):
            raise ValueError(f"labels: {key!r} is not a valid key: {KEY_RULE}")
        if not (isinstance(value, str) and is_label_value(value)):
            raise ValueError(f"labels: {value!r} is not a label value: {LABEL_RULE}")
    return ",".join(f"{key}={value}" for key, value in labels.items())


def check_most(most: int) -> None:
    """Check the maximum length of a list.

    Raises:
        ValueError: It is less than 1.
    """
    if most < 1:
        raise ValueError(f"`most` must be at least 1, not {most!r}")
