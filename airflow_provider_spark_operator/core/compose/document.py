"""The document of a resource: its model, apiVersion, kind and metadata."""

from typing import Protocol, TypeGuard

from ..kubernetes.json_object import JsonObject, copy_object
from ..kubernetes.names import (
    APPLICATION_IDENTITY,
    DEFAULT_API_VERSION,
    NameRules,
    find_name_problem,
    find_namespace_problem,
)
from ..kubernetes.problems import InvalidResource, Problem
from ..parameters.arguments import FILE_EXTENSIONS


class PydanticModel(Protocol):
    """The method of a pydantic model of a resource. DAG files must not import the models, so only the shape counts."""

    def to_document(self) -> JsonObject:
        """Return the resource as JSON values."""
        ...


def is_model(value: object) -> TypeGuard[PydanticModel]:
    """Return whether `value` is the model of a resource."""
    return not isinstance(value, type) and callable(getattr(value, "to_document", None))


def is_file_name(text: str) -> bool:
    """Return whether `text` is the path of a file instead of a document."""
    return "\n" not in text and text.endswith(FILE_EXTENSIONS)


def new_application(api_version: str | None = None) -> JsonObject:
    """Return an application without any field.

    Args:
        api_version: The apiVersion. If None, the apiVersion is `spark.apache.org/v1`.
    """
    return {"apiVersion": api_version or DEFAULT_API_VERSION, "kind": APPLICATION_IDENTITY.kind, "spec": {}}


def complete_kind(document: JsonObject, api_version: str | None) -> JsonObject:
    """Return `document` with its kind, and with an apiVersion if one is given.

    Args:
        document: The document of an application. It stays unchanged.
        api_version: The apiVersion of a document that has none.

    Raises:
        InvalidResource: The document has another apiVersion.
    """
    given = document.get("apiVersion")
    if api_version and given not in (None, api_version):
        problem = Problem(
            "apiVersion", f"is {given!r}, but the parameter api_version is {api_version!r}: leave one of them out"
        )
        raise InvalidResource([problem])
    completed = document | {"kind": document.get("kind") or APPLICATION_IDENTITY.kind}
    return completed | ({"apiVersion": api_version} if given is None and api_version else {})


def override_metadata(
    document: JsonObject, *, name: str | None, namespace: str | None, identity: NameRules = APPLICATION_IDENTITY
) -> JsonObject:
    """Return `document` with a name and a namespace that override its own.

    Args:
        document: The document of a resource. It stays unchanged.
        name: The name. If None or empty, the value in the document is used.
        namespace: The namespace. If None or empty, the value in the document is used.
        identity: The rules for the name.

    Raises:
        InvalidResource: The metadata is not an object, or a name is not valid in Kubernetes.
    """
    given = {"name": name, "namespace": namespace}
    metadata = copy_object(document, "metadata", "metadata") | {key: value for key, value in given.items() if value}
    problems = [find_name_problem(metadata.get("name"), identity), find_namespace_problem(metadata.get("namespace"))]
    found = [problem for problem in problems if problem]
    if found:
        raise InvalidResource(found)
    return document | {"metadata": metadata}
