"""Parse the rendered document of a resource: an object, a model, or YAML or JSON text."""

import copy
from collections.abc import Mapping

from ...core.compose.document import complete_kind, is_model, new_application, override_metadata
from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.names import APPLICATION_IDENTITY, CLUSTER_IDENTITY
from ...core.kubernetes.problems import InvalidResource, Problem
from ...kube.yaml_text import YamlError, describe_position, load_all

_KINDS = {"application": APPLICATION_IDENTITY.kind, "cluster": CLUSTER_IDENTITY.kind}


def parse_manifest(source: object, api_version: str | None) -> JsonObject:
    """Return the rendered document of an application as a new object, with its kind.

    Args:
        source: A dict, a Pydantic model, YAML or JSON text, or None for a document without any field.
        api_version: The apiVersion of a document that names none. If None, and without a document, the apiVersion is
            `spark.apache.org/v1`.

    Raises:
        InvalidResource: The source is not an application, or names another apiVersion.
    """
    if source is None:
        return new_application(api_version)
    return complete_kind(parse(source), api_version)


def read_document(source: object, api_version: str | None, *, name: str | None, namespace: str | None) -> JsonObject:
    """Return the manifest of an application as a new object, without its parameters.

    Args:
        source: A dict, a Pydantic model, YAML or JSON text, or None for a manifest without any field.
        api_version: The apiVersion of a manifest that has none. A manifest must not have another apiVersion.
        name: The name. If None, the name in the manifest is used.
        namespace: The namespace. If None, the namespace in the manifest is used.

    Raises:
        InvalidResource: The source is not an application, or the name or the namespace is not valid.
    """
    return override_metadata(parse_manifest(source, api_version), name=name, namespace=namespace)


def parse(source: object, noun: str = "application") -> JsonObject:
    """Return the rendered document of a resource as a new object.

    Args:
        source: An object, a model, or YAML or JSON text.
        noun: What the resource is, "application" or "cluster", for messages.

    Raises:
        InvalidResource: The source is not an object, not valid YAML, or of another kind.
    """
    value = source.to_document() if is_model(source) else _load(source, noun) if isinstance(source, str) else source
    if not isinstance(value, Mapping):
        message = f"must be a manifest, which is an object with spec, not {_describe_type(value)}"
        raise InvalidResource([Problem("", message)])
    if value.get("kind") not in (None, _KINDS[noun]):
        raise InvalidResource([Problem("kind", f"must be {_KINDS[noun]}, not {value['kind']!r}")])
    return copy.deepcopy(dict(value))


def parse_pod_template(source: Mapping[str, object] | str | None, parameter: str) -> Mapping[str, object] | None:
    """Return a pod template as an object. It is given as one, or as YAML or JSON text; None if it is not given.

    Args:
        source: The rendered value of the parameter.
        parameter: Name of the parameter, for messages.

    Raises:
        InvalidResource: The text is not valid YAML, or not exactly one object.
    """
    if not isinstance(source, str):
        return source
    documents = _load_documents(source, parameter)
    template = documents[0] if len(documents) == 1 else None
    if isinstance(template, Mapping):
        return template
    raise InvalidResource([Problem(parameter, "must contain exactly one object, with metadata and spec")])


def _load(text: str, noun: str) -> object:
    documents = _load_documents(text, "")
    if len(documents) != 1:
        raise InvalidResource(
            [Problem("", f"must contain exactly one {_KINDS[noun]} manifest, but contains {len(documents)} manifests")]
        )
    return documents[0]


def _load_documents(text: str, path: str) -> list[object]:
    try:
        return [one for one in load_all(text) if one is not None]  # JSON is YAML
    except (YamlError, RecursionError) as error:
        position = describe_position(error)
        place = f" at {position}" if position else ""
        problem = getattr(error, "problem", None) or "it cannot be parsed"
        # The original error shows the line, which may contain a secret.
        raise InvalidResource([Problem(path, f"invalid YAML{place}: {problem}")]) from None


def _describe_type(value: object) -> str:
    words = {str: "a string", list: "a list", bool: "true or false", int: "a number", float: "a number"}
    return "nothing" if value is None else words.get(type(value), f"a {type(value).__name__}")
