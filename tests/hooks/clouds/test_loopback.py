import socket
import struct
from threading import Event
from urllib.parse import urlsplit

import pytest

from tests.hooks.clouds.loopback import Answer, Asked, serve


def test_client_that_leaves_before_the_answer_causes_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    has_asked, has_left = Event(), Event()

    def respond(asked: Asked) -> Answer:
        has_asked.set()
        assert has_left.wait(30)
        return Answer("x" * 10_000_000)

    with serve(respond) as address:
        place = urlsplit(address)
        client = socket.create_connection((place.hostname, place.port), timeout=30)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # close with a reset
        client.sendall(b"GET / HTTP/1.0\r\n\r\n")
        assert has_asked.wait(30)
        client.close()
        has_left.set()
    assert capsys.readouterr().err == ""
