"""Pods: defaults and rejected specifications."""

from typing import Any

from contract.behaviour import behaviour, behaviours_of, ignore_error_messages
from contract.conversation import Conversation
from contract.documents import build_pod

MAIN = {"name": "main", "image": "i:1"}


def _get_spec(body: Any) -> Any:
    return {"spec": body["spec"], "status": body["status"]}


@behaviours_of(
    [
        ("latest image", {"containers": [{"name": "main", "image": "i"}]}),
        ("image by digest", {"containers": [{"name": "main", "image": f"i@sha256:{'a' * 64}"}]}),
        ("limits", {"containers": [MAIN | {"resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}]}),
        ("requests", {"containers": [MAIN | {"resources": {"requests": {"cpu": "500m"}}}]}),
        ("ports", {"containers": [MAIN | {"ports": [{"containerPort": 80, "name": "http"}]}]}),
        (
            "variables",
            {
                "containers": [
                    MAIN
                    | {
                        "env": [
                            {"name": "A", "value": "1"},
                            {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
                            {"name": "C", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
                            {"name": "D"},
                        ]
                    }
                ]
            },
        ),
        (
            "volumes",
            {
                "containers": [MAIN | {"volumeMounts": [{"name": "a", "mountPath": "/a"}]}],
                "volumes": [
                    {"name": "a", "configMap": {"name": "c"}},
                    {"name": "b", "secret": {"secretName": "s"}},
                    {"name": "c", "emptyDir": {}},
                    {"name": "d", "hostPath": {"path": "/tmp"}},
                    {"name": "e", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
                    {
                        "name": "f",
                        "downwardAPI": {"items": [{"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}}]},
                    },
                    {"name": "g"},
                ],
            },
        ),
        ("sidecar", {"initContainers": [MAIN | {"name": "side", "restartPolicy": "Always"}]}),
        ("toleration", {"tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}]}),
        ("toleration of everything", {"tolerations": [{"operator": "Exists"}]}),
        ("security context", {"securityContext": {"runAsUser": 185, "fsGroup": 185}}),
        ("empty lists", {"volumes": [], "initContainers": [], "imagePullSecrets": []}),
    ]
)
async def pod_spec_gets_defaults(api: Conversation, spec: dict[str, Any]) -> None:
    await api.post(api.path("pods"), build_pod("a", spec), show=_get_spec)


@behaviours_of(
    [
        ("no containers", {"containers": []}),
        ("no image", {"containers": [{"name": "main"}]}),
        ("no name", {"containers": [{"image": "i"}]}),
        ("a bad name", {"containers": [{"name": "A_b", "image": "i"}]}),
        ("a long name", {"containers": [{"name": "a" * 64, "image": "i"}]}),
        ("a duplicate name", {"containers": [MAIN, MAIN]}),
        ("a name in both lists", {"initContainers": [MAIN]}),
        ("an unknown restart policy", {"restartPolicy": "Sometimes"}),
        ("an unknown pull policy", {"containers": [MAIN | {"imagePullPolicy": "Odd"}]}),
        ("a mount of an unknown volume", {"containers": [MAIN | {"volumeMounts": [{"name": "v", "mountPath": "/v"}]}]}),
        (
            "two mounts at one path",
            {
                "containers": [MAIN | {"volumeMounts": [{"name": "v", "mountPath": "/v"}] * 2}],
                "volumes": [{"name": "v", "emptyDir": {}}],
            },
        ),
        (
            "a mount without a path",
            {"containers": [MAIN | {"volumeMounts": [{"name": "v"}]}], "volumes": [{"name": "v"}]},
        ),
        ("a duplicate volume", {"volumes": [{"name": "v"}, {"name": "v"}]}),
        ("a volume with two sources", {"volumes": [{"name": "v", "emptyDir": {}, "configMap": {"name": "c"}}]}),
        ("a volume with a bad name", {"volumes": [{"name": "../v"}]}),
        (
            "a key path with dots",
            {"volumes": [{"name": "v", "configMap": {"name": "c", "items": [{"key": "k", "path": "../x"}]}}]},
        ),
        (
            "a sub path with dots",
            {
                "containers": [MAIN | {"volumeMounts": [{"name": "v", "mountPath": "/v", "subPath": "../x"}]}],
                "volumes": [{"name": "v", "emptyDir": {}}],
            },
        ),
        ("a port out of range", {"containers": [MAIN | {"ports": [{"containerPort": 70000}]}]}),
        ("a bad quantity", {"containers": [MAIN | {"resources": {"limits": {"cpu": "lots"}}}]}),
        (
            "a request above its limit",
            {"containers": [MAIN | {"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}}]},
        ),
        ("a variable without a name", {"containers": [MAIN | {"env": [{"value": "1"}]}]}),
        ("a variable with an equals sign", {"containers": [MAIN | {"env": [{"name": "A=B", "value": "1"}]}]}),
        (
            "a variable with two sources",
            {
                "containers": [
                    MAIN
                    | {"env": [{"name": "A", "value": "1", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]}
                ]
            },
        ),
        (
            "an unknown field path",
            {
                "containers": [
                    MAIN | {"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.nonsense"}}}]}
                ]
            },
        ),
        ("a negative grace period", {"terminationGracePeriodSeconds": -1}),
        ("a deadline of zero", {"activeDeadlineSeconds": 0}),
        ("text for a number", {"terminationGracePeriodSeconds": "x"}),
        ("text for a list", {"containers": "x"}),
        ("a number for a command", {"containers": [MAIN | {"command": [1]}]}),
        ("an unknown account", {"serviceAccountName": "nobody"}),
        ("an unknown priority class", {"priorityClassName": "nonsense"}),
    ]
)
@ignore_error_messages
async def pod_spec_is_validated(api: Conversation, spec: dict[str, Any]) -> None:
    await api.post(api.path("pods"), build_pod("a", spec))


@behaviour
async def pod_without_spec_is_rejected(api: Conversation) -> None:
    document = build_pod("a")
    del document["spec"]
    await api.post(api.path("pods"), document)


@behaviour
async def status_of_created_pod_is_ignored(api: Conversation) -> None:
    await api.post(api.path("pods"), build_pod("a") | {"status": {"phase": "Running"}}, show=_get_spec)


@behaviour
async def priority_class_sets_priority_of_pod(api: Conversation) -> None:
    name = f"{api.namespace}-high"
    path = "/apis/scheduling.k8s.io/v1/priorityclasses"
    await api.create(path, {"metadata": {"name": name}, "value": 70})
    document = build_pod("a", {"priorityClassName": name})
    show = lambda body: [body["spec"]["priority"], body["spec"]["preemptionPolicy"]]  # noqa: E731
    await api.post(api.path("pods"), document, show=show)
    await api.ask("DELETE", f"{path}/{name}")
