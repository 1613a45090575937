"""A headless Chromium, controlled with its debugging protocol: for screenshots and for tests of web pages."""

import asyncio
import base64
import itertools
import json
import re
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import aiohttp

_OPTIONS: Final = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"),
    *("--remote-debugging-port=0", "--remote-allow-origins=*"),
)
_ADDRESS: Final = re.compile(rb"DevTools listening on ws://([^/]+)/")
_START_SECONDS: Final = 60
_POLL_SECONDS: Final = 0.1


def find_browser() -> str | None:
    """Return the path of Chromium or Chrome; None if neither is installed."""
    return shutil.which("chromium") or shutil.which("google-chrome")


class Page:
    """One page of the browser.

    Attributes:
        console: What the page logged, and its errors.
    """

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self.console: list[str] = []

    async def receive(self) -> None:
        """Handle the messages of the browser until it closes the connection."""
        async for message in self._socket:
            content = json.loads(message.data)
            if (answer := self._answers.pop(content.get("id", 0), None)) and not answer.done():
                answer.set_result(content)
            if content.get("method") == "Log.entryAdded":
                self.console.append(content["params"]["entry"]["text"])
            if content.get("method") == "Runtime.exceptionThrown":
                self.console.append(json.dumps(content["params"]["exceptionDetails"]))

    async def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command, and return its result.

        Raises:
            RuntimeError: The browser rejected the command.
        """
        number = next(self._numbers)
        self._answers[number] = answer = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        content = await answer
        if "error" in content:
            raise RuntimeError(f"{method}: {content['error']}")
        return dict(content["result"])

    async def open(self, address: str) -> None:
        """Open a page."""
        await self.send("Page.navigate", url=address)

    async def resize(self, width: int, height: int, scale: float = 1) -> None:
        """Change the size of the page, in CSS pixels."""
        await self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False
        )

    async def prefer(self, scheme: str) -> None:
        """Prefer `light` or `dark` colours."""
        await self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    async def evaluate(self, expression: str) -> Any:
        """Return the value of an expression of JavaScript.

        Raises:
            RuntimeError: The expression failed.
        """
        result = await self.send("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(json.dumps(result["exceptionDetails"]))
        return result["result"].get("value")

    async def wait_for(self, expression: str) -> Any:
        """Return the value of an expression as soon as it is true. Bound the time with `asyncio.timeout`."""
        while not (value := await self._try(expression)):  # noqa: ASYNC110 - the state of another process
            await asyncio.sleep(_POLL_SECONDS)
        return value

    async def _try(self, expression: str) -> Any:
        try:
            return await self.evaluate(expression)
        except RuntimeError:  # the page is loading
            return None

    async def take_picture(self, file: Path, **options: Any) -> None:
        """Write a picture of the page as PNG."""
        result = await self.send("Page.captureScreenshot", format="png", **options)
        await asyncio.to_thread(file.write_bytes, base64.b64decode(result["data"]))


@asynccontextmanager
async def open_browser(folder: Path, environment: Mapping[str, str] | None = None) -> AsyncIterator[Page]:
    """Start a browser with an empty profile, and end it with the block.

    Args:
        folder: The folder of the profile.
        environment: The environment of the browser. Defaults to that of this process.

    Raises:
        FileNotFoundError: Chromium is not installed.
    """
    if (program := find_browser()) is None:
        raise FileNotFoundError("could not find chromium: install it")
    browser = await asyncio.create_subprocess_exec(
        *(program, *_OPTIONS, f"--user-data-dir={folder}", "about:blank"),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env=environment,
    )
    try:
        async with asyncio.timeout(_START_SECONDS):
            host = await _read_host(browser)
        drain = asyncio.create_task(_drain(browser))
        async with aiohttp.ClientSession() as session, session.get(f"http://{host}/json/list") as answer:
            address = next(one["webSocketDebuggerUrl"] for one in await answer.json() if one["type"] == "page")
            async with session.ws_connect(address, max_msg_size=0) as socket:
                page = Page(socket)
                receiving = asyncio.create_task(page.receive())
                for domain in ("Page", "Runtime", "Log"):
                    await page.send(f"{domain}.enable")
                yield page
                receiving.cancel()
        drain.cancel()
    finally:
        if browser.returncode is None:
            browser.terminate()
        await browser.wait()


async def _read_host(browser: asyncio.subprocess.Process) -> str:
    assert browser.stderr is not None  # noqa: S101 - it follows from PIPE
    while line := await browser.stderr.readline():
        if found := _ADDRESS.search(line):
            return found[1].decode()
    raise FileNotFoundError("chromium did not start")


async def _drain(browser: asyncio.subprocess.Process) -> None:
    assert browser.stderr is not None  # noqa: S101 - it follows from PIPE
    while await browser.stderr.readline():
        pass
