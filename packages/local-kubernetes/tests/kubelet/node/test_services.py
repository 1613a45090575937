from collections.abc import Mapping
from typing import Any

import pytest

from local_kubernetes.api.kinds.kinds import NAMESPACES, PODS, SERVICES
from local_kubernetes.api.store.store import Store
from local_kubernetes.kubelet.node.services import ServiceAddresses

ASSIGNED: dict[str, Any] = {"image": "assigned:1"}
PORTS = [{"name": "rpc", "containerPort": 7077}, {"name": "web", "containerPort": 8080}]


@pytest.fixture
def store() -> Store:
    store = Store()
    for name in ("default", "other"):
        store.create(NAMESPACES, None, {"metadata": {"name": name}})
    return store


@pytest.fixture
def addresses(store: Store) -> ServiceAddresses:
    return ServiceAddresses(store, lambda container: container["image"] == ASSIGNED["image"])


def create_service(store: Store, *ports: Mapping[str, Any], namespace: str = "default") -> None:
    spec = {"selector": {"app": "it"}, "ports": list(ports)}
    store.create(SERVICES, namespace, {"metadata": {"name": "it-svc"}, "spec": spec})


def create_pod(store: Store, namespace: str = "default", name: str = "it-0", **container: Any) -> None:
    entry = {"name": "main", "image": "i:1", "ports": PORTS, **container}
    metadata = {"name": name, "labels": {"app": "it", "more": "x"}}
    store.create(PODS, namespace, {"metadata": metadata, "spec": {"containers": [entry]}})


@pytest.mark.parametrize(
    "text",
    [
        "it-svc:80",
        "it-svc.default:80",
        "it-svc.default.svc:80",
        "it-svc.default.svc.cluster.local:80",
        "http://it-svc:80/path",
        "a,it-svc:80,b",
    ],
)
def test_service_port_resolves_to_the_port_of_its_pod(store: Store, addresses: ServiceAddresses, text: str) -> None:
    create_service(store, {"port": 80, "targetPort": "web"})
    create_pod(store)

    resolved = addresses.resolve(text, "default")

    assert "127.0.0.1:8080" in resolved
    assert "it-svc" not in resolved


@pytest.mark.parametrize(
    "text",
    ["it-svc:81", "it-svc", "other-svc:80", "my-it-svc:80", "it-svc:801", "it-svc.example.org:80", "it-svc.other:80"],
)
def test_other_text_is_unchanged(store: Store, addresses: ServiceAddresses, text: str) -> None:
    create_service(store, {"port": 80})
    create_pod(store)

    assert addresses.resolve(text, "default") == text


def test_a_service_of_another_namespace_is_named_with_it(store: Store, addresses: ServiceAddresses) -> None:
    create_service(store, {"port": 80, "targetPort": 8080}, namespace="other")

    assert addresses.resolve("it-svc.other:80 it-svc:80", "default") == "127.0.0.1:8080 it-svc:80"


def test_replaced_pod_keeps_its_assigned_ports(store: Store, addresses: ServiceAddresses) -> None:
    create_service(store, {"port": 7077, "targetPort": "rpc"}, {"port": 8080, "targetPort": "web"})
    create_pod(store, **ASSIGNED)

    resolved = addresses.resolve("rpc://it-svc:7077", "default")
    store.delete(PODS, "default", "it-0", grace_seconds=0)
    create_pod(store, **ASSIGNED)

    assert resolved == f"rpc://127.0.0.1:{addresses.assign_port('default', 'it-0', 7077)}"
    assert addresses.resolve("rpc://it-svc:7077", "default") == resolved
    assert addresses.assign_port("default", "it-0", 8080) != addresses.assign_port("default", "it-0", 7077)
    assert addresses.assign_port("other", "it-0", 7077) != addresses.assign_port("default", "it-0", 7077)


def test_ports_of_deleted_pods_are_released(store: Store, addresses: ServiceAddresses) -> None:
    create_pod(store, **ASSIGNED)
    port = addresses.assign_port("default", "it-0", 7077)

    for number in range(300):
        addresses.assign_port("default", f"deleted-{number}", 7077)

    assert addresses.assign_port("default", "it-0", 7077) == port
    assert len(addresses._assigned) < 150
