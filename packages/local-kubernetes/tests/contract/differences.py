"""Intended differences of the local server, each with its text in docs/internals/local-kubernetes.md."""

from fnmatch import fnmatchcase

from contract.behaviour import Behaviour

DIFFERENCES = {
    "bad_input-config_map_body_is_validated?duplicate key?": "no warning about a duplicate field",
    "bad_input-request_without_valid_token_is_rejected?no token?": "A request without a token gets 401",
    "bad_input-request_without_valid_token_is_rejected?empty token?": "A request without a token gets 401",
    "bad_input-request_without_valid_token_is_rejected?another scheme?": "A request without a token gets 401",
    "bad_input-request_without_valid_token_is_rejected?invalid header?": "A request without a token gets 401",
    "creation-persistent_volume_claim_gets_defaults": "not protected while a pod uses it",
    "deletion-deletion_returns_status_or_object?claim?": "not protected while a pod uses it",
    "custom_resources-schema_keyword_is_evaluated?date-time?": "formats of strings are not evaluated",
    "custom_resources-schema_keyword_is_evaluated?rule?": "Rules in CEL",
    "patch-json_patch_is_validated?replace of missing key?": "JSON patches follow RFC 6902",
    "patch-json_patch_is_validated?missing value?": "JSON patches follow RFC 6902",
    "patch-json_patch_is_validated?copy from missing key?": "JSON patches follow RFC 6902",
    "patch-json_patch_edits_list_by_index": "JSON patches follow RFC 6902",
    "subresources-table_has_columns_of_kind?endpoints?": "no warning about endpoints",
    "watch-deprecated_watch_path_is_served": "paths below `/watch`",
}
"""The text of each difference, by a pattern of the behaviour's name in which `?` stands for a bracket."""


def find_difference(behaviour: Behaviour) -> str | None:
    """Return the documented text about a behaviour that differs; None for all others."""
    return next((text for pattern, text in DIFFERENCES.items() if fnmatchcase(behaviour.id, pattern)), None)
