"""Intended differences of the local server, each with its text in docs/internals/local-kubernetes.md."""

from fnmatch import fnmatchcase

from contract.behaviour import Behaviour

DIFFERENCES = {
    "bad_input-a_body_that_is?a key twice?": "no warning about a duplicate field",
    "bad_input-a_token_that_is?none?": "A request without a token gets 401",
    "bad_input-a_token_that_is?empty?": "A request without a token gets 401",
    "bad_input-a_token_that_is?of another scheme?": "A request without a token gets 401",
    "bad_input-a_token_that_is?with nonsense?": "A request without a token gets 401",
    "creation-a_claim_gets_its_defaults": "not protected while a pod uses it",
    "deletion-the_answer_to_the_deletion_of_a?claim?": "not protected while a pod uses it",
    "custom_resources-a_schema_with?date-time?": "formats of strings are not evaluated",
    "custom_resources-a_schema_with?rule?": "Rules in CEL",
    "patch-a_bad_json_patch?replace of what is not there?": "JSON patches follow RFC 6902",
    "patch-a_bad_json_patch?missing value?": "JSON patches follow RFC 6902",
    "patch-a_bad_json_patch?copy from nowhere?": "JSON patches follow RFC 6902",
    "patch-a_json_patch_of_a_list": "JSON patches follow RFC 6902",
    "subresources-the_columns_of?endpoints?": "no warning about endpoints",
    "watch-the_old_path_of_a_watch": "paths below `/watch`",
}
"""The text of each difference, by a pattern of the behaviour's name in which `?` stands for a bracket."""


def find_difference(behaviour: Behaviour) -> str | None:
    """Return the documented text about a behaviour that differs; None for all others."""
    return next((told for pattern, told in DIFFERENCES.items() if fnmatchcase(behaviour.id, pattern)), None)
