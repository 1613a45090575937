"""The answer to an AdmissionReview: whether a resource is valid, as `spark-operator validate` checks it."""

from collections.abc import Mapping, Sequence
from typing import Any

from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.names import GROUP
from ...core.kubernetes.problems import Problem
from ...core.validation.validate import validate_without_status

API_VERSION = "admission.k8s.io/v1"
_KIND = "AdmissionReview"
_UNPROCESSABLE = 422


class NotAReview(Exception):
    """The request is not an AdmissionReview of a supported version; str() is one sentence."""


def review(document: object) -> JsonObject:
    """Answer one review.

    Only new resources and changed specs are checked. It must be possible to label, finalize and delete an invalid
    resource that is older than the webhook. A problem that operators tolerate leads to a warning only.

    Raises:
        NotAReview: The document is not a review that can be answered.
    """
    request = _read_request(document)
    problems = validate_without_status(request.get("object")) if _must_be_checked(request) else []
    refused = [problem for problem in problems if problem.is_refused]
    response: JsonObject = {"uid": request["uid"], "allowed": not refused}
    if refused:
        response["status"] = _build_refusal(request, refused)
    if warnings := [str(problem) for problem in problems if not problem.is_refused]:
        response["warnings"] = warnings
    return {"apiVersion": API_VERSION, "kind": _KIND, "response": response}


def _read_request(document: object) -> Mapping[str, Any]:
    if not isinstance(document, Mapping) or document.get("kind") != _KIND:
        raise NotAReview(f"the request body must be an {_KIND}")
    if document.get("apiVersion") != API_VERSION:
        raise NotAReview(f"the {_KIND} must have apiVersion {API_VERSION}. Set admissionReviewVersions to [v1]")
    request = document.get("request")
    if not isinstance(request, Mapping) or not isinstance(request.get("uid"), str):
        raise NotAReview(f"the {_KIND} must have a request with a uid")
    return request


def _must_be_checked(request: Mapping[str, Any]) -> bool:
    match request.get("operation"):
        case "CREATE":
            return True
        case "UPDATE":
            new, old = _get_object(request, "object"), _get_object(request, "oldObject")
            metadata = new.get("metadata")
            is_being_deleted = isinstance(metadata, Mapping) and bool(metadata.get("deletionTimestamp"))
            return not is_being_deleted and new.get("spec") != old.get("spec")
    return False


def _get_object(request: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    document = request.get(name)
    return document if isinstance(document, Mapping) else {}


def _build_refusal(request: Mapping[str, Any], problems: Sequence[Problem]) -> JsonObject:
    """Build the Status for the client; kubectl shows the causes, other clients the message."""
    document = _get_object(request, "object")
    causes = [
        {"reason": "FieldValueInvalid", "field": problem.path, "message": problem.message} for problem in problems
    ]
    metadata = document.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    return {
        "status": "Failure",
        "code": _UNPROCESSABLE,
        "reason": "Invalid",
        "message": "; ".join(str(problem) for problem in problems),
        "details": {"group": GROUP, "kind": document.get("kind"), "name": name or "", "causes": causes},
    }
