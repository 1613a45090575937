"""Validation of a pod's volumes, with the messages of the API server."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..kinds.status import Cause
from .reference_rules import find_field_causes, find_resource_causes
from .rules import (
    build_backstep_cause,
    build_forbidden_cause,
    build_invalid_cause,
    build_required_cause,
    find_choice_causes,
    find_inner_path_causes,
    find_mode_causes,
    find_name_causes,
)

Volume = Mapping[str, Any]

_SOURCES = ("emptyDir", "hostPath", "secret", "persistentVolumeClaim", "configMap", "downwardAPI", "projected")
_HOST_PATHS = ("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket")


def find_volume_causes(volumes: list[Volume], place: str) -> Iterator[Cause]:
    """Return the errors in the volumes of a pod."""
    names: list[str] = []
    for index, volume in enumerate(volumes):
        here, name = f"{place}[{index}]", volume.get("name") or ""
        yield from find_name_causes(name, f"{here}.name", names)
        names.append(name)
        sources = sorted((key for key in volume if key != "name"), key=_place_of_source)
        for source in sources[1:]:
            yield build_forbidden_cause(f"{here}.{source}", "may not specify more than 1 volume type")
        for source in sources[:1]:
            if source in _RULES:
                yield from _RULES[source](volume[source], f"{here}.{source}")


def _place_of_source(source: str) -> int:
    """Return the position of a kind of volume in the order in which the API server validates them."""
    return _SOURCES.index(source) if source in _SOURCES else len(_SOURCES)


def _find_host_path_causes(source: Volume, place: str) -> Iterator[Cause]:
    path = source.get("path") or ""
    if not path:
        yield build_required_cause(f"{place}.path")
    elif ".." in path.split("/"):
        yield build_backstep_cause(f"{place}.path", path)
    if source.get("type") is not None:
        yield from find_choice_causes(source["type"], _HOST_PATHS, f"{place}.type")


def _find_files_causes(source: Volume, name: str, place: str) -> Iterator[Cause]:
    """Return the errors in files that are made from the keys of a ConfigMap or secret."""
    yield from find_mode_causes(source.get("defaultMode"), f"{place}.defaultMode")
    if not source.get(name):
        yield build_required_cause(f"{place}.{name}")
    for index, item in enumerate(source.get("items") or []):
        here = f"{place}.items[{index}]"
        if not item.get("key"):
            yield build_required_cause(f"{here}.key")
        yield from _find_file_causes(item, here)


def _find_file_causes(item: Volume, place: str) -> Iterator[Cause]:
    """Return the errors in a file's path and mode."""
    if not item.get("path"):
        yield build_required_cause(f"{place}.path")
    else:
        yield from find_inner_path_causes(item["path"], f"{place}.path", reserved=True)
    yield from find_mode_causes(item.get("mode"), f"{place}.mode")


def _find_claim_causes(source: Volume, place: str) -> Iterator[Cause]:
    if not source.get("claimName"):
        yield build_required_cause(f"{place}.claimName")


def _find_downward_causes(source: Volume, place: str) -> Iterator[Cause]:
    yield from find_mode_causes(source.get("defaultMode"), f"{place}.defaultMode")
    for item in source.get("items") or []:
        yield from _find_file_causes(item, place)
        field, resource = item.get("fieldRef"), item.get("resourceFieldRef")
        if field is not None:
            yield from find_field_causes(field, f"{place}.fieldRef", in_volume=True)
        if field is not None and resource is not None:
            yield build_invalid_cause(
                place, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously"
            )
        elif resource is not None:
            yield from find_resource_causes(resource, f"{place}.resourceFieldRef", in_volume=True)
        elif field is None:
            yield build_required_cause(place, "one of fieldRef and resourceFieldRef is required")


def _find_projected_causes(source: Volume, place: str) -> Iterator[Cause]:
    yield from find_mode_causes(source.get("defaultMode"), f"{place}.defaultMode")
    for index, part in enumerate(source.get("sources") or []):
        here = f"{place}.sources[{index}]"
        kinds = [kind for kind in ("secret", "configMap", "downwardAPI", "serviceAccountToken") if kind in part]
        for kind in kinds[:1]:
            yield from _PARTS[kind](part[kind], f"{here}.{kind}", place)
        if len(kinds) > 1:
            yield build_forbidden_cause(here, "may not specify more than 1 volume type per source")


_RULES: Mapping[str, Callable[[Volume, str], Iterator[Cause]]] = {
    "configMap": lambda source, place: _find_files_causes(source, "name", place),
    "downwardAPI": _find_downward_causes,
    "hostPath": _find_host_path_causes,
    "persistentVolumeClaim": _find_claim_causes,
    "projected": _find_projected_causes,
    "secret": lambda source, place: _find_files_causes(source, "secretName", place),
}
_PARTS: Mapping[str, Callable[[Volume, str, str], Iterator[Cause]]] = {
    "configMap": lambda part, here, _: _find_files_causes(part, "name", here),
    "downwardAPI": lambda part, here, _: _find_downward_causes(part, here),
    "secret": lambda part, here, _: _find_files_causes(part, "name", here),
    "serviceAccountToken": lambda part, _, place: _find_file_causes(part, place),
}
