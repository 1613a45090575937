"""The lifecycle of one container, from its image to its last exit code."""

import asyncio
import contextlib
import errno
import os
import stat
import uuid
from datetime import datetime
from pathlib import Path

from ...api.kinds.documents import JsonObject
from ...api.server.podlogs import LogOptions
from ..node.images import ImageMissing, InvalidImage
from ..node.node import Node
from ..node.pod_status import ADDRESS
from ..node.runtime import StartError
from ..node.states import ContainerRecord, Running, Terminated, Waiting
from .container_log import ContainerLog
from .launch import Launch, prepare_launch
from .process import ContainerProcess, Exit
from .references import MissingReference
from .restoration import begin_anew
from .sandbox import Sandbox

_START_ERROR_CODE = 128
_FIRST_RETRY = 0.2
_LAST_RETRY = 5.0
_FIRST_BACKOFF = 10.0
_LAST_BACKOFF = 300.0
_GOOD_RUN_SECONDS = 600.0
_MESSAGE_BYTES = 4096
_MESSAGE_LOG_LINES = 80
_MESSAGE_LOG_BYTES = 2048
_KILLED_CODE = 128 + 9
# The default of Kubernetes.
_PROBE_SECONDS = 10.0


class Container:
    """A container of a pod.

    Args:
        node: State that all pods of the node share.
        spec: The container's entry in the pod's spec.
        record: The container's state; `Container` keeps it up to date.
    """

    def __init__(self, node: Node, spec: JsonObject, record: ContainerRecord) -> None:
        self.record = record
        self.begun = asyncio.Event()
        self.log: ContainerLog | None = None
        self.previous_log: ContainerLog | None = None
        self._node = node
        self._spec = spec
        self._process: ContainerProcess | None = None
        self._ending = False
        self._killed = False
        self._out_of_memory = False

    async def run(self, sandbox: Sandbox) -> None:
        """Run the container until it has terminated finally, or the pod must terminate."""
        backoff = 0.0
        if isinstance(self.record.state, Terminated) and not self.record.starts_again:  # before a restart of the node
            self.begun.set()
            return
        begin_anew(self.record)
        while not self._has_ended(sandbox):
            ended = await self._run_once(sandbox)
            if ended is None or self._has_ended(sandbox) or not self.record.policy.restarts_after(ended.exit_code):
                break
            if (ended.finished - ended.started).total_seconds() > _GOOD_RUN_SECONDS:
                backoff = 0.0
            self.record.last = ended
            self._wait_for_restart(sandbox, backoff)
            await sandbox.pause(backoff)
            backoff = min(max(backoff * 2, _FIRST_BACKOFF), _LAST_BACKOFF)
            if not self._has_ended(sandbox):
                self.record.restarts += 1
        self.begun.set()

    def terminate(self) -> None:
        """Send SIGTERM to the command; the container is not restarted."""
        self._ending = True
        if self._process:
            self._process.terminate()

    def kill(self) -> None:
        """Kill the container; it is not restarted."""
        self._ending = self._killed = True
        if self._process:
            self._process.kill()

    def restore_log(self, folder: Path) -> None:
        """Restore the log of the last run before the node was restarted."""
        path = self._log_path(folder)
        if path.exists():
            self.log = ContainerLog(path, clock=self._node.clock)
            self.log.close()

    def _log_path(self, folder: Path) -> Path:
        return folder / self.record.name / f"{self.record.restarts}.log"

    def _has_ended(self, sandbox: Sandbox) -> bool:
        return self._ending or sandbox.stopping.is_set()

    def _wait_for_restart(self, sandbox: Sandbox, backoff: float) -> None:
        if not backoff:
            return
        metadata = sandbox.pod["metadata"]
        pod = f"{metadata['name']}_{metadata['namespace']}({metadata['uid']})"
        message = f"back-off {backoff:.0f}s restarting failed container={self.record.name} pod={pod}"
        self.record.state = Waiting("CrashLoopBackOff", message)
        sandbox.publish()
        self._record_event(sandbox, "BackOff", f"Back-off restarting failed container {self.record.name} in pod {pod}")

    async def _run_once(self, sandbox: Sandbox) -> Terminated | None:
        """Run the command once; return None if the pod must terminate before the start."""
        started = self._node.clock()
        try:
            launch = await self._prepare(sandbox)
            if launch is None:
                return None
            started = self._node.clock()
            ended = await self._execute(sandbox, launch)
        except StartError as error:
            self._record_event(sandbox, "Failed", f"Error: {error}")
            return self._build_terminated(sandbox, _START_ERROR_CODE, "StartError", started, str(error))
        except OSError as error:
            sandbox.evict(f"cannot write {error.filename or self._node.home}: {error.strerror or error}")
            return self._build_terminated(sandbox, _START_ERROR_CODE, "StartError", started, str(error))
        if ended.log_failure:
            sandbox.evict(ended.log_failure)
        message = await self._read_termination_message(sandbox, ended)
        if self._out_of_memory:
            return self._build_terminated(sandbox, _KILLED_CODE, "OOMKilled", started, message)
        reason = "Error" if ended.code else "Completed"
        return self._build_terminated(sandbox, ended.code, reason, started, message)

    async def _prepare(self, sandbox: Sandbox) -> Launch | None:
        """Prepare the command, and retry while something is missing; return None if the pod must terminate."""
        retry = _FIRST_RETRY
        while not self._has_ended(sandbox):
            try:
                return await prepare_launch(self._node, sandbox, self._spec)
            except InvalidImage as error:
                self._wait(sandbox, "InvalidImageName", str(error))
                self._record_event(sandbox, "InspectFailed", str(error))
            except ImageMissing as error:
                self._await_image(sandbox, str(error))
            except MissingReference as error:
                self._wait(sandbox, "CreateContainerConfigError", str(error))
                self._record_event(sandbox, "Failed", f"Error: {error}")
            await sandbox.pause(retry)
            retry = min(retry * 2, _LAST_RETRY)
        return None

    def _await_image(self, sandbox: Sandbox, message: str) -> None:
        image = self._spec.get("image")
        known = self.record.state
        if self._spec.get("imagePullPolicy") == "Never":
            refusal = f'Container image "{image}" is not present with pull policy of Never: {message}'
            self._wait(sandbox, "ErrImageNeverPull", refusal)
            self._record_event(sandbox, "ErrImageNeverPull", refusal)
            return
        if isinstance(known, Waiting) and known.reason in ("ErrImagePull", "ImagePullBackOff"):
            self._wait(sandbox, "ImagePullBackOff", f'Back-off pulling image "{image}": {message}')
            return
        self._wait(sandbox, "ErrImagePull", message)
        self._record_event(sandbox, "Failed", f'Failed to pull image "{image}": {message}')

    def _wait(self, sandbox: Sandbox, reason: str, message: str) -> None:
        state = Waiting(reason, message)
        if self.record.state != state:
            self.record.state = state
            sandbox.publish()

    async def _execute(self, sandbox: Sandbox, launch: Launch) -> Exit:
        """Start the command and wait for its end.

        Raises:
            StartError: The command cannot be started.
            OSError: Its log file cannot be created.
        """
        log = ContainerLog(
            self._log_path(sandbox.logs), max_file_bytes=self._node.max_log_bytes, clock=self._node.clock
        )
        if self.previous_log:
            self.previous_log.remove()
        self.previous_log, self.log = self.log, log
        self._out_of_memory, probe = False, None
        try:
            process = await ContainerProcess.start(launch.command, launch.environment, launch.directory, log)
            self._process = process
            self.record.container_id = f"process://{uuid.uuid4().hex}"
            self.record.state = Running(self._node.clock())
            probe = self._probe(sandbox)
            self.begun.set()
            sandbox.publish()
            self._record_event(sandbox, "Created", f"Created container: {self.record.name}")
            self._record_event(sandbox, "Started", f"Started container {self.record.name}")
            if self._killed:
                process.kill()
            elif self._ending:
                process.terminate()
            limits, limit = self._node.memory, launch.memory_limit
            with limits.enforce(process.guard_pid, process.pid, limit, self._run_out_of_memory):
                return await process.wait()
        finally:
            self._process = None
            if probe is not None:
                probe.cancel()
            log.close()

    def _probe(self, sandbox: Sandbox) -> asyncio.Task[None] | None:
        """Start the readiness probe of the container. None if the container has no probe of a TCP port."""
        settings = self._spec.get("readinessProbe") or {}
        port = (settings.get("tcpSocket") or {}).get("port")
        self.record.probed = isinstance(port, int)
        if not isinstance(port, int):
            return None

        async def try_port(number: int) -> None:
            metadata = sandbox.pod["metadata"]
            while self.record.probed:
                target = self._node.services.find_assigned(metadata["namespace"], metadata["name"], number)
                try:
                    _, writer = await asyncio.open_connection(ADDRESS, target)
                except OSError:
                    await asyncio.sleep(float(settings.get("periodSeconds") or _PROBE_SECONDS))
                else:
                    self.record.probed = False
                    writer.close()
                    with contextlib.suppress(OSError):
                        await writer.wait_closed()
            sandbox.publish()

        return asyncio.create_task(try_port(port))

    def _run_out_of_memory(self) -> None:
        self._out_of_memory = True
        if self._process:
            self._process.kill()

    def _build_terminated(
        self, sandbox: Sandbox, code: int, reason: str, started: datetime, message: str
    ) -> Terminated:
        finished = self._node.clock()
        ended = Terminated(code, reason, started, finished, message, self.record.container_id)
        self.record.state = ended
        sandbox.publish()
        return ended

    async def _read_termination_message(self, sandbox: Sandbox, ended: Exit) -> str:
        """Return the termination message that the container wrote."""
        path = sandbox.get_termination_file(self.record.name)
        text = _read_end(path)
        if text or not ended.code or self._spec.get("terminationMessagePolicy") != "FallbackToLogsOnError":
            return text
        if self.log is None:
            return ""
        query = LogOptions(tail_lines=_MESSAGE_LOG_LINES)
        return b"".join([piece async for piece in self.log.read(query)])[-_MESSAGE_LOG_BYTES:].decode(errors="replace")

    def _record_event(self, sandbox: Sandbox, reason: str, message: str) -> None:
        self._node.recorder.record(sandbox.pod, reason, message, container=self.record.name)


def _read_end(path: Path) -> str:
    try:
        return read_regular(path, _MESSAGE_BYTES).decode(errors="replace")
    except OSError:
        return ""


def read_regular(path: Path, limit: int) -> bytes:
    """Return the first bytes of a regular file.

    Pipes and devices are rejected because they can block, links because they can lead out of the directory.

    Raises:
        OSError: The file does not exist, is not a regular file, or cannot be read.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        return file.read(limit)
