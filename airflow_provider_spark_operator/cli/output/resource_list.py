"""Print one list of resources while its pages arrive, in the formats of `kubectl get -o`."""

import sys
import textwrap
from collections.abc import Sequence

from ...core.kubernetes.json_object import JsonObject
from .output import arrange, format_name, format_value


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
