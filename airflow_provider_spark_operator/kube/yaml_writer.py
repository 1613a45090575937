"""Write YAML that every parser reads alike, although YAML 1.1, YAML 1.2 and kubectl read some scalars differently."""

import json
import re
import sys
from typing import Final

import yaml

# A parser can read words, numbers, times and special keys of YAML 1.1 as another value. The numbers here include more
# than any parser reads, except texts with two dots, which are versions.
_AMBIGUOUS: Final = re.compile(
    r"(?:|~|=|<<|y|n|yes|no|on|off|true|false|null|[-+]?\.(?:inf|nan)"
    r"|[-+]?\.?[0-9_](?!.*\..*\.)[0-9a-fox_:.,+-]*|[0-9]{4}-[0-9].*)\Z",
    re.IGNORECASE,
)


class _Dumper(yaml.SafeDumper):
    """A dumper whose texts are quoted if a parser could read them as another value."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, _choose_style(text))


def _choose_style(text: str) -> str | None:
    if text.isprintable():
        return "'" if _AMBIGUOUS.match(text) else None
    return "|" if _is_literal(text) else '"'


def _is_literal(text: str) -> bool:
    """Return whether a text of several lines can be a literal block, which all parsers read alike."""
    return text[0] not in " \n" and all(line.isprintable() and not line.endswith(" ") for line in text.split("\n"))


_Dumper.add_representer(str, _represent_text)


def dump(value: object, *, sort_keys: bool = False, is_document: bool = False, allow_unicode: bool = True) -> str:
    """Return a value as YAML that parsers of YAML 1.1 and 1.2, and kubectl, read alike.

    Args:
        value: The value, of the types of JSON.
        sort_keys: Whether to sort the keys.
        is_document: Whether to begin with the separator of documents.
        allow_unicode: Whether characters outside of ASCII are written as they are.
    """
    # The round trip through JSON makes copies of shared parts, so that YAML writes no references between them.
    text: str = yaml.dump(
        json.loads(json.dumps(value)),
        Dumper=_Dumper,
        sort_keys=sort_keys,
        explicit_start=is_document,
        allow_unicode=allow_unicode,
        width=sys.maxsize,  # parsers differ on the folds of long texts
    )
    return text


def quote(text: str) -> str:
    """Return a text as a scalar for a line of YAML."""
    return dump([text]).removeprefix("- ").removesuffix("\n")
