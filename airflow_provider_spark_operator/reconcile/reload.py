"""Following a settings file: what changes in it is in force without a restart, as far as that is possible."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from airflow_provider_spark_operator.reconcile.metrics import APPLIED, REFUSED, Metrics
from airflow_provider_spark_operator.reconcile.settings import (
    ControllerSettings,
    SettingsError,
    differences,
    with_fixed_of,
)

logger = logging.getLogger(__name__)

Mark: TypeAlias = tuple[int, int, int, int]

# A mounted ConfigMap takes a minute to change; a look is one call to the operating system.
_PAUSE = 2.0


@dataclass
class SettingsFile:
    """A file that is read again when it is another one.

    Attributes:
        path: where it is. What a symbolic link leads to counts: a mounted ConfigMap is changed by swapping one.
        mark: what `mark_of` said before `settings` were read.
        settings: those that are in force.
        read: reads the file, and what wins over it.
        apply: puts settings into force.
        metrics: count what comes of a change.
    """

    path: str
    mark: Mark | None
    settings: ControllerSettings
    read: Callable[[], ControllerSettings]
    apply: Callable[[ControllerSettings], None]
    metrics: Metrics

    async def follow(self, pause: float) -> None:
        """Look at the file every `pause` seconds, until cancelled."""
        while True:
            # Marked before it is read: what is written meanwhile shows at the next look.
            mark = await asyncio.to_thread(mark_of, self.path)
            if mark != self.mark:
                self.mark = mark
                await self._read_again()
            await asyncio.sleep(pause)

    async def _read_again(self) -> None:
        try:
            read = await asyncio.to_thread(self.read)
        except SettingsError as error:
            logger.error("%s; the settings stay as they were", error)
            self.metrics.count_settings(REFUSED)
            return
        except Exception:
            # A defect of the reader must not keep the next change from being seen.
            logger.exception("%s cannot be read; the settings stay as they were", self.path)
            self.metrics.count_settings(REFUSED)
            return
        self._take(read)

    def _take(self, read: ControllerSettings) -> None:
        fixed = differences(self.settings, read, fixed=True)
        wanted = with_fixed_of(self.settings, read)
        changed = differences(self.settings, wanted, fixed=False)
        if changed:
            self.apply(wanted)
            self.settings = wanted
            self.metrics.count_settings(APPLIED)
        if changed or fixed:
            in_force = f"in force: {', '.join(changed)}" if changed else "nothing new is in force"
            waiting = f"; only with a restart: {', '.join(fixed)}" if fixed else ""
            logger.log(logging.WARNING if fixed else logging.INFO, "%s has changed, %s%s", self.path, in_force, waiting)


@asynccontextmanager
async def following(file: SettingsFile, *, pause: float = _PAUSE) -> AsyncIterator[None]:
    """Follow `file` beside the body."""
    task = asyncio.create_task(file.follow(pause))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def mark_of(path: str) -> Mark | None:
    """What another file, or another content, does not have in common with it; None if there is none."""
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size
