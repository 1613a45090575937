"""The main task of the triggerer process, whose end shows that the triggerer shuts down."""

import asyncio
from weakref import WeakKeyDictionary

_MAIN = "TriggerRunner.arun"

# The search is slow if there are thousands of triggers.
_runners: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Task[object] | None] = WeakKeyDictionary()


def find_runner() -> asyncio.Task[object] | None:
    """Return the task that starts and cancels the triggers of this event loop. None outside of a triggerer.

    When it has ended, the triggerer shuts down: all triggers are cancelled, and Airflow may not answer requests.
    """
    loop = asyncio.get_running_loop()
    if loop not in _runners:
        _runners[loop] = next((task for task in asyncio.all_tasks(loop) if _is_runner(task)), None)
    return _runners[loop]


def _is_runner(task: asyncio.Task[object]) -> bool:
    return getattr(task.get_coro(), "__qualname__", None) == _MAIN
