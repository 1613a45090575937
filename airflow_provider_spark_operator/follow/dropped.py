"""What a cluster does not keep of a resource: fields that its CustomResourceDefinition does not know are dropped."""

from collections.abc import Iterator, Mapping
from typing import Any

_NAMED = 5


def dropped_fields(sent: Mapping[str, Any], stored: Mapping[str, Any]) -> list[str]:
    """The fields of `sent` that `stored` lacks, by their paths from `spec` on; of an object only itself.

    A field with another value is none: it is admission's to change one.
    """
    return list(_absent(sent.get("spec"), stored.get("spec"), "spec"))


def names(fields: list[str]) -> str:
    """The first of the fields, and how many more there are."""
    more = len(fields) - _NAMED
    return ", ".join(fields[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _absent(sent: object, stored: object, path: str) -> Iterator[str]:
    if isinstance(sent, Mapping) and isinstance(stored, Mapping):
        for key, value in sent.items():
            if key in stored:
                yield from _absent(value, stored[key], f"{path}.{key}")
            elif value is not None:
                yield f"{path}.{key}"
    elif isinstance(sent, list) and isinstance(stored, list):
        for number, (ours, theirs) in enumerate(zip(sent, stored, strict=False)):
            yield from _absent(ours, theirs, f"{path}[{number}]")
