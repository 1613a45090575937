"""The API server, which has kubectl's library for YAML, reads texts as recorded, and reads what this package writes."""

import json
from collections.abc import AsyncIterator

import pytest

from airflow_provider_spark_operator.kube.yaml_text import load
from airflow_provider_spark_operator.kube.yaml_writer import dump
from tests.kube.kubectl_readings import READINGS, REFUSALS

from contract.conftest import REAL_SERVER_IS_GIVEN, open_conversation
from contract.conversation import Conversation
from contract.documents import EXAMPLE, build_thing
from control_plane import Server

pytestmark = pytest.mark.skipif(not REAL_SERVER_IS_GIVEN, reason="there is no real API server")
TEXTS = [text for text, _ in READINGS]


@pytest.fixture
async def real(real_server: Server) -> AsyncIterator[Conversation]:
    """A conversation with the real server."""
    async with open_conversation(real_server) as conversation:
        yield conversation


def show(value: object) -> str:
    """Return a value as JSON in which integers are floating-point numbers, so that `1` equals `1.0` but not `true`."""
    return json.dumps(json.loads(json.dumps(value), parse_int=float), sort_keys=True)


async def send(conversation: Conversation, name: str, free: str) -> object:
    """Return the value that the server stores for a text, None if it refuses the text."""
    head = f"apiVersion: {EXAMPLE}\nkind: Thing\nmetadata: {{name: {name}}}\nspec:\n  name: abc\n  free:\n"
    body = head + "".join(f"    {line}\n" for line in free.splitlines())
    reply = await conversation.ask("POST", conversation.path("things", EXAMPLE), body, content_type="application/yaml")
    return reply.body["spec"]["free"] if reply.status == 201 else None


async def test_recorded_readings_are_those_of_the_server(real: Conversation) -> None:
    for number, (text, value) in enumerate(READINGS):
        assert show(await send(real, f"read-{number}", text)) == show(value)
    for number, text in enumerate(REFUSALS):
        assert await send(real, f"refused-{number}", text) is None


async def test_server_reads_what_the_package_writes(real: Conversation) -> None:
    document = build_thing("written", {"free": {"texts": TEXTS, **{text: text for text in TEXTS if text}}})
    path = real.path("things", EXAMPLE)
    reply = await real.ask("POST", path, dump(document), content_type="application/yaml")
    assert reply.body["spec"]["free"] == document["spec"]["free"] == load(dump(document))["spec"]["free"]
