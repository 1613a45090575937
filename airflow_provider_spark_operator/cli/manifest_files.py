"""List the manifests in files and folders."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from airflow_provider_spark_operator.cli.documents import (
    STANDARD_INPUT,
    DocumentError,
    SourceDocument,
    describe_source,
    read_documents,
)
from airflow_provider_spark_operator.kube.yaml_text import MappingNode, Node, SequenceNode

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


def _find_items(node: Node) -> SequenceNode | None:
    for key, value in node.value if isinstance(node, MappingNode) else ():
        if getattr(key, "value", None) == "items" and isinstance(value, SequenceNode):
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
