"""The autoscaler of the workers of a cluster."""

from typing import Any, Final

from ..kubernetes.json_object import JsonObject
from ..kubernetes.names import ROLE_WORKER
from .frame import Frame

AUTOSCALER: Final = f"{ROLE_WORKER}-hpa"
_CPU_UTILIZATION_PERCENT = 30
_SECONDS_PER_ADDED_WORKER = 60
_SECONDS_PER_REMOVED_WORKER = 600


def build_autoscaler(frame: Frame) -> JsonObject | None:
    """Build the HorizontalPodAutoscaler of the workers, or return None if their number is fixed.

    The metrics and behavior come from the user. The limits and the target come from the cluster.
    """
    instances = frame.cluster.spec.cluster_tolerations.instance_config
    if instances.min_workers >= instances.max_workers:
        return None
    given = frame.cluster.spec.worker_spec.horizontal_pod_autoscaler_spec
    spec = {
        **(_build_default_rules() if given is None else given),
        "minReplicas": instances.min_workers,
        "maxReplicas": instances.max_workers,
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": frame.build_name(ROLE_WORKER)},
    }
    return frame.build_document("autoscaling/v2", "HorizontalPodAutoscaler", AUTOSCALER, spec)


def _build_default_rules() -> dict[str, Any]:
    target = {"type": "Utilization", "averageUtilization": _CPU_UTILIZATION_PERCENT}
    return {
        "metrics": [
            {
                "type": "ContainerResource",
                "containerResource": {"name": "cpu", "container": ROLE_WORKER, "target": target},
            }
        ],
        "behavior": {
            "scaleUp": {"policies": [_build_policy(_SECONDS_PER_ADDED_WORKER)]},
            "scaleDown": {"policies": [_build_policy(_SECONDS_PER_REMOVED_WORKER)]},
        },
    }


def _build_policy(seconds: int) -> dict[str, Any]:
    return {"type": "Pods", "value": 1, "periodSeconds": seconds}
