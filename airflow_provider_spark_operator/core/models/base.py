"""The base of all models of `spark.apache.org`: field names, nulls, unknown fields."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from ..kubernetes.json_object import JsonObject

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
