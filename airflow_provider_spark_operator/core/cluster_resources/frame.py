"""The names, labels and owner of all objects of one cluster, and checks of the parts that are Kubernetes types."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from ..driver.pod.pod import merge
from ..kubernetes.json_object import JsonObject
from ..kubernetes.names import LABEL_CLUSTER_NAME, LABEL_OPERATOR_NAME, LABEL_ROLE, LABEL_SPARK_VERSION, is_label_value
from ..kubernetes.problems import Problem
from ..models.cluster import SparkCluster, SparkClusterSpec
from ..models.parse import name_type

# Only the API server sets these fields. A template that is copied from a cluster contains them, and apply rejects some.
_SERVER_FIELDS: Final = frozenset(
    {
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "generateName",
        "generation",
        "managedFields",
        "resourceVersion",
        "selfLink",
        "uid",
    }
)
# A mapping: an object with these optional members. A list: items of the shape of its only member. A string: the name of
# a type.
_Shape: TypeAlias = Mapping[str, Any] | list[Any] | str

_TEXT: Final = "a string"
_NUMBER: Final = "an integer"
_OBJECT: Final = "an object (key: value pairs)"
_TYPES: Final[Mapping[str, type]] = {_TEXT: str, _NUMBER: int}
# Kubernetes supports 5,000 nodes in a cluster; this is twice as many. kube-controller-manager holds all pods of a
# StatefulSet in memory when it scales the set, and crashes with two billion of them.
MAX_WORKERS: Final = 10_000
LAST_PORT: Final = 65_535
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
            "terminationGracePeriodSeconds": _NUMBER,
        },
    },
}


@dataclass(frozen=True)
class Frame:
    """One cluster and the operator that manages it."""

    cluster: SparkCluster
    operator_name: str

    def build_name(self, suffix: str) -> str:
        """Build the name of an object of the cluster: `<cluster>-<suffix>`."""
        return build_object_name(self.cluster.name, suffix)

    def build_document(
        self,
        api_version: str,
        kind: str,
        suffix: str,
        spec: JsonObject,
        *,
        role: str | None = None,
        metadata: JsonObject | None = None,
    ) -> JsonObject:
        """Build a complete document to apply.

        Args:
            api_version: The `apiVersion` of the object.
            kind: The `kind` of the object.
            suffix: The last part of its name.
            spec: The `spec` of the object.
            role: The role in its label, master or worker, or None for an object without a role.
            metadata: The metadata of the user. The metadata of the operator takes precedence.
        """
        return {
            "apiVersion": api_version,
            "kind": kind,
            "metadata": self._build_metadata(self.build_name(suffix), role, metadata or {}),
            "spec": spec,
        }

    def build_pod_labels(self, role: str) -> dict[str, str]:
        """Build the labels of the pods of `role`."""
        return {**self.build_selector(role), LABEL_SPARK_VERSION: self._version}

    def build_selector(self, role: str) -> dict[str, str]:
        """Build the labels that only the pods of `role` of this cluster have in the namespace."""
        return {LABEL_ROLE: role, **self.build_member_labels()}

    def build_member_labels(self) -> dict[str, str]:
        """Build the label of all pods of this cluster."""
        return {LABEL_CLUSTER_NAME: self.cluster.name}

    @property
    def _version(self) -> str:
        return self.cluster.spec.runtime_versions.spark_version

    def _build_metadata(self, name: str, role: str | None, given: JsonObject) -> JsonObject:
        labels = {
            LABEL_OPERATOR_NAME: self.operator_name,
            LABEL_SPARK_VERSION: self._version,
            **self.build_member_labels(),
        }
        if role is not None:
            labels[LABEL_ROLE] = role
        reference = {
            "apiVersion": self.cluster.api_version,
            "kind": self.cluster.kind,
            "name": self.cluster.name,
            "uid": self.cluster.uid,
            "blockOwnerDeletion": True,
        }
        ours = {"name": name, "namespace": self.cluster.namespace, "labels": labels, "ownerReferences": [reference]}
        return merge({key: value for key, value in given.items() if key not in _SERVER_FIELDS}, ours)


def build_object_name(cluster: str, suffix: str) -> str:
    """Build the name of an object of `cluster`. The suffix is a role, for example."""
    return f"{cluster}-{suffix}"


def find_building_problems(spec: SparkClusterSpec) -> list[Problem]:
    """Return the problems of `spec` that make it impossible to build the objects."""
    problems = [*_find_shape_problems(spec), *_find_excessive_workers(spec), *_find_port_problems(spec)]
    if not is_label_value(spec.runtime_versions.spark_version):
        message = "is used as a label value: use at most 63 letters, digits, '-', '_' and '.', such as \"4.3.0\""
        problems.append(Problem("spec.runtimeVersions.sparkVersion", message))
    return problems


def _find_excessive_workers(spec: SparkClusterSpec) -> list[Problem]:
    instances = spec.cluster_tolerations.instance_config
    counts = {
        "initWorkers": instances.init_workers,
        "minWorkers": instances.min_workers,
        "maxWorkers": instances.max_workers,
    }
    return [
        Problem(f"spec.clusterTolerations.instanceConfig.{name}", f"is {count}: use at most {MAX_WORKERS}")
        for name, count in counts.items()
        if count > MAX_WORKERS
    ]


def _find_port_problems(spec: SparkClusterSpec) -> list[Problem]:
    policy = spec.worker_spec.network_policy
    if policy is None or 1 <= policy.metrics_port <= LAST_PORT:
        return []
    message = f"must be from 1 to {LAST_PORT}, but is {policy.metrics_port}"
    return [Problem("spec.workerSpec.networkPolicy.metricsPort", message)]


def _find_shape_problems(spec: SparkClusterSpec) -> list[Problem]:
    """Return a problem for each part of the master's and workers' specifications with a wrong type."""
    problems = []
    for path, part in (("spec.masterSpec", spec.master_spec), ("spec.workerSpec", spec.worker_spec)):
        for name, value, shape in (
            ("serviceMetadata", part.service_metadata, _METADATA),
            ("serviceSpec", part.service_spec, _SERVICE),
            ("statefulSetMetadata", part.stateful_set_metadata, _METADATA),
            ("statefulSetSpec", part.stateful_set_spec, _STATEFUL_SET),
        ):
            problems += _find_problems(value, shape, f"{path}.{name}")
    return problems


def _find_problems(value: object, shape: _Shape, path: str) -> list[Problem]:
    if value is None:
        return []
    if isinstance(shape, str):
        return [] if isinstance(value, _TYPES[shape]) else [_build_type_problem(path, shape, value)]
    if isinstance(shape, list):
        if not isinstance(value, list):
            return [_build_type_problem(path, "a list", value)]
        return [
            problem
            for index, item in enumerate(value)
            for problem in _find_item_problems(item, shape[0], f"{path}[{index}]")
        ]
    if not isinstance(value, Mapping):
        return [_build_type_problem(path, _OBJECT, value)]
    return [
        problem for name, inner in shape.items() for problem in _find_problems(value.get(name), inner, f"{path}.{name}")
    ]


def _find_item_problems(item: object, shape: _Shape, path: str) -> list[Problem]:
    # A null item of a list is invalid, whereas a null member of an object counts as absent.
    if item is None:
        return [_build_type_problem(path, shape if isinstance(shape, str) else _OBJECT, item)]
    return _find_problems(item, shape, path)


def _build_type_problem(path: str, wanted: str, value: object) -> Problem:
    quotes = wanted == _TEXT and isinstance(value, int | float)
    advice = ": put it in quotes" if quotes else ""
    return Problem(path, f"must be {wanted}, not {name_type(value)}{advice}")
