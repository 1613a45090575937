"""The names, labels and owner of all objects of one cluster."""

from dataclasses import dataclass
from typing import Final

from ..driver.pod.pod import merge
from ..kubernetes.json_object import JsonObject
from ..kubernetes.names import LABEL_CLUSTER_NAME, LABEL_OPERATOR_NAME, LABEL_ROLE, LABEL_SPARK_VERSION
from ..models.cluster import SparkCluster

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
