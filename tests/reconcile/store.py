"""An endpoint that serves one file with the protocols of three object stores, as far as their clients need them."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import SplitResult, urlsplit

NAME = "pod.yaml"
EVERY = {
    "ETag": '"1"',
    "Last-Modified": "Sat, 01 Jan 2022 00:00:00 GMT",
    "x-ms-blob-type": "BlockBlob",
    "x-ms-request-id": "1",
    "x-ms-version": "2021-08-06",
}
FOUND: Mapping[str, str] = {}
GOOGLE_NOTHING = b'{"items": []}'
S3_NOTHING = b"<ListBucketResult><Name>bucket</Name><KeyCount>0</KeyCount></ListBucketResult>"
AZURE_NOTHING = b'<?xml version="1.0"?><EnumerationResults><Blobs/><NextMarker/></EnumerationResults>'


def build_metadata(content: bytes) -> bytes:
    """Build the metadata of the file in Google's object store."""
    return json.dumps(
        {
            "kind": "storage#object",
            "name": NAME,
            "bucket": "bucket",
            "size": str(len(content)),
            "updated": "2022-01-01T00:00:00Z",
            "timeCreated": "2022-01-01T00:00:00Z",
        }
    ).encode()


class Store(BaseHTTPRequestHandler):
    """Serves the file over each of the protocols."""

    protocol_version = "HTTP/1.1"
    content = b""

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        listing = self.get_empty_list(address)
        if listing is not None:
            self.answer(200, listing)
        elif not address.path.endswith(f"/{NAME}"):
            self.answer(404, b"")
        elif address.path.startswith("/storage/v1/") and "alt=media" not in address.query:
            self.answer(200, build_metadata(self.content))
        else:
            self.file()

    def get_empty_list(self, address: SplitResult) -> bytes | None:
        if address.path.rstrip("/") == "/bucket":
            return S3_NOTHING
        if address.path.endswith("/o"):
            return GOOGLE_NOTHING
        return AZURE_NOTHING if "comp=list" in address.query else None

    def file(self) -> None:
        wanted = re.match(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or self.headers.get("x-ms-range") or "")
        if wanted is None:
            self.answer(200, self.content)
            return
        end = len(self.content)
        first, last = int(wanted[1]), min(int(wanted[2] or end), end - 1)
        self.answer(206, self.content[first : last + 1], {"Content-Range": f"bytes {first}-{last}/{end}"})

    def answer(self, status: int, body: bytes, further: Mapping[str, str] = FOUND) -> None:
        self.send_response(status)
        kind = {b"{": "application/json", b"<": "application/xml"}.get(body[:1], "text/plain")
        headers = {"Content-Length": str(len(body)), "Content-Type": kind, **EVERY, **further}
        if status == 404:
            headers["x-ms-error-code"] = "BlobNotFound"
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serve_file(content: bytes) -> Iterator[str]:
    """Serve a file as `pod.yaml` of the bucket or container `bucket`; yield the URL of the endpoint."""
    handler = type("Filled", (Store,), {"content": content})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True  # the clients keep their connections open
    thread = Thread(target=server.serve_forever, args=[0.005])
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
