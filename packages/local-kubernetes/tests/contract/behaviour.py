"""Behaviours and their registry."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from contract import behaviours
from contract.conversation import Conversation

Script = Callable[..., Awaitable[None]]


@dataclass(frozen=True)
class Behaviour:
    """A script of requests.

    Args:
        topic: Module of the behaviour, and name of the file with its recorded answers.
        name: Name of the behaviour.
        script: Sends the requests.
        arguments: Arguments of the script in addition to the conversation.
    """

    topic: str
    name: str
    script: Script
    arguments: tuple[Any, ...] = ()

    @property
    def ignores_messages(self) -> bool:
        """Whether error messages are not compared."""
        return self.script in _MESSAGES_IGNORED

    @property
    def id(self) -> str:
        """The name of the behaviour as a test."""
        return f"{self.topic}-{self.name}"

    async def run(self, conversation: Conversation) -> None:
        """Send the requests."""
        await self.script(conversation, *self.arguments)


_MESSAGES_IGNORED: set[Script] = set()
_BEHAVIOURS: dict[str, Behaviour] = {}


def behaviour(script: Script) -> Script:
    """Register a script as a behaviour under its own name."""
    _register(Behaviour(_get_topic(script), script.__name__, script))
    return script


def ignore_error_messages(script: Script) -> Script:
    """Do not compare error messages: those of the real server mention its programming language."""
    _MESSAGES_IGNORED.add(script)
    return script


def behaviours_of(cases: Iterable[tuple[Any, ...]]) -> Callable[[Script], Script]:
    """Register a script as one behaviour for each case: a name, then arguments."""

    def register(script: Script) -> Script:
        for name, *arguments in cases:
            _register(Behaviour(_get_topic(script), f"{script.__name__}[{name}]", script, tuple(arguments)))
        return script

    return register


def list_behaviours() -> list[Behaviour]:
    """Return all behaviours, in the order of their topics."""
    for module in iter_modules(behaviours.__path__):
        import_module(f"{behaviours.__name__}.{module.name}")
    return sorted(_BEHAVIOURS.values(), key=lambda item: item.topic)


def _register(item: Behaviour) -> None:
    if item.id in _BEHAVIOURS:
        raise ValueError(f"duplicate behaviour: {item.id}")
    _BEHAVIOURS[item.id] = item


def _get_topic(script: Script) -> str:
    return script.__module__.rpartition(".")[2]
