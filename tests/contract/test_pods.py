"""A real API server gives the recorded answers to pods, with which the tests of `core.validation` compare the rules."""

import pytest

from tests.core.validation.test_pod_rules import list_answers

from contract.conversation import Conversation
from control_plane import Server


async def test_real_server_gives_the_recorded_answers(server: Server, conversation: Conversation) -> None:
    if server.name != "kubernetes":
        pytest.skip("the local server does not check what its node ignores")
    different = []
    for group, name, spec, status in list_answers():
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec}
        reply = await conversation.ask("POST", conversation.path("pods?dryRun=All"), pod)
        if reply.status != status:
            different.append((group, name, reply.status))
    assert different == []
