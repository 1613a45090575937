"""What a behaviour is, and where all of them are collected."""

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
        topic: the module that it is of, and the file that its recorded answers are in.
        name: what it shows.
        script: the requests.
        arguments: what the script is called with besides the conversation.
    """

    topic: str
    name: str
    script: Script
    arguments: tuple[Any, ...] = ()

    @property
    def own_words(self) -> bool:
        """Whether the sentences of refusals are not compared."""
        return self.script in _OWN_WORDS

    @property
    def id(self) -> str:
        """The name that is shown for the test."""
        return f"{self.topic}-{self.name}"

    async def run(self, conversation: Conversation) -> None:
        """Send its requests."""
        await self.script(conversation, *self.arguments)


_OWN_WORDS: set[Script] = set()
_FOUND: dict[str, Behaviour] = {}


def behaviour(script: Script) -> Script:
    """Take a script as a behaviour by its own name."""
    _collect(Behaviour(_topic(script), script.__name__, script))
    return script


def in_own_words(script: Script) -> Script:
    """Leave the sentences of refusals out: the real server's speak of its programming language."""
    _OWN_WORDS.add(script)
    return script


def behaviours_of(cases: Iterable[tuple[Any, ...]]) -> Callable[[Script], Script]:
    """Take a script as one behaviour for each case: its name, then its arguments."""

    def take(script: Script) -> Script:
        for name, *arguments in cases:
            _collect(Behaviour(_topic(script), f"{script.__name__}[{name}]", script, tuple(arguments)))
        return script

    return take


def all_behaviours() -> list[Behaviour]:
    """All behaviours there are, in the order of their topics."""
    for module in iter_modules(behaviours.__path__):
        import_module(f"{behaviours.__name__}.{module.name}")
    return sorted(_FOUND.values(), key=lambda item: item.topic)


def _collect(found: Behaviour) -> None:
    if found.id in _FOUND:
        raise ValueError(f"two behaviours are called {found.id}")
    _FOUND[found.id] = found


def _topic(script: Script) -> str:
    return script.__module__.rpartition(".")[2]
