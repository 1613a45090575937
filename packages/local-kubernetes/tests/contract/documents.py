"""Documents that the behaviours send."""

from collections.abc import Mapping
from typing import Any

from api.builders import build_definition

Document = dict[str, Any]

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
EXAMPLE = "example.com/v1"


def build_pod(name: str, spec: Document | None = None, **metadata: Any) -> Document:
    """Return a pod that no scheduler binds, without a token of its service account."""
    own = {
        "containers": [{"name": "main", "image": "i:1"}],
        "automountServiceAccountToken": False,
        "schedulerName": "nobody",
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata}, "spec": {**own, **(spec or {})}}


def build_bound_pod(name: str, spec: Document | None = None, **metadata: Any) -> Document:
    """Return a pod on a node without a kubelet."""
    return build_pod(name, {"nodeName": "nowhere", "tolerations": [{"operator": "Exists"}], **(spec or {})}, **metadata)


def build_config_map(name: str, data: Mapping[str, str] | None = None, **metadata: Any) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, **metadata},
        **({"data": dict(data)} if data else {}),
    }


def build_secret(name: str, **more: Any) -> Document:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, **more}


def build_service(name: str, **spec: Any) -> Document:
    own = {"selector": {"a": "b"}, "ports": [{"port": 80}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {**own, **spec}}


def build_lease(name: str, holder: str, **metadata: Any) -> Document:
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name, **metadata},
        "spec": {"holderIdentity": holder, "leaseDurationSeconds": 15},
    }


def build_thing(name: str, spec: Document | None = None, **more: Any) -> Document:
    """Return a custom resource of the definition below."""
    metadata = more.pop("metadata", {})
    return {
        "apiVersion": EXAMPLE,
        "kind": "Thing",
        "metadata": {"name": name, **metadata},
        "spec": {"name": "abc", **(spec or {})},
        **more,
    }


def build_stateful_set(name: str, replicas: int = 0) -> Document:
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "serviceName": name,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "main", "image": "i:1"}], "schedulerName": "nobody"},
            },
        },
    }


def build_event(name: str, namespace: str, **more: Any) -> Document:
    involved = {"kind": "Pod", "namespace": namespace, "name": "p", "apiVersion": "v1"}
    own = {"involvedObject": involved, "reason": "Started", "message": "it runs", "type": "Normal"}
    return {"apiVersion": "v1", "kind": "Event", "metadata": {"name": name}, **own, **more}


def build_owners(owner: Document, **more: Any) -> list[Document]:
    """Return the owner references of an object that belongs to another."""
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
    }
    return [{**reference, **more}]


def build_thing_definition() -> Document:
    """Return the definition of `things.example.com`, in two versions, with defaults, rules and both subresources."""
    return build_definition()
