"""References to applications and SparkClusters: namespace, name and uid."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from ...kube.resources import SPARK_APPLICATIONS, ResourceType

__all__ = ["ApplicationReference"]


@dataclass(frozen=True)
class ApplicationReference:
    """One application or SparkCluster. A later one with the same name has another uid.

    No attribute is None. `SparkApplicationHook.submit` returns a reference.

    Attributes:
        namespace: Namespace of the resource.
        name: Name of the resource.
        uid: uid that Kubernetes assigned to the resource.
        resource: Kind of the resource: `resource.kind` is "SparkApplication" or "SparkCluster", and
            `resource.api_version` is its apiVersion. The default is the SparkApplication of the Apache operator.
    """

    namespace: str
    name: str
    uid: str
    resource: ResourceType = SPARK_APPLICATIONS

    @classmethod
    def of(cls, document: Mapping[str, Any], resource: ResourceType = SPARK_APPLICATIONS) -> Self:
        """Return the reference of an application that the API returned.

        Args:
            document: The application, for example a result of `SparkApplicationHook.list_applications`.
            resource: Kind of the application. The default is the SparkApplication of the Apache operator.
        """
        metadata = document["metadata"]
        return cls(metadata["namespace"], metadata["name"], metadata["uid"], resource)

    def __str__(self) -> str:
        return f"{self.resource.kind} {self.namespace}/{self.name}"


def resource_of(api_version: str, kind: ResourceType = SPARK_APPLICATIONS) -> ResourceType:
    """Return the kind in the group and version of an `apiVersion`. Without a version, return `kind` unchanged.

    The cluster may not serve that version: see `follow.access.versions`.
    """
    group, _, version = api_version.partition("/")
    return replace(kind, group=group, version=version) if version else kind
