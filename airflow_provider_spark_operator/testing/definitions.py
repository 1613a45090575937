"""The parts of the CustomResourceDefinition of Kubeflow's SparkApplication that tests depend on."""

from ..core.dialects import kubeflow
from ..core.kubernetes.json_object import JsonObject

_ROLE: JsonObject = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def build_kubeflow_definition() -> JsonObject:
    """Return the definition, with the required fields and enumerations of the chart of Kubeflow's operator.

    All other fields are accepted unchecked.
    """
    spec = {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
        "required": ["driver", "executor", "mainApplicationFile", "sparkVersion", "type"],
        "properties": {
            "type": {"type": "string", "enum": ["Java", "Python", "Scala", "R"]},
            "sparkVersion": {"type": "string"},
            "mainApplicationFile": {"type": "string"},
            "mode": {"type": "string", "enum": ["cluster", "client"]},
            "driver": _ROLE,
            "executor": _ROLE,
        },
    }
    status = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"sparkapplications.{kubeflow.GROUP}"},
        "spec": {
            "group": kubeflow.GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": "SparkApplication",
                "listKind": "SparkApplicationList",
                "plural": "sparkapplications",
                "singular": "sparkapplication",
                "shortNames": ["sparkapp"],
            },
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": version == kubeflow.VERSIONS[0],
                    "subresources": {"status": {}},
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "required": ["metadata", "spec"],
                            "properties": {
                                "apiVersion": {"type": "string"},
                                "kind": {"type": "string"},
                                "metadata": {"type": "object"},
                                "spec": spec,
                                "status": status,
                            },
                        }
                    },
                }
                for version in kubeflow.VERSIONS
            ],
        },
    }
