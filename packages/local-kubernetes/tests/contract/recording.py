"""The recorded answers of the real server: one file for each topic."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from contract.behaviour import Behaviour

_FOLDER = Path(__file__).parent / "recorded"


def read_recorded(behaviour: Behaviour) -> Any:
    """Return the recorded answers; None if there are none."""
    return _read_topic(behaviour.topic).get(behaviour.name)


def store(behaviour: Behaviour, record: list[Any]) -> None:
    """Store the answers of a behaviour and replace earlier ones."""
    answers = _read_topic(behaviour.topic)
    answers[behaviour.name] = record
    text = json.dumps(dict(sorted(answers.items())), indent=1, ensure_ascii=False)
    _build_path(behaviour.topic).write_text(text + "\n", encoding="utf-8")


def list_names(topic: str) -> set[str]:
    """Return the names of the recorded behaviours of a topic."""
    return set(_read_topic(topic))


def forget(topic: str, names: set[str]) -> None:
    """Delete the recorded answers of the named behaviours."""
    answers = {name: record for name, record in _read_topic(topic).items() if name not in names}
    _build_path(topic).write_text(json.dumps(answers, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


@cache
def _read_topic(topic: str) -> dict[str, Any]:
    path = _build_path(topic)
    answers: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return answers


def _build_path(topic: str) -> Path:
    return _FOLDER / f"{topic}.json"
