"""References to applications and SparkClusters, and the errors about them that are not rejected requests."""

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


class ApplicationDeleted(Exception):
    """The application was deleted before it ended. `last` is its last known content, if any."""

    def __init__(self, reference: ApplicationReference, last: Mapping[str, Any] | None = None) -> None:
        super().__init__(reference)
        self.reference = reference
        self.last = last

    def __str__(self) -> str:
        return f"{self.reference} (uid {self.reference.uid}) was deleted before it ended"


class NameTaken(Exception):
    """An application with the requested name exists and must not be deleted.

    Attributes:
        reference: The application.
        owner: The owner of the application, for example `task pi of DAG spark, run manual__1`.
        state: The state of the application, as a predicate such as `is in state RunningHealthy`.
        advice: What to do, as a sentence without a final period.
    """

    def __init__(
        self,
        reference: ApplicationReference,
        owner: str,
        state: str = "is not deleted",
        advice: str = "Choose another name, or delete the application",
    ) -> None:
        super().__init__(reference, owner, state, advice)
        self.reference = reference
        self.owner = owner
        self.state = state
        self.advice = advice

    def __str__(self) -> str:
        return f"{self.reference} already exists and belongs to {self.owner}; it {self.state}. {self.advice}"


class DeletionStuck(Exception):
    """A deleted application, or its driver pod, still exists. `pod` is the name of the driver pod."""

    def __init__(
        self, reference: ApplicationReference, finalizers: list[str], seconds: float, pod: str | None = None
    ) -> None:
        super().__init__(reference, finalizers, seconds, pod)
        self.reference = reference
        self.finalizers = finalizers
        self.seconds = seconds
        self.pod = pod

    def __str__(self) -> str:
        if self.pod is not None and not self.finalizers:
            return (
                f"driver pod {self.pod} still exists {self.seconds:.0f} s after the deletion of {self.reference}. "
                "Check that the node of the pod is ready"
            )
        subject = f"driver pod {self.pod} of {self.reference}" if self.pod is not None else self.reference
        holders = ", ".join(self.finalizers) or "none"
        return (
            f"{subject} still exists {self.seconds:.0f} s after its deletion "
            f"(finalizers: {holders}). Check that the operator that removes the finalizers is running"
        )


class PodMissing(Exception):
    """The application has no pod of the requested role or name, or no Spark Connect server."""

    def __init__(self, reference: ApplicationReference, problem: str) -> None:
        super().__init__(reference, problem)
        self.reference = reference
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.reference} {self.problem}"
