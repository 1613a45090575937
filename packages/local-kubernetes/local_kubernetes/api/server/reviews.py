"""Access reviews: a client with the token has every permission."""

from collections.abc import Mapping

from ..kinds.documents import JsonObject
from ..kinds.kinds import Kind
from ..kinds.status import Cause, build_invalid

USER = "local-admin"
_GROUPS = ["system:masters", "system:authenticated"]
_AUTHORIZATION = "authorization.k8s.io"
_AUTHENTICATION = "authentication.k8s.io"
_EVERYTHING: JsonObject = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}

REVIEWS: Mapping[tuple[str, str], tuple[str, bool]] = {
    (_AUTHORIZATION, "selfsubjectaccessreviews"): ("SelfSubjectAccessReview", False),
    (_AUTHORIZATION, "selfsubjectrulesreviews"): ("SelfSubjectRulesReview", False),
    (_AUTHORIZATION, "subjectaccessreviews"): ("SubjectAccessReview", False),
    (_AUTHORIZATION, "localsubjectaccessreviews"): ("LocalSubjectAccessReview", True),
    (_AUTHENTICATION, "selfsubjectreviews"): ("SelfSubjectReview", False),
}
"""The kind of each review, and whether it is namespaced, by group and plural."""


def answer_review(group: str, plural: str, review: JsonObject) -> JsonObject:
    """Return the review with the answer in its status.

    Raises:
        ApiStatusError: 422 for a review without a subject.
    """
    kind, _ = REVIEWS[group, plural]
    spec = review.get("spec") or {}
    if kind.endswith("AccessReview") and not (spec.get("resourceAttributes") or spec.get("nonResourceAttributes")):
        detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        cause = Cause("spec.resourceAttributes", f"Invalid value: null: {detail}")
        raise build_invalid(Kind(group, plural, ""), "", [cause])
    if kind == "SelfSubjectReview":
        status: JsonObject = {"userInfo": {"username": USER, "groups": _GROUPS}}
    elif kind == "SelfSubjectRulesReview":
        urls = [{"verbs": ["*"], "nonResourceURLs": ["*"]}]
        status = {"resourceRules": [_EVERYTHING], "nonResourceRules": urls, "incomplete": False}
    else:
        status = {"allowed": True, "reason": "the local cluster allows every request that has its token"}
    metadata = review.get("metadata") or {}
    return review | {"kind": kind, "apiVersion": f"{group}/v1", "metadata": metadata, "status": status}
