"""An HTTP server on the loopback interface, in a thread: blocking libraries use it from the thread of the test."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, TypeAlias
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True)
class Asked:
    """A request. The names of its headers are in lower case."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    @property
    def token(self) -> str | None:
        """The bearer token of the request."""
        return self.headers.get("authorization", "").removeprefix("Bearer ") or None


@dataclass(frozen=True)
class Answer:
    """An answer. `body` is sent as JSON unless it is text."""

    body: Any
    status: int = 200
    headers: Mapping[str, str] | None = None


Respond: TypeAlias = Callable[[Asked], Answer]


class _Server(ThreadingHTTPServer):
    request_queue_size = 128  # a connection beyond the queue waits a second, until TCP repeats its first packet
    daemon_threads = False  # server_close then waits for the answers


@contextmanager
def serve(respond: Respond) -> Iterator[str]:
    """Serve until the end of the block, and return the address."""

    class Handler(BaseHTTPRequestHandler):
        def handle_any(self) -> None:
            address = urlsplit(self.path)
            query = {key: values[0] for key, values in parse_qs(address.query).items()}
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            answer = respond(
                Asked(
                    self.command, address.path, query, {key.lower(): value for key, value in self.headers.items()}, body
                )
            )
            content = (answer.body if isinstance(answer.body, str) else json.dumps(answer.body)).encode()
            with suppress(ConnectionError):  # a client may leave before the answer, for example after another error
                self.send_response(answer.status)
                for name, value in {"Content-Type": "application/json", **(answer.headers or {})}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        do_GET = do_POST = handle_any  # noqa: N815 - the names that http.server calls

        def log_message(self, *values: Any) -> None:
            """Write no log."""

    server = _Server(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=[0.005], daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
