"""Wait until the API server answers. Followers that wait at the same time share one request."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from math import inf

from ...kube.errors import KubeError


class Probe:
    """A request whose answer does not matter, only that there is one."""

    def __init__(self) -> None:
        self._asking = asyncio.Lock()
        self._asked = -inf

    async def run(self, ask: Callable[[], Awaitable[object]]) -> None:
        """Wait until a request that began after this call has an answer, or has failed. Never raises a `KubeError`.

        Args:
            ask: Sends the request, and repeats it during an outage.
        """
        wanted = asyncio.get_running_loop().time()
        async with self._asking:
            if self._asked >= wanted:
                return
            began = asyncio.get_running_loop().time()
            with suppress(KubeError):
                await ask()
            self._asked = began
