"""Print results to stdout: manifests, and resources in the formats of `kubectl get -o`."""

import json
import sys
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from ...core.kubernetes.json_object import JsonObject
from ...kube.yaml_writer import dump
from ..base.streams import escape_controls, is_coloured, is_unicode
from ..options.options import DocumentFormat

if TYPE_CHECKING:
    from rich.console import Console


_MISSING = "-"


def print_resource(resource: JsonObject, output: str) -> None:
    """Print one resource of several that follow each other, for example each change of a watch.

    Args:
        resource: The resource, as the API returned it.
        output: The value of the option `Output`, except `table` and `wide`.
    """
    if output == "name":
        print(format_name(resource))
    elif output == "yaml":
        print(dump(arrange(resource), is_document=True, allow_unicode=is_unicode(sys.stdout)), end="")
    else:
        print(format_value(arrange(resource), output), end="")
    sys.stdout.flush()


def open_console() -> "Console":
    """Return a console of rich on stdout, with colours if `is_coloured`."""
    from rich.console import Console  # noqa: PLC0415

    colours: Literal["auto"] | None = "auto" if is_coloured(sys.stdout) else None
    # rich 13 would also obey a NO_COLOR and a FORCE_COLOR that are set but empty.
    return Console(file=sys.stdout, highlight=False, force_terminal=bool(colours), color_system=colours, no_color=False)


def print_documents(documents: Sequence[JsonObject], output: DocumentFormat) -> None:
    """Print manifests as YAML documents, or as one JSON List. Both stay valid in every locale."""
    print(format_documents(documents, output, allow_unicode=is_unicode(sys.stdout)), end="")


def format_documents(documents: Sequence[JsonObject], output: DocumentFormat, *, allow_unicode: bool = True) -> str:
    """Return manifests as YAML documents, or as one JSON List.

    Args:
        documents: The manifests.
        output: The format.
        allow_unicode: Whether characters outside of ASCII are written as they are.
    """
    if output is DocumentFormat.JSON:
        return _format_json({"apiVersion": "v1", "kind": "List", "items": documents}, allow_unicode=allow_unicode)
    return "".join(dump(document, is_document=True, allow_unicode=allow_unicode) for document in documents)


def arrange(resource: JsonObject) -> JsonObject:
    """Return a resource as `kubectl get` prints it: without `managedFields`, and its parts in the usual order."""
    metadata = resource.get("metadata")
    arranged = {key: resource[key] for key in ("apiVersion", "kind", "metadata") if key in resource}
    if isinstance(metadata, dict):
        arranged["metadata"] = {key: value for key, value in metadata.items() if key != "managedFields"}
    return (
        arranged
        | {key: value for key, value in resource.items() if key != "status" and key not in arranged}
        | ({"status": resource["status"]} if "status" in resource else {})
    )


def format_value(value: JsonObject | list[JsonObject], output: str) -> str:
    """Return an object or a list for stdout.

    Args:
        value: The object or the list.
        output: Either `json` or `yaml`.
    """
    allow_unicode = is_unicode(sys.stdout)
    if output == "json":
        return _format_json(value, allow_unicode=allow_unicode)
    return dump(value, allow_unicode=allow_unicode)


def format_name(resource: JsonObject) -> str:
    """Return the name as `kubectl get -o name` prints it: `sparkapplication.spark.apache.org/pi`."""
    group = str(resource["apiVersion"]).rpartition("/")[0]
    kind = str(resource["kind"]).lower()
    return f"{kind}.{group}/{resource['metadata']['name']}" if group else f"{kind}/{resource['metadata']['name']}"


def _format_json(value: JsonObject | list[JsonObject], *, allow_unicode: bool) -> str:
    return f"{json.dumps(value, indent=2, ensure_ascii=not allow_unicode)}\n"


def format_yaml(value: JsonObject) -> str:
    """Return an object as YAML with sorted keys, so that two texts can be compared."""
    return dump(value, sort_keys=True, allow_unicode=is_unicode(sys.stdout))


def clean_cell(cell: str) -> str:
    """Return a cell as one line with visible control characters, `-` if it is empty."""
    return escape_controls(" ".join(cell.split())) or _MISSING


class ResourceList:
    """Prints the items of one List.

    Nothing is printed before the first page, so that an error of the first request leaves the output empty.

    Args:
        output: The value of the option `Output`, except `table` and `wide`.
    """

    def __init__(self, output: str) -> None:
        self._output = output
        self._is_empty = True

    def print(self, resources: Sequence[JsonObject]) -> None:
        """Print a page."""
        for resource in resources:
            print(self._format_item(resource), end="")
            self._is_empty = False
        sys.stdout.flush()

    def finish(self) -> None:
        """Print the end of the List. Without it, JSON is incomplete and cannot be mistaken for the whole list."""
        if self._output == "name":
            return
        if self._is_empty:
            print(format_value({"apiVersion": "v1", "kind": "List", "items": []}, self._output), end="")
        elif self._output == "json":
            print("\n  ]\n}\n", end="")

    def _format_item(self, resource: JsonObject) -> str:
        if self._output == "name":
            return f"{format_name(resource)}\n"
        if self._output == "yaml":
            before = "apiVersion: v1\nkind: List\nitems:\n" if self._is_empty else ""
            return before + format_value([arrange(resource)], "yaml")
        before = '{\n  "apiVersion": "v1",\n  "kind": "List",\n  "items": [\n' if self._is_empty else ",\n"
        return before + textwrap.indent(format_value(arrange(resource), "json").rstrip(), "    ")
