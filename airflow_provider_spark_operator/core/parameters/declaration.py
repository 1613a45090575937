"""The declaration of a parameter: its check, and its option on the command line."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, Final

from .validators import Check

_KEY: Final = "declaration"


class Form(StrEnum):
    """How the value of a parameter is written: in Airflow as an object of Python, on the command line as text."""

    TEXT = "text"
    FILES = "files"
    """Names of files, separated by commas or in repeated options."""
    LIST = "list"
    """Entries, separated by commas or in repeated options."""
    MAP = "map"
    """KEY=VALUE in repeated options."""
    GROUP = "group"
    """One object: `key=value,key=value` or YAML in braces. A plain text stays a text."""
    GROUPS = "groups"
    """Objects in repeated options."""
    FILE = "file"
    """The name of a file with the value."""
    WORDS = "words"
    """The words after the options."""


class Panel(StrEnum):
    """The headings of the options in the help of the command line."""

    PROGRAM = "Program"
    RESOURCES = "Resources of the pods"
    SPARK = "Spark"
    PODS = "Settings of the pods"
    LIFECYCLE = "Lifecycle"
    QUEUE = "Queues and schedulers"


@dataclass(frozen=True)
class Declaration:
    """The check, the form and the option of a parameter.

    Attributes:
        check: The check of a value that is known.
        form: How the value is written.
        panel: The heading of the option.
        metavar: The name of the value in the help.
        help: The meaning of the parameter.
        flag: The option. If empty, the option is the name of the parameter with hyphens instead of underscores.
        words: The words that a shell completes.
    """

    check: Check
    form: Form
    panel: Panel
    metavar: str
    help: str
    flag: str = ""
    words: tuple[str, ...] = ()


def declare(
    check: Check, form: Form, panel: Panel, metavar: str, meaning: str, *, flag: str = "", words: tuple[str, ...] = ()
) -> Any:
    """Return the field of a parameter. Its default is None. See `Declaration`."""
    return field(default=None, metadata={_KEY: Declaration(check, form, panel, metavar, meaning, flag, words)})


def read_declarations(parameters: type) -> Mapping[str, Declaration]:
    """Return the declarations of the fields by their names."""
    return {one.name: one.metadata[_KEY] for one in fields(parameters)}
