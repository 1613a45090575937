"""Read and write the Spark properties of an application. Both API groups have them in the field `spec.sparkConf`."""

from collections.abc import Mapping

from ..kubernetes.json_object import JsonObject
from ..kubernetes.pods import get_object


def select_properties(spec: Mapping[str, object]) -> Mapping[str, object]:
    """Return the Spark properties of the spec of an application."""
    return get_object(spec.get("sparkConf"))


def read_properties(document: Mapping[str, object]) -> Mapping[str, object]:
    """Return the Spark properties of an application."""
    return select_properties(get_object(document.get("spec")))


def write_properties(document: JsonObject, properties: Mapping[str, str]) -> JsonObject:
    """Return `document` with additional Spark properties."""
    if not properties:
        return document
    return document | {"spec": document["spec"] | {"sparkConf": {**read_properties(document), **properties}}}
