"""The runtime of `SparkApplicationHook`: an event loop with the asynchronous hook.

DAG files do not import this module: it loads the Kubernetes client.
"""

from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import ExitStack, suppress
from typing import Any, TypeVar

from ..follow.access.access_review import summarize
from .async_spark_application import AsyncSparkApplicationHook
from .connection import read_access
from .loop import LoopThread

_Result = TypeVar("_Result")

_CLOSE_SECONDS = 5.0


class HookSession:
    """The event loop of a hook, and the asynchronous hook in it. It ends with the first call of `close`.

    Args:
        hook: The asynchronous hook.
    """

    def __init__(self, hook: AsyncSparkApplicationHook) -> None:
        self._hook = hook
        self._closing = ExitStack()
        self._loop = self._closing.enter_context(LoopThread())
        self._is_open = True

    def run(self, call: Callable[[AsyncSparkApplicationHook], Coroutine[Any, Any, _Result]]) -> _Result:
        """Return the result of a method of the asynchronous hook.

        Args:
            call: Calls the method.
        """
        return self._loop.run(call(self._hook))

    def iterate(self, call: Callable[[AsyncSparkApplicationHook], AsyncGenerator[str, None]]) -> Iterator[str]:
        """Yield the values of a generator of the asynchronous hook.

        Args:
            call: Calls the generator.
        """
        return self._loop.iterate(call(self._hook))

    def review_access(self) -> tuple[bool, str]:
        """Check the connection. Return whether all checks passed, and a message."""
        checks = self.run(lambda hook: hook.review_access())
        return all(check.passed for check in checks), summarize(checks)

    def close(self) -> None:
        """Close the connections to the cluster, and stop the event loop."""
        if self._is_open:
            self._is_open = False
            with self._closing, suppress(TimeoutError):
                self._loop.run(self._hook.close(), timeout=_CLOSE_SECONDS)


def open_session(kubernetes_conn_id: str | None, namespace: str | None, api_version: str) -> HookSession:
    """Read the connection of a hook, and start its event loop. The first request connects to the cluster.

    Args:
        kubernetes_conn_id: The id of the connection. If None, the default cluster is used.
        namespace: The namespace of the applications. If None, the namespace of the connection is used.
        api_version: The apiVersion of applications that are given by their name.

    Raises:
        ConfigurationError: The connection cannot be used.
    """
    access = read_access(kubernetes_conn_id)
    return HookSession(
        AsyncSparkApplicationHook(kubernetes_conn_id, namespace=namespace, api_version=api_version, access=access)
    )
