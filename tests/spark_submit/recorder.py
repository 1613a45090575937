"""An API endpoint that accepts and records all requests."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

UID = "00000000-0000-4000-8000-000000000000"


@dataclass
class Recorder:
    """The recorded request bodies in order, and the URL of the endpoint."""

    url: str = ""
    sent: list[dict[str, Any]] = field(default_factory=list)

    def take(self) -> list[dict[str, Any]]:
        """Return and remove the recorded bodies."""
        taken, self.sent = self.sent, []
        return taken


@contextmanager
def record_requests() -> Iterator[Recorder]:
    recorder = Recorder()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            recorder.sent.append(json.loads(text))
            stored = json.loads(text)
            stored["metadata"] |= {"uid": UID, "resourceVersion": "1"}
            body = json.dumps(stored).encode()
            self.send_response(201)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_PATCH = do_POST  # noqa: N815 - named by the base class

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=[0.005])
    thread.start()
    recorder.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield recorder
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
