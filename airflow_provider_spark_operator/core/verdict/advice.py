"""Advice on what the API server, the scheduler and the kubelet report about a pod."""

import re
from collections.abc import Mapping
from typing import Final

from ..dialects.progress import SettingNames
from ..kubernetes import pods

# The objects that messages of the API server, the scheduler and the kubelet report as missing.
_MISSING_KINDS: Final[Mapping[str, str]] = {
    "configmap": "ConfigMap",
    "secret": "Secret",
    "serviceaccount": "ServiceAccount",
    "persistentvolumeclaim": "PersistentVolumeClaim",
}
_MISSING: Final = re.compile(rf'\b({"|".join(_MISSING_KINDS)}) "([^"\s]{{1,253}})" not found', re.IGNORECASE)
QUOTA_EXCEEDED: Final = "exceeded quota"
"""Text of the API server about a pod that a ResourceQuota does not permit."""
NO_ROOM: Final = ("Insufficient ", "Too many pods", "no nodes available")
"""Texts of the scheduler about nodes that only lack room."""
_NO_LIMIT: Final = re.compile(r"\bmust specify [\w./,-]*\blimits\.cpu\b")
# Advice for the reasons in a message of the scheduler.
_PLACEMENT_ADVICE: Final[Mapping[str, str]] = {
    "node affinity/selector": "no node has the labels that the driver requires: change {placement}, or label a node",
    "taint": "no node accepts the driver: add a toleration to {template}, or nodes without the taint",
}


def advise_on_refusal(message: str, settings: SettingNames) -> str:
    """Return what to do about a pod that the API rejected with this message; empty if nothing is known."""
    if QUOTA_EXCEEDED in message:
        return f"reduce the requests ({settings.size}), or raise the ResourceQuota of the namespace"
    if _NO_LIMIT.search(message):
        return f"set {settings.limit}, because a ResourceQuota of the namespace limits limits.cpu"
    return advise_on_missing_object(message, settings)


def advise_on_missing_object(message: str, settings: SettingNames) -> str:
    """Return what to do about an object that a message of Kubernetes reports as missing; empty if it reports none."""
    missing = _MISSING.search(message)
    if missing is None:
        return ""
    kind, name = _MISSING_KINDS[missing[1].lower()], missing[2]
    if kind == "ServiceAccount":
        return f"create the {kind} {name}, or set another one in {settings.account}"
    return f"create the {kind} {name} in the namespace of the application, or correct its name"


def advise_on_scheduling(scheduled: Mapping[str, object], settings: SettingNames) -> str:
    """Return what to do about a pod that the scheduler cannot place, from its condition PodScheduled."""
    message = pods.get_text(scheduled.get("message"))
    if pods.get_text(scheduled.get("reason")) == "SchedulingGated":
        return "the controller that set the scheduling gates, for example a queue, must remove them"
    if advice := advise_on_missing_object(message, settings):
        return advice
    if "no nodes available" in message:
        return "add nodes"
    # A node that only lacks room meets the other conditions, so requests are the obstacle.
    if not any(text in message for text in NO_ROOM):
        for text, advice in _PLACEMENT_ADVICE.items():
            if text in message:
                return advice.format(placement=settings.placement, template=settings.template)
    return f"reduce the requests ({settings.size}), or add nodes that fit"
