"""Behaviours, and the collection of all of them."""

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
    def own_words(self) -> bool:
        """Whether error messages are not compared."""
        return self.script in _OWN_WORDS

    @property
    def id(self) -> str:
        """The name of the behaviour as a test."""
        return f"{self.topic}-{self.name}"

    async def run(self, conversation: Conversation) -> None:
        """Send the requests."""
        await self.script(conversation, *self.arguments)


_OWN_WORDS: set[Script] = set()
_FOUND: dict[str, Behaviour] = {}


def behaviour(script: Script) -> Script:
    """Register a script as a behaviour under its own name."""
    _collect(Behaviour(_get_topic(script), script.__name__, script))
    return script


def in_own_words(script: Script) -> Script:
    """Do not compare error messages: those of the real server mention its programming language."""
    _OWN_WORDS.add(script)
    return script


def behaviours_of(cases: Iterable[tuple[Any, ...]]) -> Callable[[Script], Script]:
    """Register a script as one behaviour for each case: a name, then arguments."""

    def take(script: Script) -> Script:
        for name, *arguments in cases:
            _collect(Behaviour(_get_topic(script), f"{script.__name__}[{name}]", script, tuple(arguments)))
        return script

    return take


def list_behaviours() -> list[Behaviour]:
    """Return all behaviours, in the order of their topics."""
    for module in iter_modules(behaviours.__path__):
        import_module(f"{behaviours.__name__}.{module.name}")
    return sorted(_FOUND.values(), key=lambda item: item.topic)


def _collect(found: Behaviour) -> None:
    if found.id in _FOUND:
        raise ValueError(f"two behaviours are called {found.id}")
    _FOUND[found.id] = found


def _get_topic(script: Script) -> str:
    return script.__module__.rpartition(".")[2]
