"""Arbitrary documents: each is stored and can be shown, or is rejected with a Status."""

from contextlib import suppress
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from local_kubernetes.api.kinds.kinds import NAMESPACES
from local_kubernetes.api.kinds.status import ApiStatusError
from local_kubernetes.api.rendering.presentation import Presentation, Presenter
from local_kubernetes.api.requests.requests import WriteOptions
from local_kubernetes.api.server.resources import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, create, patch
from local_kubernetes.api.server.scale import build_scale
from local_kubernetes.api.store.registry import KindRegistry
from local_kubernetes.api.store.store import Store

from api.builders import Document, build_definition, build_thing

CONTAINER = {
    "name": "main",
    "image": "i",
    "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
    "ports": [{"containerPort": 80}],
    "resources": {"limits": {"cpu": "1"}, "requests": {"cpu": 1}},
    "volumeMounts": [{"name": "v", "mountPath": "/v"}],
    "readinessProbe": {"httpGet": {"port": 80}},
}
STATUS = {"name": "main", "ready": True, "restartCount": 1, "state": {"terminated": {"exitCode": 1}}}
POD_SPEC = {
    "containers": [CONTAINER],
    "initContainers": [{"name": "init", "image": "i"}],
    "volumes": [{"name": "v", "configMap": {"name": "c", "items": [{"key": "k", "path": "p"}]}}],
    "tolerations": [{"key": "a", "operator": "Exists"}],
    "readinessGates": [{"conditionType": "x"}],
}
METADATA = {
    "name": "a",
    "labels": {"a": "b"},
    "annotations": {"a": "b"},
    "finalizers": ["example.com/f"],
    "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": True}],
}
DOCUMENTS: dict[tuple[str, str, str], Document] = {
    ("", "v1", "pods"): {"spec": POD_SPEC, "status": {"containerStatuses": [STATUS]}},
    ("", "v1", "services"): {"spec": {"ports": [{"port": 80}], "selector": {"a": "b"}, "type": "ClusterIP"}},
    ("", "v1", "configmaps"): {"data": {"a": "b"}, "binaryData": {"c": "YQ=="}},
    ("", "v1", "secrets"): {"data": {"a": "YQ=="}, "stringData": {"b": "c"}, "type": "Opaque"},
    ("", "v1", "events"): {"involvedObject": {"kind": "Pod", "name": "p"}, "source": {"component": "c"}},
    ("", "v1", "persistentvolumeclaims"): {
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        "status": {"capacity": {"storage": "1"}},
    },
    ("apps", "v1", "statefulsets"): {
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": POD_SPEC},
        }
    },
    ("networking.k8s.io", "v1", "networkpolicies"): {"spec": {"podSelector": {"matchLabels": {"a": "b"}}}},
    ("rbac.authorization.k8s.io", "v1", "rolebindings"): {"roleRef": {"kind": "Role", "name": "r"}},
    ("coordination.k8s.io", "v1", "leases"): {"spec": {"holderIdentity": "x"}},
    ("apiextensions.k8s.io", "v1", "customresourcedefinitions"): {"spec": build_definition()["spec"]},
    ("example.com", "v1", "things"): {
        **build_thing("a", {"phase": "x"}, replicas=1, entries=[{"k": "1"}], free={"a": [1]}, port="http")
    },
}
EXAMPLES = 25
ODD: st.SearchStrategy[Any] = st.sampled_from(
    [None, 0, -1, 1.5, True, "", "text", [], ["text"], [None], [{}], {}, {"a": None}, {"name": 1}]
)


def mutate(document: Any, draw: st.DataObject) -> Any:
    """Return the document with an unusual value in one place."""
    result = deepcopy(document)
    node, steps = result, draw.draw(st.integers(0, 9), label="depth")
    for _ in range(steps):
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        inner = [key for key in keys if isinstance(node[key], dict | list) and node[key]]
        if not inner:
            break
        node = node[draw.draw(st.sampled_from(inner), label="into")]
    keys = list(node) if isinstance(node, dict) else list(range(len(node)))
    node[draw.draw(st.sampled_from(keys), label="at")] = draw.draw(ODD, label="odd")
    return result


@pytest.mark.parametrize("place", DOCUMENTS, ids=lambda place: str(place[2]))
@settings(max_examples=EXAMPLES)
@given(draw=st.data())
def test_arbitrary_documents_never_cause_an_internal_error(place: tuple[str, str, str], draw: st.DataObject) -> None:
    store = Store()
    kinds = KindRegistry(store)

    def find_served(at: tuple[str, str, str]) -> Any:
        return kinds.find(*at)

    create(store, find_served(("", "v1", NAMESPACES.plural)), None, {"metadata": {"name": "default"}}, WriteOptions())
    definitions = find_served(("apiextensions.k8s.io", "v1", "customresourcedefinitions"))
    if place[0] == "example.com":
        create(store, definitions, None, build_definition(), WriteOptions())
    served = find_served(place)
    namespace = "default" if served.kind.namespaced else None
    name = "things.example.com" if served is definitions else "a"
    base = {
        "apiVersion": served.api_version,
        "kind": served.kind.kind,
        **DOCUMENTS[place],
        "metadata": METADATA | {"name": name},
    }
    with suppress(ApiStatusError):
        create(store, served, namespace, mutate(base, draw), WriteOptions())
    unowned = {key: value for key, value in METADATA.items() if key != "ownerReferences"}
    if not store.objects.exists(served.kind, namespace, name):
        create(store, served, namespace, base | {"metadata": unowned | {"name": name}}, WriteOptions())
    media_type = draw.draw(st.sampled_from([MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH, JSON_PATCH]))
    change = mutate(base, draw)
    value = [{"op": "replace", "path": f"/{key}", "value": item} for key, item in change.items()]
    for subresource in (None, "status") if served.kind.status else (None,):
        content = (media_type, value if media_type == JSON_PATCH else deepcopy(change))
        with suppress(ApiStatusError):
            patch(store, served, (namespace, name), content, WriteOptions(force=True), subresource)
    _show(store, served, namespace)
    if served is definitions and store.objects.exists(served.kind, None, name):
        _use_definition(store, kinds)


def _show(store: Store, served: Any, namespace: str | None) -> None:
    items, _ = store.objects.list(served.kind, namespace)
    for form in ("metadata", "table"):
        Presenter(served, Presentation(form)).present_list(items, {"resourceVersion": "1"})
    for item in items:
        if served.scale is not None:
            build_scale(served, item)


def _use_definition(store: Store, kinds: KindRegistry) -> None:
    for served in list(kinds):
        if served.kind.custom:
            namespace = "default" if served.kind.namespaced else None
            document = build_thing("x", replicas=1) | {"apiVersion": served.api_version, "kind": served.kind.kind}
            with suppress(ApiStatusError):
                create(store, served, namespace, document, WriteOptions())
            _show(store, served, None)
