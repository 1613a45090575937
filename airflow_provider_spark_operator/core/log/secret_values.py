"""Secrets in a resource: where they are, which values they have, and how they are removed from texts.

A worker knows which values are secret, because it has read them from connections and variables. Another process learns
only the places of the secrets, and reads the values from the resource.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

Mask: TypeAlias = Callable[[str], str]
"""Returns a text with `MASK` in place of each secret."""

MASK: Final = "***"
"""What Airflow shows in place of a secret."""

SecretPlace: TypeAlias = Sequence[Any]
"""The keys and indexes that lead to a text, then the start and the end of the secret in the text; JSON values."""

# Shorter texts occur everywhere. Airflow does not mask them either.
_SHORTEST: Final = 5
_ELLIPSIS: Final = "…"
# The text after a secret may also occur within the secret.
_MOST_GUESSES: Final = 1000
_MOST_STARS: Final = 10_000
# The parts of a resource that the user does not write.
_FOREIGN: Final = frozenset({"status", "managedFields"})


def find_secret_places(document: Mapping[str, Any], mask: Mask) -> list[SecretPlace]:
    """Return the places of the secrets in a resource, one for each value.

    Args:
        document: The resource.
        mask: Masks the secrets.
    """
    found: dict[str, SecretPlace] = {}
    for path, text in _list_texts(document, []):
        for start, end in _find_spans(text, mask):
            found.setdefault(text[start:end], [path, start, end])
    return [*found.values()]


def read_secrets(document: Mapping[str, Any], places: Iterable[SecretPlace]) -> list[str]:
    """Return the values at these places. Places that the resource does not have are ignored.

    Args:
        document: The resource, possibly of another try, whose values differ.
        places: The places, see `find_secret_places`.
    """
    texts = ((_read(document, path), start, end) for path, start, end in places)
    return [text[start:end] for text, start, end in texts if isinstance(text, str)]


class Redaction:
    """Removes secrets from texts. Without secrets, texts stay unchanged."""

    def __init__(self) -> None:
        self._secrets: tuple[str, ...] = ()
        self._pattern: re.Pattern[str] | None = None

    def add(self, secrets: Iterable[str]) -> None:
        """Remove these secrets from now on, too. Very short ones are ignored."""
        # Sentences have one line, so the white space of a secret may have changed.
        forms = {form for secret in secrets for form in (secret, " ".join(secret.split())) if len(form) >= _SHORTEST}
        # The longest first: a secret may contain another one.
        self._secrets = tuple(sorted({*self._secrets, *forms}, key=len, reverse=True))
        self._pattern = re.compile("|".join(map(re.escape, self._secrets))) if self._secrets else None

    def hide(self, text: str) -> str:
        """Return `text` without the secrets, and without the beginning of a secret where a line was shortened."""
        if self._pattern is None:
            return text
        text = self._pattern.sub(MASK, text)
        return "\n".join(map(self._hide_beginning, text.split("\n"))) if _ELLIPSIS in text else text

    def _hide_beginning(self, line: str) -> str:
        kept = line.removesuffix(_ELLIPSIS)
        if kept == line:
            return line
        starts = [start for secret in self._secrets if (start := _find_beginning(kept, secret)) >= 0]
        return kept[: min(starts)] + MASK + _ELLIPSIS if starts else line


def _find_beginning(text: str, secret: str) -> int:
    """Return where the first characters of a secret begin, with which the text ends; -1 if it does not."""
    start = text.find(secret[:_SHORTEST], max(0, len(text) - len(secret)))
    while start >= 0 and not secret.startswith(text[start:]):
        start = text.find(secret[:_SHORTEST], start + 1)
    return start


def _list_texts(value: object, path: list[str | int]) -> Iterator[tuple[list[str | int], str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if key not in _FOREIGN or path not in ([], ["metadata"]):
                yield from _list_texts(inner, [*path, key])
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _list_texts(inner, [*path, index])


def _find_spans(text: str, mask: Mask) -> list[tuple[int, int]]:
    """Return where the secrets of a text begin and end. If that remains unknown, the whole text counts as secret."""
    masked = mask(text)
    spans: list[tuple[int, int]] = []
    position = masked_position = 0  # the same place in both texts
    for _ in range(_MOST_STARS):
        star = masked.find(MASK[0], masked_position)
        if star < 0:
            return spans
        position, masked_position = position + star - masked_position, star
        rest = text[position : position + _MOST_GUESSES]
        if rest.startswith(MASK[0]) and mask(rest) == MASK[0] + mask(rest[1:]):
            position, masked_position = position + 1, masked_position + 1  # the text itself contains this star
            continue
        masked_position += len(MASK)
        end = _find_end(text, position, masked, masked_position, mask)
        if mask(text[position : max(position, end)]) != MASK:
            break
        spans.append((position, end))
        position = end
    return [*spans, (0, len(text))]


def _find_end(text: str, begin: int, masked: str, after: int, mask: Mask) -> int:
    """Return where the secret ends that begins at `begin`; -1 if that cannot be found.

    Args:
        text: The text.
        begin: The start of the secret in the text.
        masked: The text without secrets.
        after: The position after the secret in `masked`.
        mask: Masks the secrets.
    """
    star = masked.find(MASK[0], after)
    if star < 0:
        return len(text) - len(masked) + after
    end = begin
    for _ in range(_MOST_GUESSES):
        end = text.find(masked[after:star], end + 1)
        found = text[begin : max(begin, end)]
        if end < 0 or (found != MASK and mask(found) == MASK):
            return end
    return -1


def _read(document: object, path: Iterable[Any]) -> object:
    """Return the value at a path; None if there is none."""
    for key in path:
        if not isinstance(document, (Mapping, list)):
            return None
        try:
            document = document[key]
        except (LookupError, TypeError):
            return None
    return document
