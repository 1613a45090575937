"""The base of all models of `spark.apache.org`: field names, nulls, unknown fields."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from ..kubernetes.json_object import JsonObject
from ..kubernetes.names import DEFAULT_API_VERSION

INT64_MAX = 2**63 - 1

# Strict, like the API server: neither "5" nor true is a number.
Integer = Annotated[int, Field(strict=True, ge=-INT64_MAX - 1, le=INT64_MAX)]
Boolean = Annotated[bool, Field(strict=True)]


@dataclass(frozen=True)
class KubernetesType:
    """Marks a field with a Kubernetes type, whose value stays a plain dict.

    Attributes:
        name: The type, for example `core.v1.PodTemplateSpec`. Empty if the field holds an object of `parts`.
        parts: For an object of this package with fields of Kubernetes types: the type of each field. An empty name
            stands for a type with unknown fields.
    """

    name: str = ""
    parts: tuple[tuple[str, str], ...] = ()


ObjectMetadata = Annotated[JsonObject, KubernetesType("meta.v1.ObjectMeta")]
PodTemplate = Annotated[JsonObject, KubernetesType("core.v1.PodTemplateSpec")]
ServiceSpec = Annotated[JsonObject, KubernetesType("core.v1.ServiceSpec")]
StatefulSetSpec = Annotated[JsonObject, KubernetesType("apps.v1.StatefulSetSpec")]
HorizontalPodAutoscalerSpec = Annotated[JsonObject, KubernetesType("autoscaling.v2.HorizontalPodAutoscalerSpec")]
NetworkPolicyPeer = Annotated[JsonObject, KubernetesType("networking.v1.NetworkPolicyPeer")]


class Model(BaseModel):
    """A part of a resource: immutable, camelCase in documents, snake_case in Python.

    Unknown fields are kept, so that a document of a newer version survives a round trip.
    """

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="allow", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, data: object) -> object:
        # The API server removes nulls before it sets defaults, so a null means that the field is not set.
        if isinstance(data, dict) and None in data.values():
            return {key: value for key, value in data.items() if value is not None}
        return data


class Resource(Model):
    """The common fields of a resource. `metadata` stays a dict."""

    api_version: str = DEFAULT_API_VERSION
    kind: str
    metadata: ObjectMetadata = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _drop_stateless_status(cls, data: object) -> object:
        # A status without a current state has no information: the resource counts as submitted.
        if isinstance(data, dict):
            status = data.get("status")
            if isinstance(status, dict) and not (status.get("currentState") or status.get("current_state")):
                return {key: value for key, value in data.items() if key != "status"}
        return data

    @property
    def name(self) -> str:
        """`metadata.name`, empty if it is not set."""
        return str(self.metadata.get("name") or "")

    @property
    def namespace(self) -> str:
        """`metadata.namespace`, empty if it is not set."""
        return str(self.metadata.get("namespace") or "")

    @property
    def uid(self) -> str:
        """`metadata.uid`, empty before the API server has set it."""
        return str(self.metadata.get("uid") or "")

    @property
    def generation(self) -> int:
        """`metadata.generation`, 0 if it is not set."""
        generation = self.metadata.get("generation")
        return generation if isinstance(generation, int) else 0

    @property
    def creation_timestamp(self) -> datetime | None:
        """When the resource was created; None if the time is missing or malformed."""
        return _check_time(self.metadata.get("creationTimestamp"))

    @property
    def deletion_timestamp(self) -> datetime | None:
        """When the deletion of the resource was requested; None if the resource is not being deleted."""
        return _check_time(self.metadata.get("deletionTimestamp"))

    @property
    def finalizers(self) -> tuple[str, ...]:
        """`metadata.finalizers`."""
        finalizers = self.metadata.get("finalizers")
        return tuple(str(finalizer) for finalizer in finalizers) if isinstance(finalizers, list) else ()

    def to_document(self) -> JsonObject:
        """Return the resource as JSON values: camelCase, with only the fields that are set."""
        fields = self.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_unset=True)
        return {"apiVersion": self.api_version, "kind": self.kind} | fields


def _check_time(value: object) -> datetime | None:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if not isinstance(value, datetime):
        return None
    return value if value.tzinfo else value.replace(tzinfo=UTC)
