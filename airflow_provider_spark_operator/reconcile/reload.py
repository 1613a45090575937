"""The settings file: its changes are applied without a restart where possible."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from .serving.metrics import APPLIED, REFUSED, Metrics
from .settings.settings import ControllerSettings, SettingsError, keep_fixed_settings, list_differences

logger = logging.getLogger(__name__)

Mark: TypeAlias = tuple[int, int, int, int]

# A mounted ConfigMap takes a minute to change; a check is one system call.
_PAUSE = 2.0


@dataclass
class SettingsFile:
    """A settings file that is read again after a change.

    Attributes:
        path: The path. Symbolic links are followed: a mounted ConfigMap is changed by swapping one.
        mark: The result of `read_mark` before `settings` were read.
        settings: The settings that are in force.
        read: Reads the file, and the options that override it.
        apply: Applies settings.
        metrics: Count the changes.
    """

    path: str
    mark: Mark | None
    settings: ControllerSettings
    read: Callable[[], ControllerSettings]
    apply: Callable[[ControllerSettings], None]
    metrics: Metrics

    async def follow(self, pause: float) -> None:
        """Check the file every `pause` seconds, until cancelled."""
        while True:
            # The mark is read first: a write in between is noticed at the next check.
            mark = await asyncio.to_thread(read_mark, self.path)
            if mark != self.mark:
                self.mark = mark
                await self._read_again()
            await asyncio.sleep(pause)

    async def _read_again(self) -> None:
        try:
            read = await asyncio.to_thread(self.read)
        except SettingsError as error:
            logger.error("could not reload the settings: %s; the previous settings stay in force", error)
            self.metrics.count_settings(REFUSED)
            return
        except Exception:
            # A defect of the reader must not prevent later changes.
            logger.exception("could not read %s; the previous settings stay in force", self.path)
            self.metrics.count_settings(REFUSED)
            return
        self._apply(read)

    def _apply(self, read: ControllerSettings) -> None:
        fixed = list_differences(self.settings, read, fixed=True)
        wanted = keep_fixed_settings(self.settings, read)
        changed = list_differences(self.settings, wanted, fixed=False)
        if changed:
            self.apply(wanted)
            self.settings = wanted
            self.metrics.count_settings(APPLIED)
        if changed or fixed:
            applied = f"applied: {', '.join(changed)}" if changed else "no change applied"
            waiting = f"; restart the controller to apply: {', '.join(fixed)}" if fixed else ""
            logger.log(logging.WARNING if fixed else logging.INFO, "%s has changed; %s%s", self.path, applied, waiting)


@asynccontextmanager
async def follow_settings(file: SettingsFile, *, pause: float = _PAUSE) -> AsyncIterator[None]:
    """Apply changes of the file while the body runs."""
    task = asyncio.create_task(file.follow(pause))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def read_mark(path: str) -> Mark | None:
    """Return a value that changes with the file and its content; None if the file does not exist."""
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size
