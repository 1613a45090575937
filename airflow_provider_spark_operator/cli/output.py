"""Print results to stdout: manifests, and resources in the formats of `kubectl get -o`.

A table has one line for each resource. It is aligned with spaces, without borders, so that `awk` and `cut` can read it.
"""

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import yaml

from airflow_provider_spark_operator.cli.options import TABLE, DocumentFormat
from airflow_provider_spark_operator.cli.streams import is_unicode

JsonObject: TypeAlias = dict[str, Any]

_WIDE = "wide"
_GAP = "   "
_MISSING = "-"


class _Dumper(yaml.SafeDumper):
    """A YAML dumper that writes texts of several lines as literal blocks."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _represent_text)


@dataclass(frozen=True)
class Column:
    """A column of a table of resources.

    Attributes:
        title: The title, in capital letters.
        read: Returns the cell of a resource. An empty cell is shown as `-`.
        is_wide: Whether only `-o wide` shows the column.
    """

    title: str
    read: Callable[[JsonObject], str]
    is_wide: bool = False


def print_resources(resources: Iterable[JsonObject], columns: Sequence[Column], output: str) -> None:
    """Print a list of resources.

    Args:
        resources: The resources, as the API returned them.
        columns: The columns of the formats `table` and `wide`.
        output: The value of the option `Output`.
    """
    resources = list(resources)
    if output in (TABLE, _WIDE):
        shown = [column for column in columns if output == _WIDE or not column.is_wide]
        print_table([column.title for column in shown], [[each.read(one) for each in shown] for one in resources])
    else:
        _print_value({"apiVersion": "v1", "kind": "List", "items": resources}, resources, output)


def print_resource(resource: JsonObject, columns: Sequence[Column], output: str) -> None:
    """Print one resource that the user named. In JSON and YAML, it is not an item of a List."""
    if output in (TABLE, _WIDE):
        print_resources([resource], columns, output)
    else:
        _print_value(resource, [resource], output)


def print_table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows of texts below their titles. Control characters are escaped."""
    lines = [titles, *([_clean(cell) or _MISSING for cell in row] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(titles))]
    for line in lines:
        print(_GAP.join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)).rstrip())


def print_documents(documents: Sequence[JsonObject], output: DocumentFormat) -> None:
    """Print manifests as YAML documents, or as one JSON List. Both stay valid in every locale."""
    if output is DocumentFormat.JSON:
        _print_json({"apiVersion": "v1", "kind": "List", "items": documents})
        return
    for document in documents:
        _print_yaml(document, is_document=True)


def _print_value(value: JsonObject, resources: Sequence[JsonObject], output: str) -> None:
    if output == "json":
        _print_json(value)
    elif output == "yaml":
        _print_yaml(value, is_document=False)
    else:
        for resource in resources:
            print(_name(resource))


def _name(resource: JsonObject) -> str:
    """Return the name as `kubectl get -o name` prints it: `sparkapplication.spark.apache.org/pi`."""
    group = str(resource["apiVersion"]).rpartition("/")[0]
    kind = str(resource["kind"]).lower()
    return f"{kind}.{group}/{resource['metadata']['name']}" if group else f"{kind}/{resource['metadata']['name']}"


def _print_json(value: JsonObject) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=not is_unicode(sys.stdout)))


def _print_yaml(value: JsonObject, *, is_document: bool) -> None:
    # The round trip through JSON makes copies of shared parts, so that YAML writes no references between them.
    unshared = json.loads(json.dumps(value))
    yaml.dump(
        unshared,
        sys.stdout,
        Dumper=_Dumper,
        sort_keys=False,
        explicit_start=is_document,
        allow_unicode=is_unicode(sys.stdout),
    )


def _clean(cell: str) -> str:
    """Return a cell as one line. A terminal would execute the control characters of a message."""
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in " ".join(cell.split()))
