import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def close_databases(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Close the databases that a test leaves open, as the end of a process does: Python 3.13 reports open ones."""
    opened: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def connect_and_remember(*words: Any, **options: Any) -> sqlite3.Connection:
        opened.append(connect(*words, **options))
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", connect_and_remember)
    yield
    for connection in opened:
        connection.close()
