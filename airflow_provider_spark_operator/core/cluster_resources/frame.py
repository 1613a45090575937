"""What all objects of one cluster have in common: names, labels, owner."""

from dataclasses import dataclass
from typing import Final

from airflow_provider_spark_operator.core.driver.pod import JsonObject, merge
from airflow_provider_spark_operator.core.models.cluster import SparkCluster
from airflow_provider_spark_operator.core.names import (
    LABEL_CLUSTER_NAME,
    LABEL_OPERATOR_NAME,
    LABEL_ROLE,
    LABEL_SPARK_VERSION,
)

# What only the API server sets; a template copied out of a cluster has them, and apply refuses some.
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
    """One cluster and the operator that drives it."""

    cluster: SparkCluster
    operator_name: str

    def name(self, suffix: str) -> str:
        """The name of one of the cluster's objects: `<cluster>-<suffix>`."""
        return object_name(self.cluster.name, suffix)

    def document(
        self,
        api_version: str,
        kind: str,
        suffix: str,
        spec: JsonObject,
        *,
        role: str | None = None,
        metadata: JsonObject | None = None,
    ) -> JsonObject:
        """A complete document to apply.

        Args:
            api_version: its `apiVersion`.
            kind: its `kind`.
            suffix: what its name ends with.
            spec: its `spec`.
            role: master or worker, for the label; None for an object that is of neither.
            metadata: what the user wants in its metadata beside ours.
        """
        return {
            "apiVersion": api_version,
            "kind": kind,
            "metadata": self._metadata(self.name(suffix), role, metadata or {}),
            "spec": spec,
        }

    def pod_labels(self, role: str) -> dict[str, str]:
        """The labels of the pods of `role`."""
        return {**self.selector(role), LABEL_SPARK_VERSION: self._version}

    def selector(self, role: str) -> dict[str, str]:
        """The labels that tell the pods of `role` of this cluster from all others in the namespace."""
        return {LABEL_ROLE: role, **self.members()}

    def members(self) -> dict[str, str]:
        """The label that all pods of this cluster carry."""
        return {LABEL_CLUSTER_NAME: self.cluster.name}

    @property
    def _version(self) -> str:
        return self.cluster.spec.runtime_versions.spark_version

    def _metadata(self, name: str, role: str | None, given: JsonObject) -> JsonObject:
        labels = {LABEL_OPERATOR_NAME: self.operator_name, LABEL_SPARK_VERSION: self._version, **self.members()}
        if role is not None:
            labels[LABEL_ROLE] = role
        reference = {
            "apiVersion": self.cluster.api_version,
            "kind": self.cluster.kind,
            "name": self.cluster.name,
            "uid": self.cluster.uid,
            "blockOwnerDeletion": True,
        }
        ours = {
            "name": name,
            "namespace": self.cluster.namespace,
            "labels": labels,
            "ownerReferences": [reference],
        }
        return merge({key: value for key, value in given.items() if key not in _SERVER_FIELDS}, ours)


def object_name(cluster: str, suffix: str) -> str:
    """The name of the object of `cluster` that ends with `suffix`, as a role."""
    return f"{cluster}-{suffix}"
