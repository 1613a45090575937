"""The warnings of the API server about pods that it accepts."""

from collections.abc import Iterator, Mapping
from typing import Any

from ..kinds.quantities import is_whole

Spec = Mapping[str, Any]

_BYTES = ("memory", "ephemeral-storage")


def find_pod_warnings(spec: Spec, place: str = "spec") -> Iterator[str]:
    """Return the warnings about the resources and variables of a pod's containers."""
    for field in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(field) or []):
            here = f"{place}.{field}[{index}]"
            yield from _find_amount_warnings(container.get("resources") or {}, here)
            yield from _find_variable_warnings(container.get("env") or [], here)


def _find_amount_warnings(resources: Spec, place: str) -> Iterator[str]:
    for part in ("limits", "requests"):
        for name, amount in (resources.get(part) or {}).items():
            if name in _BYTES and not is_whole(amount):
                detail = f'fractional byte value "{amount}" is invalid, must be an integer'
                yield f"{place}.resources.{part}[{name}]: {detail}"


def _find_variable_warnings(variables: list[Spec], place: str) -> Iterator[str]:
    names: list[str] = []
    for index, variable in enumerate(variables):
        name = variable["name"]
        if name in names and f"$({name})" not in (variable.get("value") or ""):
            detail = f'hides previous definition of "{name}", which may be dropped when using apply'
            yield f"{place}.env[{index}]: {detail}"
        names.append(name)
