"""Validation of restart policies of containers, with the messages of the API server."""

from collections.abc import Iterator, Mapping
from typing import Any

from ..kinds.status import Cause
from .rules import build_required_cause, build_too_many_cause, find_choice_causes

_POLICIES = ("Always", "Never", "OnFailure")
_ACTIONS = ("Restart", "RestartAllContainers")
_OPERATORS = ("In", "NotIn")
_MAX_RULES = 20
_MAX_CODES = 255


def find_restart_causes(container: Mapping[str, Any], place: str) -> Iterator[Cause]:
    """Return the errors in the restart policy of a container and its rules for exit codes."""
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or []
    if policy is not None:
        yield from find_choice_causes(policy, _POLICIES, f"{place}.restartPolicy")
    elif rules:
        yield build_required_cause(f"{place}.restartPolicy", "must specify restartPolicy when restart rules are used")
    if len(rules) > _MAX_RULES:
        yield build_too_many_cause(f"{place}.restartPolicyRules", len(rules), _MAX_RULES)
        return
    for index, rule in enumerate(rules):
        here = f"{place}.restartPolicyRules[{index}]"
        yield from find_choice_causes(rule.get("action") or "", _ACTIONS, f"{here}.action")
        codes = rule.get("exitCodes")
        if codes is None:
            yield build_required_cause(f"{here}.exitCodes", "must be specified")
            continue
        yield from find_choice_causes(codes.get("operator") or "", _OPERATORS, f"{here}.exitCodes.operator")
        values = codes.get("values") or []
        if len(values) > _MAX_CODES:
            yield build_too_many_cause(f"{here}.exitCodes.values", len(values), _MAX_CODES)
