"""What every resource of `spark.apache.org` has besides its spec: names, times, who holds it."""

from datetime import UTC, datetime

from pydantic import Field, model_validator

from airflow_provider_spark_operator.core.models.base import JsonObject, Model, ObjectMetadata


class Resource(Model):
    """The frame of a resource; `metadata` is Kubernetes' and stays a dict."""

    api_version: str = "spark.apache.org/v1"
    kind: str
    metadata: ObjectMetadata = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _drop_stateless_status(cls, data: object) -> object:
        # A status without a current state says nothing yet: the resource is as good as submitted.
        if isinstance(data, dict):
            status = data.get("status")
            if isinstance(status, dict) and not (status.get("currentState") or status.get("current_state")):
                return {key: value for key, value in data.items() if key != "status"}
        return data

    @property
    def name(self) -> str:
        """`metadata.name`, empty where it is not set."""
        return str(self.metadata.get("name") or "")

    @property
    def namespace(self) -> str:
        """`metadata.namespace`, empty where it is not set."""
        return str(self.metadata.get("namespace") or "")

    @property
    def uid(self) -> str:
        """`metadata.uid`, empty before the API server has given one."""
        return str(self.metadata.get("uid") or "")

    @property
    def generation(self) -> int:
        """`metadata.generation`, 0 where it is not set."""
        generation = self.metadata.get("generation")
        return generation if isinstance(generation, int) else 0

    @property
    def creation_timestamp(self) -> datetime | None:
        """When the resource was created; None where that is not (or not readably) said."""
        return _time(self.metadata.get("creationTimestamp"))

    @property
    def deletion_timestamp(self) -> datetime | None:
        """When the resource's deletion was asked for; None while it was not."""
        return _time(self.metadata.get("deletionTimestamp"))

    @property
    def finalizers(self) -> tuple[str, ...]:
        """`metadata.finalizers`."""
        finalizers = self.metadata.get("finalizers")
        return tuple(str(finalizer) for finalizer in finalizers) if isinstance(finalizers, list) else ()

    def to_document(self) -> JsonObject:
        """The resource as JSON values, as somebody would write it: camelCase, only what was said."""
        said = self.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_unset=True)
        return {"apiVersion": self.api_version, "kind": self.kind} | said


def _time(value: object) -> datetime | None:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if not isinstance(value, datetime):
        return None
    return value if value.tzinfo else value.replace(tzinfo=UTC)
