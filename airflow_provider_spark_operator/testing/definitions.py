"""The parts of the CustomResourceDefinition of Kubeflow's SparkApplication that tests depend on."""

from copy import deepcopy
from typing import Final

from ..core.dialects import kubeflow
from ..core.kubernetes.json_object import JsonObject

_OPEN: Final[JsonObject] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_SPEC: Final[JsonObject] = _OPEN | {
    "required": ["driver", "executor", "mainApplicationFile", "sparkVersion", "type"],
    "properties": {
        "type": {"type": "string", "enum": ["Java", "Python", "Scala", "R"]},
        "sparkVersion": {"type": "string"},
        "mainApplicationFile": {"type": "string"},
        "mode": {"type": "string", "enum": ["cluster", "client"]},
        "driver": _OPEN,
        "executor": _OPEN,
    },
}
_SCHEMA: Final[JsonObject] = {
    "type": "object",
    "required": ["metadata", "spec"],
    "properties": {"metadata": {"type": "object"}, "spec": _SPEC, "status": _OPEN},
}
_NAMES: Final[JsonObject] = {"kind": "SparkApplication", "plural": "sparkapplications", "shortNames": ["sparkapp"]}


def build_kubeflow_definition() -> JsonObject:
    """Return the definition as a new document, with the required fields and enumerations of Kubeflow's chart.

    All other fields are accepted unchecked.
    """
    versions = [
        {
            "name": version,
            "served": True,
            "storage": version == kubeflow.VERSIONS[0],
            "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": deepcopy(_SCHEMA)},
        }
        for version in kubeflow.VERSIONS
    ]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"sparkapplications.{kubeflow.GROUP}"},
        "spec": {"group": kubeflow.GROUP, "scope": "Namespaced", "names": deepcopy(_NAMES), "versions": versions},
    }
