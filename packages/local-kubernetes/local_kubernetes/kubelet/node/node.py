"""The one node of the local cluster: its object, and the state that its pods share."""

import asyncio
import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from ...api.kinds.documents import JsonObject, format_timestamp
from ...api.store.store import Store
from .access import ApiAccess
from .images import ImageRule
from .memory import MemoryLimits
from .pod_status import ADDRESS
from .recorder import EventRecorder
from .services import ServiceAddresses

NODE_NAME = "local"
SCHEDULER_NAME = "default-scheduler"
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
MAX_PODS = 1000
NO_PLACE = "0/1 nodes are available: 1 Too many pods."


@dataclass(frozen=True)
class Node:
    """State that all pods of the node share.

    Args:
        store: The cluster's objects.
        home: Directory with the directories of the pods.
        api: Access of containers to the API server.
        images: The images that can be run, and the runtime of each.
        recorder: Writes events.
        clock: Returns the current time.
        max_log_bytes: Size at which the log file of a container is rotated.
        places: One permit for each pod that the node can run at a time.
        memory: Kills containers that exceed their memory limit.
        services: Maps services to addresses.
    """

    store: Store
    home: Path
    api: ApiAccess
    images: Sequence[ImageRule]
    recorder: EventRecorder
    clock: Callable[[], datetime]
    max_log_bytes: int
    places: asyncio.Semaphore
    memory: MemoryLimits
    services: ServiceAddresses

    def get_pod_folder(self, uid: str) -> Path:
        """Return the directory of a pod's volumes and scratch files; it is deleted with the pod."""
        return self.home / "pods" / uid

    def log_folder(self, namespace: str, name: str, uid: str) -> Path:
        """Return the directory of a pod's logs."""
        return self.home / "logs" / f"{namespace}_{name}_{uid}"

    @property
    def cache_folder(self) -> Path:
        """The directory of files that runtimes keep; it may not exist."""
        return self.home / "cache"

    @property
    def claims_folder(self) -> Path:
        """The directory of persistent volume claims."""
        return self.home / "claims"


def get_node_labels() -> dict[str, str]:
    """The labels that a pod's node selector is compared with."""
    system = platform.system().lower()
    architecture = _ARCHITECTURES.get(platform.machine(), platform.machine())
    return {"kubernetes.io/hostname": NODE_NAME, "kubernetes.io/os": system, "kubernetes.io/arch": architecture}


def build_node_document(now: datetime, max_pods: int) -> JsonObject:
    """Return the Node object of a node with a maximum number of pods."""
    capacity = {"cpu": str(os.cpu_count() or 1), "memory": f"{_read_memory_bytes() // 1024}Ki", "pods": str(max_pods)}
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "KubeletReady",
        "message": "containers run as processes of this machine",
        "lastHeartbeatTime": format_timestamp(now),
        "lastTransitionTime": format_timestamp(now),
    }
    labels = get_node_labels()
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": NODE_NAME, "labels": labels},
        "spec": {},
        "status": {
            "addresses": [{"type": "InternalIP", "address": ADDRESS}, {"type": "Hostname", "address": NODE_NAME}],
            "capacity": capacity,
            "allocatable": capacity,
            "conditions": [ready],
            "nodeInfo": {
                "architecture": labels["kubernetes.io/arch"],
                "operatingSystem": labels["kubernetes.io/os"],
                "osImage": platform.platform(),
                "kernelVersion": platform.release(),
                "containerRuntimeVersion": "process://1",
                "kubeletVersion": "local",
                **dict.fromkeys(("kubeProxyVersion", "bootID", "machineID", "systemUUID"), ""),
            },
        },
    }


def find_scheduling_refusal(pod: JsonObject) -> str | None:
    """Return why a pod cannot be bound to the node; None if it can.

    Only labels count. Resource requests do not, because the processes of a laptop share its resources.
    """
    labels = get_node_labels()
    wanted = pod["spec"].get("nodeSelector") or {}
    if any(labels.get(key) != value for key, value in wanted.items()):
        return "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."
    return None


def _read_memory_bytes() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):  # some systems lack these names; the number is only shown
        return 0
