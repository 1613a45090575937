"""Read the templates that applications name, in threads that no server can keep from their other work."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from threading import Thread

from ...core.driver.attempt import NO_TEMPLATES, NamedTemplates, find_application_template_files
from ...core.kubernetes.problems import InvalidResource, Problem
from ...core.models.application import SparkApplication
from .attempt import ReconcileLater
from .files import LARGEST_TEMPLATE, READ_SECONDS, hide_secrets, load_templates

logger = logging.getLogger(__name__)

_MAX_READS = 4
"""The number of threads that read templates of one namespace."""
# How long a reconcile waits. Meanwhile, it holds a worker.
_PATIENCE_SECONDS = 0.5
# A reconcile that was postponed is repeated within two minutes.
_KEPT_SECONDS = 300.0


class TemplateReader:
    """Reads the templates of applications.

    A server may answer slowly, or never. The reads of one namespace use a few threads. A thread that hangs counts until
    it ends. No thread delays the end of the process.
    """

    def __init__(self) -> None:
        self._reads: dict[tuple[str, ...], asyncio.Task[NamedTemplates]] = {}
        self._slots: defaultdict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(_MAX_READS))

    async def read(self, application: SparkApplication) -> NamedTemplates:
        """Return the templates that the configuration of the application names.

        Raises:
            InvalidResource: A template cannot be read. The message is the same for each cause, because another cause
                would tell a user about files and servers that only the controller can reach.
            ReconcileLater: The templates are still being read.
        """
        files = find_application_template_files(application)
        if not files:
            return NO_TEMPLATES
        key = (application.uid, *(part for item in sorted(files.items()) for part in item))
        task = self._reads.get(key)
        if task is None:
            task = self._reads[key] = asyncio.create_task(self._read(application, files))
            task.add_done_callback(lambda done: self._forget_later(key, done))
        done, _ = await asyncio.wait({task}, timeout=_PATIENCE_SECONDS)
        if not done:
            raise ReconcileLater(f"the templates of {application.namespace}/{application.name} are still being read")
        self._reads.pop(key, None)
        return task.result()

    async def _read(self, application: SparkApplication, files: Mapping[str, str]) -> NamedTemplates:
        slot = self._slots[application.namespace]
        await slot.acquire()
        try:
            async with asyncio.timeout(READ_SECONDS):
                return await _run_in_thread(files, slot)
        except (TimeoutError, InvalidResource) as error:
            cause = str(error) or f"timed out after {READ_SECONDS} s"
            logger.warning(
                "could not read the templates: %s",
                cause,
                extra={"application": f"{application.namespace}/{application.name}"},
            )
            raise InvalidResource([_build_problem(key, path) for key, path in files.items()]) from None

    def _forget_later(self, key: tuple[str, ...], done: asyncio.Task[NamedTemplates]) -> None:
        if not done.cancelled():
            done.exception()  # the application may have been deleted in the meantime
            asyncio.get_running_loop().call_later(_KEPT_SECONDS, self._forget, key, done)

    def _forget(self, key: tuple[str, ...], done: asyncio.Task[NamedTemplates]) -> None:
        if self._reads.get(key) is done:
            del self._reads[key]


async def _run_in_thread(files: Mapping[str, str], slot: asyncio.Semaphore) -> NamedTemplates:
    """Read files in a new thread, and release `slot` when the thread ends, however long it takes.

    The threads of the default executor would delay the end of the process.
    """
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[NamedTemplates] = loop.create_future()

    def finish(templates: NamedTemplates | None, error: Exception | None) -> None:
        slot.release()
        if outcome.done():
            return
        if error is None and templates is not None:
            outcome.set_result(templates)
        elif error is not None:
            outcome.set_exception(error)

    def run() -> None:
        templates, error = None, None
        try:
            templates = load_templates(files)
        except Exception as failure:
            error = failure
        with suppress(RuntimeError):  # the event loop is closed
            loop.call_soon_threadsafe(finish, templates, error)

    Thread(target=run, name="read-templates", daemon=True).start()
    return await outcome


def _build_problem(key: str, path: str) -> Problem:
    return Problem(
        key,
        f"could not read the template {hide_secrets(path)}. It must be a valid template of at most {LARGEST_TEMPLATE} "
        f"bytes that the controller can read within {READ_SECONDS} s. The log of the controller shows the cause",
    )
