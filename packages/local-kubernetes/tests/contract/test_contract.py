"""Each behaviour on the local API server and, if there is one, on a real one: the answers equal the recorded ones."""

from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from contract import recording
from contract.behaviour import Behaviour, list_behaviours
from contract.conversation import Conversation
from contract.differences import DIFFERENCES, find_difference

BEHAVIOURS = list_behaviours()


@pytest.mark.parametrize("behaviour", BEHAVIOURS, ids=lambda item: item.id)
async def test_answers_equal_those_of_the_real_server(
    behaviour: Behaviour, conversation: Conversation, request: pytest.FixtureRequest
) -> None:
    await behaviour.run(conversation)
    real = request.node.callspec.params["server"] == "kubernetes"
    if real and request.config.getoption("--record", default=False):
        recording.store(behaviour, conversation.record)
    difference = find_difference(behaviour)
    if difference is None or real:
        assert conversation.record == recording.read_recorded(behaviour)
    else:
        assert conversation.record != recording.read_recorded(behaviour), f"behaviour no longer differs: {difference}"


@pytest.mark.parametrize("pattern", DIFFERENCES)
def test_differences_are_behaviours_and_documented(pattern: str) -> None:
    assert any(fnmatchcase(item.id, pattern) for item in BEHAVIOURS)
    docs = Path(__file__).parents[4] / "docs"
    page = " ".join((docs / "internals" / "local-kubernetes.md").read_text(encoding="utf-8").split())
    assert DIFFERENCES[pattern] in page


def test_there_are_at_least_150_behaviours() -> None:
    assert len(BEHAVIOURS) >= 150


def test_every_recorded_answer_belongs_to_a_behaviour(request: pytest.FixtureRequest) -> None:
    topics = {path.stem for path in Path(recording.__file__).with_name("recorded").iterdir()}
    known = {topic: {item.name for item in BEHAVIOURS if item.topic == topic} for topic in topics}
    unknown = {topic: names for topic in topics if (names := recording.list_names(topic) - known[topic])}
    if request.config.getoption("--record", default=False):
        for topic, names in unknown.items():
            recording.forget(topic, names)
        return
    assert unknown == {}
