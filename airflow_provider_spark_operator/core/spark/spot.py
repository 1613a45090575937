"""The labels of nodes that a cloud can take back at any time (spot nodes), and their taints."""

from collections.abc import Mapping
from typing import Any, Final

SPOT_LABELS: Final[Mapping[str, tuple[str, str]]] = {
    "aks": ("kubernetes.azure.com/scalesetpriority", "spot"),
    "eks": ("eks.amazonaws.com/capacityType", "SPOT"),
    "gke": ("cloud.google.com/gke-spot", "true"),
    "karpenter": ("karpenter.sh/capacity-type", "spot"),
}
"""The label of spot nodes, by the name of the cloud service or the program that creates the nodes."""


def find_spot_label(given: Mapping[str, object] | str | None) -> tuple[str, str] | None:
    """Return the label of spot nodes that a valid value of `executors_on_spot` describes. None if it is None."""
    if isinstance(given, str):
        return SPOT_LABELS[given.strip()]
    for key, value in (given or {}).items():
        return str(key), str(value).lower() if isinstance(value, bool) else str(value)
    return None


def build_spot_pod(label: tuple[str, str], *, is_driver: bool) -> dict[str, Any]:
    """Return the part of a pod that keeps the driver off spot nodes, and admits executors to them.

    Args:
        label: The label of spot nodes.
        is_driver: Whether the pod is that of a driver.
    """
    key, value = label
    if not is_driver:
        # Spot nodes of AKS always have this taint, those of other clouds can have it.
        return {"tolerations": [{"key": key, "operator": "Equal", "value": value, "effect": "NoSchedule"}]}
    term = {"matchExpressions": [{"key": key, "operator": "NotIn", "values": [value]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    return {"affinity": {"nodeAffinity": required}}
