"""Read the YAML documents that a command line names, and find the positions of their fields."""

import ast
import os
import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...core.kubernetes.problems import filter_errors, filter_warnings
from ...core.validation.application import validate_application
from ...kube import yaml_text
from ..base.errors import CommandError, ExitCode
from ..base.program_name import get_program_name

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
    node: yaml_text.Node


class DocumentError(CommandError):
    """A file does not exist, cannot be read or is not YAML.

    Attributes:
        source: The name of the file, or `standard input`.
        problem: The problem, without the name of the file and the position.
        mark: The position of an error in YAML; None if it is unknown.
    """

    def __init__(self, source: str, problem: str, cause: yaml_text.YamlError | None = None) -> None:
        position = yaml_text.describe_position(cause) if cause else None
        super().__init__(f"{source}: {problem} ({position})" if position else f"{source}: {problem}", ExitCode.INVALID)
        self.source = source
        self.problem = problem
        self.mark: yaml_text.Mark | None = getattr(cause, "problem_mark", None)


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
        raise _build_read_error(path, error) from None
    if len(content) > LARGEST_INPUT:
        raise DocumentError(source, f"cannot be read: larger than {LARGEST_INPUT >> 20} MiB; split it up")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DocumentError(source, f"cannot be read: not UTF-8 text (byte {error.start})") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def require_file(path: str) -> None:
    """Check that a program can be read.

    Raises:
        DocumentError: It does not exist, or cannot be read.
    """
    try:
        Path(path).open("rb").close()
    except OSError as error:
        raise _build_read_error(path, error) from None


def _build_read_error(path: str, error: OSError) -> DocumentError:
    reason = error.strerror or str(error)
    if "://" in path:
        reason = "only a program (.py or .jar) can be a URL. Download the file, and name its path"
    return DocumentError(describe_source(path), f"cannot be read: {reason[:1].lower()}{reason[1:]}")


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
    if path.endswith((".py", ".jar")) and Path(path).is_file():
        command = f"`{get_program_name()} submit {shlex.quote(path)} --dry-run`"
        raise DocumentError(source, f"is a program, not a manifest. To see its manifest, run {command}")
    text = read_text(path)
    found = False
    repeated: list[yaml_text.DuplicateKey] = []
    try:
        loader = yaml_text.BoundedLoader(text, None if duplicates is None else repeated)
        while loader.check_node():
            node = loader.get_node()
            content = loader.construct_document(node)
            if node is not None and content is not None:
                found = True
                yield SourceDocument(source, node.start_mark.line + 1, content, node)
    except (yaml_text.DuplicateKey, yaml_text.ExcessiveYaml) as error:
        raise _refuse(source, error) from None
    except yaml_text.YamlError as error:
        raise DocumentError(source, f"not YAML: {_get_problem(error)}", error) from None
    finally:
        if duplicates is not None:
            duplicates += [_refuse(source, error) for error in repeated]
    if not found:
        raise DocumentError(source, "contains no document")


def _refuse(source: str, error: yaml_text.YamlError) -> DocumentError:
    return DocumentError(source, f"not usable: {_get_problem(error)}", error)


def _get_problem(error: yaml_text.YamlError) -> str:
    return getattr(error, "problem", None) or " ".join(str(error).split())


def describe_source(path: str) -> str:
    """Return the name of a file for messages. The name is decoded as UTF-8 in every locale."""
    if path == STANDARD_INPUT:
        return "standard input"
    return os.fsencode(path).decode("utf-8", "backslashreplace") or "''"


SUFFIXES = (".yaml", ".yml", ".json")
_KINDS = ("SparkApplication", "ScheduledSparkApplication", "SparkCluster")
_LISTS = ("List", *(f"{kind}List" for kind in _KINDS))
_GROUPS = ("spark.apache.org", "sparkoperator.k8s.io")


def list_files(path: str) -> list[str]:
    """Return the files with manifests in a folder and its folders, sorted; `path` itself if it is not a folder.

    Folders whose name begins with a dot, and symbolic links to folders, are left out.

    Raises:
        DocumentError: The folder cannot be read, or contains no manifest.
    """
    if path == STANDARD_INPUT or not os.path.isdir(path):  # noqa: PTH112 - Path("") is the working directory
        return [path]

    def refuse(error: OSError) -> None:
        raise DocumentError(describe_source(str(error.filename)), f"cannot be read: {error.strerror}") from None

    found = []
    for folder, folders, names in os.walk(path, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [str(Path(folder) / name) for name in names if name.lower().endswith(SUFFIXES)]
    if not found:
        raise DocumentError(describe_source(path), f"contains no file with the suffix {', '.join(SUFFIXES)}")
    return sorted(found)


def read_spark_documents(path: str, duplicates: list[DocumentError]) -> Iterator[SourceDocument | None]:
    """Yield the documents of a file; None for each document that is a resource of another kind than those of Spark.

    The items of a List are documents of their own.

    Args:
        path: The path of the file.
        duplicates: Gets an error for each duplicate key.

    Raises:
        DocumentError: See `read_documents`.
    """
    for document in read_documents(path, duplicates):
        for item in split_list(document):
            yield item if is_of_spark(item.content) else None


def split_list(document: SourceDocument) -> Iterator[SourceDocument]:
    """Yield the items of a List, as `kubectl get -o yaml` prints it, each with its position; else the document."""
    content, items = document.content, _find_items(document.node)
    if not isinstance(content, Mapping) or content.get("kind") not in _LISTS or items is None:
        yield document
        return
    for item, node in zip(content["items"], items.value, strict=True):
        yield SourceDocument(document.source, node.start_mark.line + 1, item, node)


def _find_items(node: yaml_text.Node) -> yaml_text.SequenceNode | None:
    for key, value in node.value if isinstance(node, yaml_text.MappingNode) else ():
        if getattr(key, "value", None) == "items" and isinstance(value, yaml_text.SequenceNode):
            return value
    return None


def is_of_spark(content: object) -> bool:
    """Return whether a document is a resource of Spark, with an operator's apiVersion or kind."""
    if not isinstance(content, Mapping):
        return False
    return content.get("kind") in _KINDS or str(content.get("apiVersion")).partition("/")[0] in _GROUPS


def is_of_another_kind(content: object) -> bool:
    """Return whether a document is a resource, but not of Spark."""
    return isinstance(content, Mapping) and {"apiVersion", "kind"} <= content.keys() and not is_of_spark(content)


def read_application_file(path: str) -> tuple[dict[str, Any], list[str]]:
    """Return the SparkApplication in a file, and the warnings about it.

    Args:
        path: The path of the file; `-` for standard input.

    Raises:
        CommandError: The file does not contain exactly one document, or the document is not a valid SparkApplication.
    """
    documents = list(read_documents(path))
    if len(documents) != 1:
        raise DocumentError(
            documents[0].source, f"contains {len(documents)} manifests; it must contain one SparkApplication"
        )
    (document,) = documents
    problems = validate_application(document.content)
    errors = filter_errors(problems)
    if errors or not isinstance(document.content, dict):
        raise CommandError("\n".join(f"{document.source}: {problem}" for problem in errors), ExitCode.INVALID)
    return document.content, [str(problem) for problem in filter_warnings(problems)]


_PART = re.compile(
    r"""\.?(?P<name>[A-Za-z_]\w*)|\[(?P<index>\d+)\]|\[(?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\]"""
)


def find_position(document: yaml_text.Node, path: str) -> yaml_text.Mark:
    """Return the position of the key of a field, or of an item of a list.

    If the field does not exist, for example because it is required, return the position of the part that should
    contain it.

    Args:
        document: The node of the document.
        path: The path of the field, as `core.models.parse.format_path` writes it. Empty for the document.
    """
    position, node = document.start_mark, document
    for part in _parse_path(path):
        found = _find_part(node, part)
        if found is None:
            break
        position, node = found
    return position


def _parse_path(path: str) -> Iterator[str | int]:
    """Yield the names and indexes of a path, up to the first part that is neither."""
    place = 0
    while match := _PART.match(path, place):
        place = match.end()
        if match["index"] is not None:
            yield int(match["index"])
        else:
            yield match["name"] or ast.literal_eval(match["text"])


def _find_part(node: yaml_text.Node, part: str | int) -> tuple[yaml_text.Mark, yaml_text.Node] | None:
    """Return the position and the value of a field or an item; None if it does not exist."""
    if isinstance(node, yaml_text.SequenceNode) and isinstance(part, int):
        return (node.value[part].start_mark, node.value[part]) if part < len(node.value) else None
    if not isinstance(node, yaml_text.MappingNode):
        return None
    for key, value in reversed(node.value):  # of a duplicate key, the last value counts
        if isinstance(key, yaml_text.ScalarNode) and key.value == str(part):
            return key.start_mark, value
    merged = [value for key, value in node.value if key.tag == yaml_text.MERGE_TAG]
    sources = [
        each for value in merged for each in (value.value if isinstance(value, yaml_text.SequenceNode) else [value])
    ]
    return next((found for source in sources if (found := _find_part(source, part))), None)
