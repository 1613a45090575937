"""Convert a SparkApplication of Kubeflow's operator."""

from collections.abc import Mapping
from typing import Any, Final

from ..dialects.kubeflow import GROUP
from ..kubernetes.json_object import JsonObject, Problem, filter_errors, filter_warnings
from ..kubernetes.names import ANNOTATION_LAST_APPLIED, DEFAULT_API_VERSION
from ..validation.validate import validate_without_status
from .draft import Draft
from .fields import APPLICATION_FIELDS, Field
from .ingress import write_ingresses
from .lifecycle import write_lifecycle
from .monitoring import write_monitoring
from .normalize import Normalized, find_shape_problems, normalize
from .pods import write_templates
from .program import write_program
from .properties import write_properties
from .report import Conversion, FieldReport, Outcome, Status
from .schedulers import write_schedulers
from .volumes import report_unused_volumes

_KUEUE: Final = "kueue.x-k8s.io/"
_KUEUE_REASON: Final = (
    "the labels of Kueue need an operator that uses Kueue: the Apache operator 1.1.0 or newer, or the controller of "
    "this package with --kueue"
)
_KEPT: Final = ("name", "generateName", "namespace")
_UNKNOWN: Final = "it is not a field of Kubeflow's definition, and its operator ignores it"
_ORDER: Final = (
    "mainClass",
    "jars",
    "pyFiles",
    "sparkRFiles",
    "driverArgs",
    "proxyUser",
    "runtimeVersions",
    "suspend",
    "sparkConf",
    "configMapSpecs",
    "driverSpec",
    "executorSpec",
    "driverServiceIngressList",
    "applicationTolerations",
)


def convert_application(document: Mapping[str, Any]) -> Conversion:
    """Convert a SparkApplication of version v1beta2.

    Args:
        document: The document. It stays unchanged.
    """
    resource = describe_resource(document)
    problems = filter_errors(validate_without_status(document))
    normalized = normalize(document, APPLICATION_FIELDS)
    problems = [*problems, *normalized.problems]
    if not problems:
        problems = list(find_shape_problems(normalized.document["spec"]))
    if problems:
        return Conversion(resource, Status.REFUSED, problems=tuple(problems))
    draft, converted = build_application(normalized.document)
    problems = [*draft.problems, *filter_errors(validate_without_status(converted))]
    notes = [*draft.notes, *map(str, filter_warnings(validate_without_status(converted)))]
    return Conversion(
        resource,
        Status.REFUSED if problems else Status.CONVERTED,
        document=None if problems else converted,
        fields=report_fields(normalized, draft, APPLICATION_FIELDS),
        notes=tuple(dict.fromkeys(notes)),
        problems=tuple(dict.fromkeys(problems)),
    )


def describe_resource(document: Mapping[str, Any]) -> str:
    """Return the kind and the name of a document, for example `SparkApplication pi`, as far as they are set."""
    metadata = document.get("metadata")
    name = (metadata.get("name") or metadata.get("generateName")) if isinstance(metadata, Mapping) else None
    return " ".join(word for word in (document.get("kind"), name) if isinstance(word, str)) or "document"


def build_application(document: Mapping[str, Any]) -> tuple[Draft, JsonObject]:
    """Return the conversion of a normalized document, and the converted document."""
    metadata, spec = document["metadata"], document["spec"]
    draft = Draft(metadata.get("name", ""), metadata.get("namespace", ""), metadata.get("labels", {}), spec)
    write_properties(draft)
    write_program(draft)
    write_schedulers(draft)
    write_templates(draft)
    report_unused_volumes(draft)
    write_monitoring(draft)
    write_ingresses(draft)
    write_lifecycle(draft)
    draft.spec["sparkConf"] = dict(draft.conf)
    converted = {
        "apiVersion": DEFAULT_API_VERSION,
        "kind": "SparkApplication",
        "metadata": _build_metadata(draft, metadata),
        "spec": {name: draft.spec[name] for name in _ORDER if name in draft.spec},
    }
    return draft, converted


def report_fields(normalized: Normalized, draft: Draft, fields: Mapping[str, Field]) -> tuple[FieldReport, ...]:
    """Return what became of each field of a document, and which fields were added.

    Args:
        normalized: The document.
        draft: Its conversion.
        fields: The fields of the definition.
    """
    reports = []
    for path in normalized.present:
        field = fields[path]
        outcome, reason = draft.overrides.get(path, (field.outcome, field.reason))
        if outcome is Outcome.EXACT and path in normalized.converted:
            outcome, reason = Outcome.CHANGED, normalized.converted[path]
        target = "" if outcome is Outcome.DROPPED else draft.targets.get(path, field.target)
        reports.append(FieldReport(path, outcome, target, reason))
    unknown = (FieldReport(path, Outcome.DROPPED, reason=_UNKNOWN) for path in normalized.unknown)
    added = (FieldReport(path, Outcome.ADDED, reason=reason) for path, reason in draft.added.items())
    return (*reports, *unknown, *added)


def _build_metadata(draft: Draft, metadata: Mapping[str, Any]) -> JsonObject:
    kept: JsonObject = {key: metadata[key] for key in _KEPT if metadata.get(key)}
    reserved = [key for key in draft.labels if key.startswith(f"{GROUP}/")]
    labels = {key: value for key, value in draft.labels.items() if key not in reserved}
    if labels:
        kept["labels"] = labels
    reasons = []
    if reserved:
        reasons.append(f"{', '.join(reserved)} was removed: it belongs to Kubeflow's operator")
    if any(key.startswith(_KUEUE) for key in labels):
        reasons.append(_KUEUE_REASON)
    if reasons:
        draft.change("metadata.labels", "; ".join(reasons))
    given = metadata.get("annotations", {})
    annotations = {key: value for key, value in given.items() if key != ANNOTATION_LAST_APPLIED}
    if annotations:
        kept["annotations"] = annotations
    if ANNOTATION_LAST_APPLIED in given:
        draft.change("metadata.annotations", f"{ANNOTATION_LAST_APPLIED} was removed: it contains the old document")
    return kept


def refuse(document: Mapping[str, Any], path: str, reason: str) -> Conversion:
    """Return the conversion of a document that is refused for one reason."""
    return Conversion(describe_resource(document), Status.REFUSED, problems=(Problem(path, reason),))
