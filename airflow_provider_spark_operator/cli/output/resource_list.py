"""Print one list of resources while its pages arrive, in the formats of `kubectl get -o`."""

import sys
import textwrap
from collections.abc import Sequence
from typing import Protocol

from ...core.kubernetes.json_object import JsonObject
from .output import arrange, format_value, print_names

_LIST = {"apiVersion": "v1", "kind": "List"}


class ResourceList(Protocol):
    """Prints the items of one List.

    Nothing is printed before the first page, so that an error of the first request leaves the output empty.
    """

    def print(self, resources: Sequence[JsonObject]) -> None:
        """Print a page, or keep it if the format needs all pages."""

    def finish(self) -> None:
        """Print the end of the List. Without it, JSON is incomplete and cannot be mistaken for the whole list."""


def open_list(output: str) -> ResourceList:
    """Return the printer of a format.

    Args:
        output: The value of the option `Output`, except `table` and `wide`.
    """
    if output == "json":
        return _JsonList()
    if output == "yaml":
        return _YamlList()
    return _Names()


class _JsonList:
    def __init__(self) -> None:
        self._is_empty = True

    def print(self, resources: Sequence[JsonObject]) -> None:
        for resource in resources:
            before = '{\n  "apiVersion": "v1",\n  "kind": "List",\n  "items": [\n' if self._is_empty else ",\n"
            self._is_empty = False
            print(before, textwrap.indent(format_value(arrange(resource), "json").rstrip(), "    "), sep="", end="")
        sys.stdout.flush()

    def finish(self) -> None:
        print(format_value({**_LIST, "items": []}, "json") if self._is_empty else "\n  ]\n}\n", end="")


class _YamlList:
    def __init__(self) -> None:
        self._is_empty = True

    def print(self, resources: Sequence[JsonObject]) -> None:
        for resource in resources:
            before = "apiVersion: v1\nkind: List\nitems:\n" if self._is_empty else ""
            self._is_empty = False
            print(before, format_value([arrange(resource)], "yaml"), sep="", end="")
        sys.stdout.flush()

    def finish(self) -> None:
        if self._is_empty:
            print(format_value({**_LIST, "items": []}, "yaml"), end="")


class _Names:
    def print(self, resources: Sequence[JsonObject]) -> None:
        print_names(resources)
        sys.stdout.flush()

    def finish(self) -> None:
        pass
