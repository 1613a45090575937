"""Reading YAML documents that a command line names."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from airflow_provider_spark_operator.bounded_yaml import BoundedLoader, ExcessiveYaml
from airflow_provider_spark_operator.cli.errors import CommandError
from airflow_provider_spark_operator.cli.exit_codes import ExitCode

STANDARD_INPUT = "-"


@dataclass(frozen=True)
class SourceDocument:
    """One document of a YAML stream and where it stands: `source` is the file, `line` counts from 1."""

    source: str
    line: int
    content: object


class DocumentError(CommandError):
    """A file that is not there, cannot be read or is not YAML; str() names it."""

    def __init__(self, message: str) -> None:
        super().__init__(message, ExitCode.INVALID)


def read_text(path: str) -> str:
    """The text of a file, or of standard input for `-`.

    Raises:
        DocumentError: missing, a folder, not permitted, or not UTF-8.
    """
    try:
        if path == STANDARD_INPUT:
            return sys.stdin.read()
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        reason = error.strerror or str(error)
        raise DocumentError(f"{_named(path)}: cannot be read: {reason[:1].lower()}{reason[1:]}") from None
    except UnicodeDecodeError as error:
        raise DocumentError(f"{_named(path)}: cannot be read: not UTF-8 text (byte {error.start})") from None


def read_documents(path: str) -> Iterator[SourceDocument]:
    """The non-empty documents of a YAML (or JSON) file; those before a mistake come before its error.

    Raises:
        DocumentError: see `read_text`; or not YAML, or without any document.
    """
    source = _named(path)
    text = read_text(path)
    found = False
    try:
        loader = BoundedLoader(text)
        while loader.check_node():
            node = loader.get_node()
            content = loader.construct_document(node)
            if content is not None:
                found = True
                yield SourceDocument(source, node.start_mark.line + 1 if node else 1, content)
    except ExcessiveYaml as error:
        raise DocumentError(f"{source}: not usable: {_sentence(error)}") from None
    except yaml.YAMLError as error:
        raise DocumentError(f"{source}: not YAML: {_sentence(error)}") from None
    if not found:
        raise DocumentError(f"{source}: holds no document")


def _sentence(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or " ".join(str(error).split())
    return f"{problem} (line {mark.line + 1}, column {mark.column + 1})" if mark else problem


def _named(path: str) -> str:
    return "standard input" if path == STANDARD_INPUT else path
