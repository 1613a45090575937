"""Secrets in a resource: where they are, which values they have, and how they are removed from texts.

A worker knows which values are secret, because it has read them from connections and variables. Another process learns
only the places of the secrets, and reads the values from the resource.
"""

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias
from urllib.parse import quote, unquote_plus

from .driver_log import HIDDEN, NAMES_OF_SECRETS, redact

Mask: TypeAlias = Callable[[str], str]
"""Returns a text with `MASK` in place of each secret."""

MASK: Final = "***"
"""What Airflow shows in place of a secret."""

SecretPlace: TypeAlias = Sequence[Any]
"""The keys and indexes that lead to a text, then the start and the end of the secret in the text; JSON values.

If the text contains the secret in another form, the names of the decoders follow, in their order. The start and the
end are then positions in the decoded text.
"""

# Shorter texts occur everywhere. Airflow does not mask them either.
_SHORTEST: Final = 5
_ELLIPSIS: Final = "…"
# The text after a secret may also occur within the secret.
_MAX_GUESSES: Final = 1000
_MAX_STARS: Final = 10_000
# The parts of a resource that the user does not write.
_FOREIGN: Final = frozenset({"status", "managedFields"})
_MAX_DECODERS: Final = 2
_JSON_ESCAPES: Final = re.compile(r'(?:\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt]))+')
_BASE64: Final = re.compile("[A-Za-z0-9+/_-]{7,}={0,2}")
_BASE64_PIECE: Final = re.compile("[A-Za-z0-9+]{7,}={0,2}")
_URL_SAFE: Final = str.maketrans("+/", "-_")
_STANDARD: Final = str.maketrans("-_", "+/")
_TEMPLATE_ESCAPES: Final = str.maketrans({character: f"\\u{ord(character):04x}" for character in "<>&'"})
# The quantifier does not give back what it has matched: the time is linear.
_NAME: Final = rf"(?=[\w.-]*?(?:{NAMES_OF_SECRETS}))[\w.-]++"
_IS_SECRET: Final = re.compile(_NAME, re.IGNORECASE)
_IS_OPTION: Final = re.compile(rf"-{_NAME}", re.IGNORECASE)
_ASSIGNMENT: Final = re.compile(rf"({_NAME}=).+", re.IGNORECASE | re.DOTALL)
_OPTION_IN_TEXT: Final = re.compile(rf"((?<!\S)-{_NAME}\s+)(?!--)\S+", re.IGNORECASE)
# Their values are names of Secrets.
_REFERENCES: Final = frozenset({"secretName"})


def _decode_json(text: str) -> str:
    return _JSON_ESCAPES.sub(lambda found: str(json.loads(f'"{found[0]}"')), text)


def _decode_base64(text: str) -> str:
    return _BASE64.sub(lambda found: _decode_base64_word(found[0]), text)


def _decode_base64_word(word: str) -> str:
    """Decode a word. If it is not base64, other words may touch the base64 text with one of `/-_`."""
    decoded = _decode_digits(word)
    if decoded is None:
        return _BASE64_PIECE.sub(lambda found: _decode_digits(found[0]) or found[0], word)
    return decoded


def _decode_digits(word: str) -> str | None:
    digits = word.rstrip("=").translate(_STANDARD)
    try:
        return base64.b64decode(digits + "=" * (-len(digits) % 4)).decode()
    except ValueError:
        return None


# The forms that connections and templates give a value: `get_uri`, `urlencode`, `tojson`, `b64encode`. The
# time of each decoder is linear.
_DECODERS: Final[Mapping[str, Callable[[str], str]]] = {
    "url": unquote_plus,
    "json": _decode_json,
    "base64": _decode_base64,
}


def find_secret_places(document: Mapping[str, Any], mask: Mask) -> list[SecretPlace]:
    """Return the places of the secrets in a resource, one for each value.

    Args:
        document: The resource.
        mask: Masks the secrets.
    """
    found: dict[str, SecretPlace] = {}
    for path, text in _list_texts(document, []):
        for decoded, decoders in _list_forms(text).items():
            for start, end in _find_spans(decoded, mask):
                found.setdefault(decoded[start:end], [path, start, end, *decoders])
    return [*found.values()]


def read_secrets(document: Mapping[str, Any], places: Iterable[SecretPlace]) -> list[str]:
    """Return the values at these places. Places that the resource does not have are ignored.

    Args:
        document: The resource, possibly of another try, whose values differ.
        places: The places, see `find_secret_places`.
    """
    texts: dict[str, str | None] = {}
    values = []
    for path, start, end, *decoders in places:
        source = str((path, decoders))
        if source not in texts:
            texts[source] = _decode(_read(document, path), decoders)
        text = texts[source]
        if text is not None:
            values.append(text[start:end])
    return values


class Redaction:
    """Removes secrets from texts. Without secrets, texts stay unchanged."""

    def __init__(self) -> None:
        self._secrets: tuple[str, ...] = ()
        self._pattern: re.Pattern[str] | None = None

    def add(self, secrets: Iterable[str]) -> None:
        """Remove these secrets from now on, too. Very short ones are ignored."""
        forms = {form for secret in secrets for form in _encode(secret) if len(form) >= _SHORTEST}
        # The longest first: a secret may contain another one.
        self._secrets = tuple(sorted({*self._secrets, *forms}, key=len, reverse=True))
        self._pattern = re.compile("|".join(map(re.escape, self._secrets))) if self._secrets else None

    def hide(self, text: str) -> str:
        """Return `text` without the secrets, and without the parts of a secret where a line was shortened."""
        if self._pattern is None:
            return text
        text = self._pattern.sub(MASK, text)
        return "\n".join(map(self._hide_parts, text.split("\n"))) if _ELLIPSIS in text else text

    def _hide_parts(self, line: str) -> str:
        *others, last = line.split(_ELLIPSIS)
        parts = [*(_hide_beginning(part, self._secrets) for part in others), last]
        reverse = [secret[::-1] for secret in self._secrets]
        ends = (_hide_beginning(part[::-1], reverse)[::-1] for part in parts[1:])
        return _ELLIPSIS.join([parts[0], *ends])


def _hide_beginning(text: str, secrets: Iterable[str]) -> str:
    """Return a text without the beginning of a secret with which it ends."""
    starts = [start for secret in secrets if (start := _find_beginning(text, secret)) >= 0]
    return text[: min(starts)] + MASK if starts else text


def _find_beginning(text: str, secret: str) -> int:
    """Return where the first characters of a secret begin, with which the text ends; -1 if it does not."""
    start = text.find(secret[:_SHORTEST], max(0, len(text) - len(secret)))
    while start >= 0 and not secret.startswith(text[start:]):
        start = text.find(secret[:_SHORTEST], start + 1)
    return start


def _encode(secret: str) -> tuple[str, ...]:
    """Return a secret and its forms in URLs, in JSON and in base64."""
    content = secret.encode(errors="replace")
    in_json = json.dumps(secret)[1:-1]
    return (
        secret,
        " ".join(secret.split()),  # sentences have one line, so the white space of a secret may have changed
        quote(content),
        quote(content, safe=""),
        in_json,
        in_json.translate(_TEMPLATE_ESCAPES),
        json.dumps(secret, ensure_ascii=False)[1:-1],
        *_encode_base64(content),
    )


def _encode_base64(content: bytes) -> Iterator[str]:
    """Yield the forms of a text in base64. Other texts may surround it, which determine its first and last digits."""
    whole = base64.b64encode(content).decode()
    forms = [whole, whole.rstrip("=")]
    for before, first in enumerate((0, 2, 3)):  # the bytes before it, and the digits that depend on them
        digits = base64.b64encode(bytes(before) + content).decode()
        forms.append(digits[first : (before + len(content)) * 8 // 6])
    yield from forms
    yield from (form.translate(_URL_SAFE) for form in forms)


def _decode(value: object, decoders: Iterable[str]) -> str | None:
    """Return a text after these decoders; None if the value is not a text."""
    if not isinstance(value, str):
        return None
    for name in decoders:
        value = _DECODERS[name](value)
    return value


def _list_forms(text: str) -> dict[str, list[str]]:
    """Return a text and what it may be decoded to, each with the names of the decoders."""
    forms: dict[str, list[str]] = {text: []}
    for _ in range(_MAX_DECODERS):
        for decoded, decoders in [*forms.items()]:
            for name, decode in _DECODERS.items():
                forms.setdefault(decode(decoded), [*decoders, name])
    return forms


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
    for _ in range(_MAX_STARS):
        star = masked.find(MASK[0], masked_position)
        if star < 0:
            return spans
        position, masked_position = position + star - masked_position, star
        rest = text[position : position + _MAX_GUESSES]
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
    for _ in range(_MAX_GUESSES):
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


def hide_secrets(value: object, name: str = "") -> object:
    """Return a JSON value without the values of settings, environment variables and options with names of secrets.

    Args:
        value: The value. It is not changed.
        name: The name of the field with this value.
    """
    if isinstance(value, Mapping):
        variable = str(value.get("name", ""))
        return {key: hide_secrets(inner, variable if key == "value" else key) for key, inner in value.items()}
    if isinstance(value, list):
        if all(isinstance(inner, str) for inner in value):
            return hide_arguments(value)
        return [hide_secrets(inner) for inner in value]
    if value is None or isinstance(value, bool):
        return value
    if _IS_SECRET.fullmatch(name) and name not in _REFERENCES:
        return HIDDEN
    return _hide_in_text(value) if isinstance(value, str) else value


def hide_arguments(words: Sequence[str]) -> list[str]:
    """Return the words of a command line without the values of options and settings with names of secrets."""
    return [
        HIDDEN
        if _IS_OPTION.fullmatch(before) and not word.startswith("--")
        else _hide_in_text(_ASSIGNMENT.sub(rf"\1{HIDDEN}", word) if _ASSIGNMENT.fullmatch(word) else word)
        for before, word in zip(["", *words], words, strict=False)
    ]


def _hide_in_text(text: str) -> str:
    return redact(_OPTION_IN_TEXT.sub(rf"\1{HIDDEN}", text))
