"""Convert a document of any kind."""

from collections.abc import Mapping
from typing import Any, Final

from ..dialects.kubeflow import GROUP, VERSIONS
from ..kubernetes.problems import Problem
from ..models.parse import name_type
from .application import convert_application, describe_resource, refuse
from .conversion import Conversion, Status
from .scheduled import IsTimeZone, convert_schedule

_LISTS: Final = ("List", "SparkApplicationList", "ScheduledSparkApplicationList")


def convert_document(document: object, is_time_zone: IsTimeZone | None = None) -> list[Conversion]:
    """Convert a document. A list of resources becomes one conversion for each of its items.

    SparkApplications and ScheduledSparkApplications of Kubeflow's operator are converted. Other kinds of its group are
    refused. Resources of other groups are passed through unchanged.

    Args:
        document: The document as read from YAML or JSON. It stays unchanged.
        is_time_zone: Returns whether a time zone with this name exists. None if names are not checked.
    """
    if not isinstance(document, Mapping):
        problem = Problem("", f"a resource must be an object, not {name_type(document)}")
        return [Conversion("document", Status.REFUSED, problems=(problem,))]
    items = document.get("items")
    if document.get("kind") in _LISTS and isinstance(items, list):
        return [conversion for item in items for conversion in convert_document(item, is_time_zone)]
    return [_convert_resource(document, is_time_zone)]


def _convert_resource(document: Mapping[str, Any], is_time_zone: IsTimeZone | None) -> Conversion:
    group, _, version = str(document.get("apiVersion")).rpartition("/")
    kind = document.get("kind")
    if group != GROUP:
        note = "passed through unchanged: it is not a resource of Kubeflow's operator"
        return Conversion(describe_resource(document), Status.UNCHANGED, dict(document), notes=(note,))
    if kind == "SparkConnect":
        reason = (
            "a SparkConnect is not converted: write a SparkApplication with the mainClass "
            "org.apache.spark.sql.connect.service.SparkConnectServer"
        )
        return refuse(document, "kind", reason)
    if version not in VERSIONS:
        reason = (
            f"is {document.get('apiVersion')}, but only {GROUP}/{VERSIONS[0]} can be converted. First upgrade the "
            f"resource to {VERSIONS[0]} with Kubeflow's operator"
        )
        return refuse(document, "apiVersion", reason)
    if kind == "SparkApplication":
        return convert_application(document)
    if kind == "ScheduledSparkApplication":
        return convert_schedule(document, is_time_zone)
    reason = f"must be SparkApplication or ScheduledSparkApplication, not {kind!r}"
    return refuse(document, "kind", reason)
