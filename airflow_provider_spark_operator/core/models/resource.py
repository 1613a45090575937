"""The common part of all resources of `spark.apache.org`: metadata, apiVersion and kind."""

from datetime import UTC, datetime

from pydantic import Field, model_validator

from ..kubernetes.json_object import JsonObject
from ..kubernetes.names import DEFAULT_API_VERSION
from .base import Model, ObjectMetadata


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
