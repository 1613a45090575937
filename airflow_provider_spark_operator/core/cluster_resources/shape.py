"""Checking the form of the parts that people give as Kubernetes' own types, as far as they are looked into."""

import re
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from airflow_provider_spark_operator.core.models.cluster import SparkClusterSpec
from airflow_provider_spark_operator.core.models.parse import name_type
from airflow_provider_spark_operator.core.problems import Problem

# A mapping: an object with these members, where it has them. A list: of items of its only member's form.
# A string: what it says.
_Shape: TypeAlias = Mapping[str, Any] | list[Any] | str

_TEXT: Final = "a string"
_NUMBER: Final = "an integer"
_OBJECT: Final = "an object (key: value pairs)"
_TYPES: Final[Mapping[str, type]] = {_TEXT: str, _NUMBER: int}
# Twice the nodes that Kubernetes supports in a cluster. kube-controller-manager holds all pods of a StatefulSet in
# memory when it scales the set, so that two billion of them end it.
MOST_WORKERS: Final = 10_000
_LABEL_VALUE: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_ANY_OBJECT: Final[Mapping[str, Any]] = {}
_METADATA: Final[Mapping[str, Any]] = {
    "labels": _ANY_OBJECT,
    "annotations": _ANY_OBJECT,
    "ownerReferences": [_ANY_OBJECT],
}
_SERVICE: Final[Mapping[str, Any]] = {"ports": [{"name": _TEXT, "port": _NUMBER}], "selector": _ANY_OBJECT}
_CONTAINER: Final[Mapping[str, Any]] = {
    "command": [_TEXT],
    "args": [_TEXT],
    "env": [{"value": _TEXT}],
    "ports": [{"name": _TEXT, "containerPort": _NUMBER}],
    "securityContext": {"capabilities": {"add": [_TEXT]}},
}
_STATEFUL_SET: Final[Mapping[str, Any]] = {
    "selector": {"matchLabels": _ANY_OBJECT},
    "template": {
        "metadata": _METADATA,
        "spec": {
            "containers": [_CONTAINER],
            "initContainers": [_CONTAINER],
            "dnsConfig": {"searches": [_TEXT]},
        },
    },
}


def building_problems(spec: SparkClusterSpec) -> list[Problem]:
    """What is wrong with `spec` so that no objects can be built of it."""
    problems = [*_shape_problems(spec), *_excessive_workers(spec)]
    if not _LABEL_VALUE.fullmatch(spec.runtime_versions.spark_version):
        message = "is put into a label: use at most 63 letters, digits, '-', '_' and '.', such as \"4.3.0\""
        problems.append(Problem("spec.runtimeVersions.sparkVersion", message))
    return problems


def _excessive_workers(spec: SparkClusterSpec) -> list[Problem]:
    instances = spec.cluster_tolerations.instance_config
    counts = {
        "initWorkers": instances.init_workers,
        "minWorkers": instances.min_workers,
        "maxWorkers": instances.max_workers,
    }
    return [
        Problem(f"spec.clusterTolerations.instanceConfig.{name}", f"is {count}: use at most {MOST_WORKERS}")
        for name, count in counts.items()
        if count > MOST_WORKERS
    ]


def _shape_problems(spec: SparkClusterSpec) -> list[Problem]:
    """Every part of the master's and the workers' specification that has not the form it must have."""
    problems = []
    for path, part in (("spec.masterSpec", spec.master_spec), ("spec.workerSpec", spec.worker_spec)):
        for name, value, shape in (
            ("serviceMetadata", part.service_metadata, _METADATA),
            ("serviceSpec", part.service_spec, _SERVICE),
            ("statefulSetMetadata", part.stateful_set_metadata, _METADATA),
            ("statefulSetSpec", part.stateful_set_spec, _STATEFUL_SET),
        ):
            problems += _problems(value, shape, f"{path}.{name}")
    return problems


def _problems(value: object, shape: _Shape, path: str) -> list[Problem]:
    if value is None:
        return []
    if isinstance(shape, str):
        return [] if isinstance(value, _TYPES[shape]) else [_wrong(path, shape, value)]
    if isinstance(shape, list):
        if not isinstance(value, list):
            return [_wrong(path, "a list", value)]
        return [
            problem
            for index, item in enumerate(value)
            for problem in _item_problems(item, shape[0], f"{path}[{index}]")
        ]
    if not isinstance(value, Mapping):
        return [_wrong(path, _OBJECT, value)]
    return [problem for name, inner in shape.items() for problem in _problems(value.get(name), inner, f"{path}.{name}")]


def _item_problems(item: object, shape: _Shape, path: str) -> list[Problem]:
    # A null in a list stands for an item, and so is wrong where an object is wanted.
    if item is None:
        return [_wrong(path, shape if isinstance(shape, str) else _OBJECT, item)]
    return _problems(item, shape, path)


def _wrong(path: str, wanted: str, value: object) -> Problem:
    quotes = wanted == _TEXT and isinstance(value, int | float)
    advice = ": put it in quotes" if quotes else ""
    return Problem(path, f"must be {wanted}, not {name_type(value)}{advice}")
