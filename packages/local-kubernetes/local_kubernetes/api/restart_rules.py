"""Validation of restart policies of containers, with the messages of the API server."""

from collections.abc import Iterator, Mapping
from typing import Any

from local_kubernetes.api.rules import choice_causes, required, too_many
from local_kubernetes.api.status import Cause

_POLICIES = ("Always", "Never", "OnFailure")
_ACTIONS = ("Restart", "RestartAllContainers")
_OPERATORS = ("In", "NotIn")
_MOST_RULES = 20
_MOST_CODES = 255


def restart_causes(container: Mapping[str, Any], place: str) -> Iterator[Cause]:
    """Return the errors in the restart policy of a container and its rules for exit codes."""
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or []
    if policy is not None:
        yield from choice_causes(policy, _POLICIES, f"{place}.restartPolicy")
    elif rules:
        yield required(f"{place}.restartPolicy", "must specify restartPolicy when restart rules are used")
    if len(rules) > _MOST_RULES:
        yield too_many(f"{place}.restartPolicyRules", len(rules), _MOST_RULES)
        return
    for index, rule in enumerate(rules):
        here = f"{place}.restartPolicyRules[{index}]"
        yield from choice_causes(rule.get("action") or "", _ACTIONS, f"{here}.action")
        codes = rule.get("exitCodes")
        if codes is None:
            yield required(f"{here}.exitCodes", "must be specified")
            continue
        yield from choice_causes(codes.get("operator") or "", _OPERATORS, f"{here}.exitCodes.operator")
        values = codes.get("values") or []
        if len(values) > _MOST_CODES:
            yield too_many(f"{here}.exitCodes.values", len(values), _MOST_CODES)
