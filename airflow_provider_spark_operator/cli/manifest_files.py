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

SUFFIXES = (".yaml", ".yml", ".json")
_KINDS = ("SparkApplication", "ScheduledSparkApplication", "SparkCluster")
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


def read_spark_documents(path: str) -> Iterator[SourceDocument | None]:
    """Yield the documents of a file; None for each document that is a resource of another kind than those of Spark.

    Raises:
        DocumentError: See `read_documents`.
    """
    for document in read_documents(path):
        yield document if _is_of_spark(document.content) else None


def _is_of_spark(content: object) -> bool:
    if not isinstance(content, Mapping):
        return False
    return content.get("kind") in _KINDS or str(content.get("apiVersion")).partition("/")[0] in _GROUPS
