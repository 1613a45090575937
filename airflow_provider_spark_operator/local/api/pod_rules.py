"""What a pod's specification must not say, in the words of the API server."""

import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any

from airflow_provider_spark_operator.local.api.documents import text_at
from airflow_provider_spark_operator.local.api.metadata import DNS_LABEL, LABEL_RULE
from airflow_provider_spark_operator.local.api.status import Cause

Spec = Mapping[str, Any]

_CONTAINER_LISTS = ("initContainers", "containers")
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "restartPolicy": ("Always", "OnFailure", "Never"),
    "dnsPolicy": ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"),
}
_SOURCES = ("emptyDir", "hostPath", "secret", "configMap", "downwardAPI", "projected")
_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_HOST_PATHS = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
_MAX_SECONDS = 2**31 - 1
_VARIABLE = re.compile(r"[ -<>-~]+")
_VARIABLE_RULE = "a valid environment variable name must consist only of printable ASCII characters other than '='"
_FIELDS = frozenset(
    {
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.serviceAccountName",
        "status.hostIP",
        "status.hostIPs",
        "status.phase",
        "status.podIP",
        "status.podIPs",
    }
)
_FIELD_OF_MAP = re.compile(r"metadata\.(annotations|labels)\['[^']+'\]")
_QUANTITY = re.compile(r"([+-]?\d+\.?\d*|[+-]?\.\d+)([eE][+-]?\d+|[numkMGTPE]|[KMGTPE]i)?")
_FACTORS: Mapping[str, Decimal] = {
    "": Decimal(1),
    "n": Decimal(10) ** -9,
    "u": Decimal(10) ** -6,
    "m": Decimal(10) ** -3,
    **{unit: Decimal(10) ** (3 * power) for power, unit in enumerate("kMGTPE", 1)},
    **{f"{unit}i": Decimal(2) ** (10 * power) for power, unit in enumerate("KMGTPE", 1)},
}


def pod_spec_causes(spec: object, path: str = "spec") -> list[Cause]:
    """All that is wrong with a pod's specification, as far as it is judged here."""
    if not isinstance(spec, dict):
        return [required(f"{path}.containers")]
    causes = list(_own_causes(spec, path))
    causes += _volume_causes(spec.get("volumes") or [], f"{path}.volumes")
    if not spec.get("containers"):
        causes.append(required(f"{path}.containers"))
    names: list[str] = []
    for field in reversed(_CONTAINER_LISTS):
        for index, container in enumerate(spec.get(field) or []):
            place = f"{path}.{field}[{index}]"
            causes += _name_causes(container.get("name"), f"{place}.name", names)
            causes += _container_causes(spec, container, place)
    return causes


def quantity(text: object) -> Decimal | None:
    """The amount that a quantity names (`500m`, `1Gi`, 2); None where it is none."""
    found = _QUANTITY.fullmatch(str(text))
    if found is None:
        return None
    number, unit = Decimal(found[1]), found[2] or ""
    if unit[:1] in ("e", "E") and len(unit) > 1 and unit[1] != "i":
        return number.scaleb(int(unit[1:])) if abs(int(unit[1:])) < 100 else None
    return number * _FACTORS[unit]


def _own_causes(spec: Spec, path: str) -> Iterator[Cause]:
    for field, choices in _CHOICES.items():
        if spec.get(field) is not None:
            yield from choice_causes(spec[field], choices, f"{path}.{field}")
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not (isinstance(deadline, int) and 1 <= deadline <= _MAX_SECONDS):
        told = f"Invalid value: {deadline}: must be between 1 and {_MAX_SECONDS}, inclusive"
        yield Cause(f"{path}.activeDeadlineSeconds", told)


def _volume_causes(volumes: Iterable[Spec], path: str) -> Iterator[Cause]:
    names: list[str] = []
    for index, volume in enumerate(volumes):
        place = f"{path}[{index}]"
        yield from _name_causes(volume.get("name"), f"{place}.name", names)
        sources = [key for key, value in volume.items() if key != "name" and value is not None]
        for source in sorted(sources, key=_place_of_source)[1:]:
            yield Cause(
                f"{place}.{source}", "Forbidden: may not specify more than 1 volume type", "FieldValueForbidden"
            )
        if volume.get("hostPath") is not None:
            yield from _host_path_causes(volume["hostPath"], f"{place}.hostPath")
        for source in ("configMap", "secret"):
            for number, item in enumerate((volume.get(source) or {}).get("items") or []):
                yield from _inner_path_causes(item.get("path"), f"{place}.{source}.items[{number}].path")


def _host_path_causes(source: Spec, place: str) -> Iterator[Cause]:
    path = source.get("path")
    if not path:
        yield required(f"{place}.path")
    else:
        yield from _backstep_causes(path, f"{place}.path")
    if source.get("type") is not None:
        yield from choice_causes(source["type"], _HOST_PATHS, f"{place}.type")


def _place_of_source(source: str) -> int:
    """Where a kind of volume stands in the order in which the API server looks at them."""
    return _SOURCES.index(source) if source in _SOURCES else len(_SOURCES)


def _container_causes(spec: Spec, container: Spec, place: str) -> Iterator[Cause]:
    yield from _image_causes(container.get("image"), f"{place}.image")
    if container.get("imagePullPolicy") is not None:
        yield from choice_causes(container["imagePullPolicy"], _PULL_POLICIES, f"{place}.imagePullPolicy")
    for index, port in enumerate(container.get("ports") or []):
        yield from port_causes(port.get("containerPort"), f"{place}.ports[{index}].containerPort")
        if port.get("protocol") is not None:
            yield from choice_causes(port["protocol"], _PROTOCOLS, f"{place}.ports[{index}].protocol")
    for index, variable in enumerate(container.get("env") or []):
        yield from _variable_causes(variable, f"{place}.env[{index}]")
    yield from _mount_causes(spec, container, place)
    yield from _resource_causes(container.get("resources") or {}, f"{place}.resources")


def _image_causes(image: object, place: str) -> Iterator[Cause]:
    if not image:
        yield required(place)
    elif str(image) != str(image).strip():
        yield Cause(place, f'Invalid value: "{image}": must not have leading or trailing whitespace')


def _mount_causes(spec: Spec, container: Spec, place: str) -> Iterator[Cause]:
    volumes = {volume.get("name") for volume in spec.get("volumes") or []}
    mounted: set[str] = set()
    for index, mount in enumerate(container.get("volumeMounts") or []):
        here = f"{place}.volumeMounts[{index}]"
        if mount.get("name") not in volumes:
            yield Cause(f"{here}.name", f'Not found: "{mount.get("name")}"', "FieldValueNotFound")
        where = mount.get("mountPath")
        if not where:
            yield required(f"{here}.mountPath")
        elif where in mounted:
            yield Cause(f"{here}.mountPath", f'Invalid value: "{where}": must be unique')
        mounted.add(where)
        if mount.get("subPath"):
            yield from _inner_path_causes(mount["subPath"], f"{place}.volumeMounts.subPath")


def _variable_causes(variable: Spec, place: str) -> Iterator[Cause]:
    name, source = variable.get("name"), variable.get("valueFrom")
    if not name:
        yield required(f"{place}.name")
    elif _VARIABLE.fullmatch(name) is None:
        yield Cause(f"{place}.name", f'Invalid value: "{name}": {_VARIABLE_RULE}')
    if source and variable.get("value"):
        yield Cause(f"{place}.valueFrom", 'Invalid value: "": may not be specified when `value` is not empty')
    field = text_at(variable, ("valueFrom", "fieldRef", "fieldPath"))
    if field and field not in _FIELDS and _FIELD_OF_MAP.fullmatch(field) is None:
        told = f'Invalid value: "{field}": error converting fieldPath: field label not supported: {field}'
        yield Cause(f"{place}.valueFrom.fieldRef.fieldPath", told)


def _resource_causes(resources: Spec, place: str) -> Iterator[Cause]:
    limits = resources.get("limits") or {}
    for name, asked in (resources.get("requests") or {}).items():
        request, limit = quantity(asked), quantity(limits.get(name, asked))
        if request is not None and limit is not None and request > limit:
            told = f'Invalid value: "{asked}": must be less than or equal to {name} limit of {limits[name]}'
            yield Cause(f"{place}.requests", told)


def port_causes(port: object, place: str) -> Iterator[Cause]:
    """What is wrong with a number of a port."""
    if not isinstance(port, int) or not 1 <= port <= 65535:
        yield Cause(place, f"Invalid value: {port}: must be between 1 and 65535, inclusive")


def _inner_path_causes(path: object, place: str) -> Iterator[Cause]:
    """What is wrong with a path that has to stay within a volume."""
    if not path:
        yield required(place)
    elif str(path).startswith("/"):
        yield Cause(place, f'Invalid value: "{path}": must be a relative path')
    else:
        yield from _backstep_causes(path, place)


def _backstep_causes(path: object, place: str) -> Iterator[Cause]:
    """What is wrong with a path that leads back."""
    if ".." in str(path).split("/"):
        yield Cause(place, f"Invalid value: \"{path}\": must not contain '..'")


def _name_causes(name: object, place: str, seen: list[str]) -> Iterator[Cause]:
    if not name:
        yield required(place)
    elif not isinstance(name, str) or DNS_LABEL.fullmatch(name) is None:
        yield Cause(place, f'Invalid value: "{name}": {LABEL_RULE}')
    elif len(name) > 63:
        yield Cause(place, f'Invalid value: "{name}": must be no more than 63 characters')
    elif name in seen:
        yield Cause(place, f'Duplicate value: "{name}"', "FieldValueDuplicate")
    else:
        seen.append(name)


def choice_causes(value: object, choices: Iterable[str], place: str) -> Iterator[Cause]:
    """What is wrong with a value that has to be one of several."""
    if value not in tuple(choices):
        supported = ", ".join(f'"{choice}"' for choice in choices)
        told = f'Unsupported value: "{value}": supported values: {supported}'
        yield Cause(place, told, "FieldValueNotSupported")


def required(place: str) -> Cause:
    """That something is missing at a place."""
    return Cause(place, "Required value", "FieldValueRequired")
