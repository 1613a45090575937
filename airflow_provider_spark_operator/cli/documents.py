"""Read the YAML documents that a command line names."""

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from airflow_provider_spark_operator.cli.errors import CommandError
from airflow_provider_spark_operator.cli.exit_codes import ExitCode
from airflow_provider_spark_operator.kube.yaml_text import (
    BoundedLoader,
    DuplicateKey,
    ExcessiveYaml,
    Mark,
    Node,
    YamlError,
    describe_position,
)

STANDARD_INPUT = "-"
LARGEST_INPUT = 16 * 1024 * 1024
"""Maximum size of an input, in bytes."""


@dataclass(frozen=True)
class SourceDocument:
    """One document of a YAML stream.

    Attributes:
        source: The name of the file.
        line: The first line of the document in the file, from 1.
        content: The value of the document.
        node: The nodes of the document, which have the positions of its fields.
    """

    source: str
    line: int
    content: object
    node: Node


class DocumentError(CommandError):
    """A file does not exist, cannot be read or is not YAML.

    Attributes:
        source: The name of the file, or `standard input`.
        problem: The problem, without the name of the file and the position.
        mark: The position of an error in YAML; None if it is unknown.
    """

    def __init__(self, source: str, problem: str, cause: YamlError | None = None) -> None:
        position = describe_position(cause) if cause else None
        super().__init__(f"{source}: {problem} ({position})" if position else f"{source}: {problem}", ExitCode.INVALID)
        self.source = source
        self.problem = problem
        self.mark: Mark | None = getattr(cause, "problem_mark", None)


def read_text(path: str) -> str:
    """Return the text of a file.

    Args:
        path: The path of the file; `-` for standard input.

    Raises:
        DocumentError: The file does not exist, is a directory, is not readable, is too large, or is not UTF-8.
    """
    source = describe_source(path)
    try:
        content = _read_bytes(path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise DocumentError(source, f"cannot be read: {reason[:1].lower()}{reason[1:]}") from None
    if len(content) > LARGEST_INPUT:
        raise DocumentError(source, f"cannot be read: larger than {LARGEST_INPUT >> 20} MiB; split it up")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DocumentError(source, f"cannot be read: not UTF-8 text (byte {error.start})") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _read_bytes(path: str) -> bytes:
    """Return at most one byte more than the maximum, which shows that the input is too large."""
    if path != STANDARD_INPUT:
        if not path:
            raise OSError("the name of the file is empty")
        with Path(path).open("rb") as file:
            return file.read(LARGEST_INPUT + 1)
    if sys.stdin is None:
        raise OSError("it is closed")
    return sys.stdin.buffer.read(LARGEST_INPUT + 1)


def read_documents(path: str, duplicates: list[DocumentError] | None = None) -> Iterator[SourceDocument]:
    """Yield the non-empty documents of a YAML or JSON file. An error is raised after the documents before it.

    Args:
        path: The path of the file; `-` for standard input.
        duplicates: Gets an error for each duplicate key, of which the last value counts. None to raise the first one.

    Raises:
        DocumentError: The file cannot be read (see `read_text`), is not YAML, or contains no document.
    """
    source = describe_source(path)
    text = read_text(path)
    found = False
    repeated: list[DuplicateKey] = []
    try:
        loader = BoundedLoader(text, None if duplicates is None else repeated)
        while loader.check_node():
            node = loader.get_node()
            content = loader.construct_document(node)
            if node is not None and content is not None:
                found = True
                yield SourceDocument(source, node.start_mark.line + 1, content, node)
    except (DuplicateKey, ExcessiveYaml) as error:
        raise _refuse(source, error) from None
    except YamlError as error:
        raise DocumentError(source, f"not YAML: {_get_problem(error)}", error) from None
    finally:
        if duplicates is not None:
            duplicates += [_refuse(source, error) for error in repeated]
    if not found:
        raise DocumentError(source, "contains no document")


def _refuse(source: str, error: YamlError) -> DocumentError:
    return DocumentError(source, f"not usable: {_get_problem(error)}", error)


def _get_problem(error: YamlError) -> str:
    return getattr(error, "problem", None) or " ".join(str(error).split())


def describe_source(path: str) -> str:
    """Return the name of a file for messages. The name is decoded as UTF-8 in every locale."""
    if path == STANDARD_INPUT:
        return "standard input"
    return os.fsencode(path).decode("utf-8", "backslashreplace") or "''"
