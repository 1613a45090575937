"""Pods whose statuses are compared between a real node and the local one.

`IMAGE` is replaced by an image that has a shell and Python.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

IMAGE = "IMAGE"
_MARK = {"name": "mark", "mountPath": "/mark"}
_MARK_VOLUME = {"name": "mark", "emptyDir": {}}


@dataclass(frozen=True)
class Scenario:
    """A pod and the condition at which its status is compared.

    Args:
        name: Name of the scenario and of the pod.
        spec: The pod's specification.
        until: Condition at which the pod is compared; None for its last version before its deletion.
        delete_when: Condition at which the pod is deleted; None if it is not deleted.
        needs: Config maps and secrets to create before.
    """

    name: str
    spec: Json
    until: Callable[[Json], bool] | None
    delete_when: Callable[[Json], bool] | None = None
    needs: tuple[Json, ...] = ()


def container(script: str, name: str = "main", **fields: Any) -> Json:
    return {"name": name, "image": IMAGE, "imagePullPolicy": "IfNotPresent", "command": ["sh", "-c", script]} | fields


def once(*containers: Json, **spec: Any) -> Json:
    """Return the specification of a pod that is never restarted and has a short grace period."""
    fixed = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "automountServiceAccountToken": False}
    return fixed | {"containers": list(containers)} | spec


def statuses(pod: Json) -> list[Json]:
    status = pod.get("status") or {}
    return [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]


def has_ended(pod: Json) -> bool:
    """Whether the pod and all its containers have terminated: a kubelet sets the phase before the last sidecar ends."""
    if pod["status"].get("phase") not in ("Succeeded", "Failed"):
        return False
    return not any("running" in item["state"] for item in statuses(pod))


def is_evicted(pod: Json) -> bool:
    return bool(pod["status"].get("phase") == "Failed")


def ready(pod: Json) -> bool:
    return condition(pod, "Ready").get("status") == "True"


def condition(pod: Json, kind: str) -> Json:
    return next((item for item in pod["status"].get("conditions") or () if item["type"] == kind), {})


def unschedulable(pod: Json) -> bool:
    return condition(pod, "PodScheduled").get("reason") == "Unschedulable"


def waiting(reason: str) -> Callable[[Json], bool]:
    def holds(pod: Json) -> bool:
        return any((item["state"].get("waiting") or {}).get("reason") == reason for item in statuses(pod))

    return holds


def config_map(name: str, **data: str) -> Json:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def secret(name: str, **data: str) -> Json:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data}


def variable(name: str, **source: Mapping[str, object]) -> Json:
    return {"name": name, "valueFrom": source}


def says(words: str) -> str:
    """Return a script that writes a termination message."""
    return f'printf "%s\\n" {words} > /dev/termination-log'


_ENVIRONMENT = [
    {"name": "PLAIN", "value": "1"},
    {"name": "COMPOSED", "value": "$(PLAIN)-$(UNKNOWN)-$$(PLAIN)-$PLAIN"},
    variable("POD", fieldRef={"fieldPath": "metadata.name"}),
    variable("COLOR", fieldRef={"fieldPath": "metadata.labels['color']"}),
    variable("ACCOUNT", fieldRef={"fieldPath": "spec.serviceAccountName"}),
    variable("MILLICORES", resourceFieldRef={"resource": "limits.cpu", "divisor": "1m"}),
    variable("CORES", resourceFieldRef={"resource": "limits.cpu"}),
    variable("MEBIBYTES", resourceFieldRef={"resource": "requests.memory", "divisor": "1Mi"}),
    variable("MODE", configMapKeyRef={"name": "environment", "key": "mode"}),
    variable("WORD", secretKeyRef={"name": "environment", "key": "word"}),
    variable("NONE", secretKeyRef={"name": "nowhere", "key": "no", "optional": True}),
    {"name": "LATER", "value": "$(MODE)-$(WORD)"},
]
_SOURCES = [
    {"prefix": "P_", "configMapRef": {"name": "environment"}},
    {"secretRef": {"name": "environment"}},
    {"configMapRef": {"name": "nowhere", "optional": True}},
]
_WORDS = (
    '"$PLAIN" "$COMPOSED" "$POD" "$COLOR" "$ACCOUNT" "$MILLICORES" "$CORES" "$MEBIBYTES" "$MODE" "$WORD" '
    '"${NONE-unset}" "$LATER" "$P_mode" "$word" "$HOSTNAME"'
)
# Names and values that a shell would misinterpret.
_ODD = [
    {"name": "with space", "value": "a b"},
    {"name": "SEMI;COLON", "value": "; exit 7"},
    {"name": "-n", "value": "$(touch /tmp/x) `true` \"quoted\" 'too' \\ end"},
    {"name": "LINES", "value": "one\ntwo\n"},
    {"name": "1ST", "value": "é ü 猫"},
    {"name": "EMPTY"},
]
_ODD_SOURCE = {"prefix": "P.", "configMapRef": {"name": "odd-variables"}}
_PRINT = """
import json, os
names = ["with space", "SEMI;COLON", "-n", "LINES", "1ST", "EMPTY", "P.a.b-c", "P.1st"]
with open("/dev/termination-log", "w") as file:
    json.dump({name: os.environ.get(name) for name in names}, file)
"""
_FAILS_ONCE = "test -e /mark/x || { touch /mark/x; exit 9; }"
_RESTARTS_AT_42 = {"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}
_LABEL_ITEM = {"path": "labels/color", "fieldRef": {"fieldPath": "metadata.labels['color']"}}
_LIMIT_ITEM = {"path": "limit", "resourceFieldRef": {"containerName": "main", "resource": "limits.memory"}}
_VOLUMES = [
    {
        "name": "files",
        "configMap": {"name": "volumes", "items": [{"key": "a", "path": "sub/a.txt", "mode": 0o400}]},
    },
    {"name": "key", "secret": {"secretName": "volumes", "defaultMode": 0o440}},
    {"name": "none", "configMap": {"name": "nowhere", "optional": True}},
    {"name": "pod", "downwardAPI": {"items": [_LABEL_ITEM, _LIMIT_ITEM]}},
    {
        "name": "all",
        "projected": {
            "sources": [
                {"configMap": {"name": "volumes", "items": [{"key": "b", "path": "b"}]}},
                {"secret": {"name": "volumes"}},
                {"downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}},
                {"serviceAccountToken": {"path": "token"}},
            ]
        },
    },
    {"name": "scratch", "emptyDir": {}},
]
_VOLUME_MOUNTS = [
    {"name": "files", "mountPath": "/files"},
    {"name": "key", "mountPath": "/key"},
    {"name": "none", "mountPath": "/none"},
    {"name": "pod", "mountPath": "/pod"},
    {"name": "all", "mountPath": "/all"},
    {"name": "scratch", "mountPath": "/scratch", "subPath": "below"},
    {"name": "scratch", "mountPath": "/scratch-of-pod", "subPathExpr": "$(POD)"},
]
_LOOK = (
    "echo x > /scratch/x; echo y > /scratch-of-pod/y; { cat /files/sub/a.txt /key/word /all/b /all/word /all/name; "
    "cat /pod/labels/color /pod/limit; ls /none; ls /all; ls /scratch; ls /scratch-of-pod; "
    "test -s /all/token && echo token; "
    "stat -L -c %a /files/sub/a.txt /key/word /all/b; } > /dev/termination-log"
)

SCENARIOS = [
    Scenario("success", once(container("true")), has_ended),
    Scenario("failure", once(container("exit 3")), has_ended),
    Scenario("killed-child", once(container("sh -c 'kill -KILL $$$$'; exit $?")), has_ended),
    Scenario("two-containers-one-fails", once(container("true", "good"), container("exit 1", "bad")), has_ended),
    Scenario("running", once(container("sleep 600")), ready),
    Scenario(
        "out-of-memory",
        once(
            container(
                "",
                command=["python3", "-c", "import time; held = b'x' * (256 << 20); time.sleep(600)"],
                resources={"limits": {"memory": "64Mi"}},
            )
        ),
        has_ended,
    ),
    Scenario("unknown-image", once(container("true", image="registry.invalid/nothing:1")), waiting("ImagePullBackOff")),
    Scenario(
        "image-that-is-never-pulled",
        once(container("true", image="registry.invalid/nothing:1", imagePullPolicy="Never")),
        waiting("ErrImageNeverPull"),
    ),
    Scenario("invalid-image", once(container("true", image="Not An Image")), waiting("InvalidImageName")),
    Scenario("missing-program", once(container("", command=["/no/such/program"])), has_ended),
    Scenario(
        "missing-config-map",
        once(container("true", env=[variable("A", configMapKeyRef={"name": "nowhere", "key": "a"})])),
        waiting("CreateContainerConfigError"),
    ),
    Scenario(
        "missing-config-map-of-all-variables",
        once(container("true", envFrom=[{"configMapRef": {"name": "nowhere"}}])),
        waiting("CreateContainerConfigError"),
    ),
    Scenario(
        "missing-key",
        once(container("true", env=[variable("A", secretKeyRef={"name": "missing-key", "key": "a"})])),
        waiting("CreateContainerConfigError"),
        needs=(secret("missing-key", b="b"),),
    ),
    Scenario(
        "missing-volume",
        once(
            container("true", volumeMounts=[{"name": "files", "mountPath": "/files"}]),
            volumes=[{"name": "files", "configMap": {"name": "nowhere"}}],
        ),
        waiting("ContainerCreating"),
    ),
    Scenario("unschedulable", once(container("true"), nodeSelector={"disk": "none"}), unschedulable),
    Scenario(
        "environment",
        once(
            container(
                says(_WORDS),
                env=_ENVIRONMENT,
                envFrom=_SOURCES,
                resources={"limits": {"cpu": "1500m"}, "requests": {"memory": "100Mi", "cpu": "10m"}},
            )
        ),
        has_ended,
        needs=(config_map("environment", mode="fast"), secret("environment", word="sesame")),
    ),
    Scenario(
        "odd-variables",
        once(container("", command=["python3", "-c", _PRINT], env=_ODD, envFrom=[_ODD_SOURCE])),
        has_ended,
        needs=(config_map("odd-variables", **{"a.b-c": "dots and dashes", "1st": "a digit"}),),
    ),
    Scenario(
        "volumes",
        once(
            container(
                _LOOK,
                volumeMounts=_VOLUME_MOUNTS,
                env=[variable("POD", fieldRef={"fieldPath": "metadata.name"})],
                resources={"limits": {"memory": "128Mi"}},
            ),
            volumes=_VOLUMES,
        ),
        has_ended,
        needs=(config_map("volumes", a="content of a\n", b="content of b\n"), secret("volumes", word="sesame\n")),
    ),
    Scenario(
        "init-containers",
        once(
            container("cat /mark/x > /dev/termination-log", volumeMounts=[_MARK]),
            initContainers=[
                container(f"echo {word} >> /mark/x", word, volumeMounts=[_MARK]) for word in ("one", "two")
            ],
            volumes=[_MARK_VOLUME],
        ),
        has_ended,
    ),
    Scenario(
        "init-container-fails",
        once(container("true"), initContainers=[container("exit 4", "first"), container("true", "second")]),
        has_ended,
    ),
    Scenario(
        "init-container-keeps-failing",
        once(container("true"), restartPolicy="OnFailure", initContainers=[container("exit 4", "first")]),
        waiting("CrashLoopBackOff"),
    ),
    Scenario(
        "sidecar",
        once(
            container("while ! cat /mark/up; do sleep 0.05; done", volumeMounts=[_MARK]),
            initContainers=[
                container(
                    "trap 'exit 0' TERM; echo up > /mark/up; while :; do sleep 0.05; done",
                    "beside",
                    restartPolicy="Always",
                    volumeMounts=[_MARK],
                )
            ],
            volumes=[_MARK_VOLUME],
            terminationGracePeriodSeconds=20,
        ),
        has_ended,
    ),
    Scenario(
        "sidecar-that-does-not-end",
        once(
            container("exit 2"),
            initContainers=[
                container(
                    "trap '' TERM; while :; do sleep 0.05; done",
                    "beside",
                    restartPolicy="Always",
                )
            ],
        ),
        has_ended,
    ),
    Scenario(
        "deleted-in-time",
        once(
            container("trap 'exit 5' TERM; while :; do sleep 0.05; done"),
            terminationGracePeriodSeconds=20,
        ),
        None,
        delete_when=ready,
    ),
    Scenario(
        "deleted-and-killed",
        once(container("trap '' TERM; while :; do sleep 0.05; done")),
        None,
        delete_when=ready,
    ),
    Scenario(
        "on-failure-after-failure",
        once(
            container("test -e /mark/x || { touch /mark/x; exit 9; }", volumeMounts=[_MARK]),
            restartPolicy="OnFailure",
            volumes=[_MARK_VOLUME],
        ),
        has_ended,
    ),
    Scenario("on-failure-after-success", once(container("true"), restartPolicy="OnFailure"), has_ended),
    Scenario("always-after-failure", once(container("exit 1"), restartPolicy="Always"), waiting("CrashLoopBackOff")),
    Scenario("always-after-success", once(container("true"), restartPolicy="Always"), waiting("CrashLoopBackOff")),
    Scenario(
        "container-restarts-in-a-pod-that-does-not",
        once(
            container(_FAILS_ONCE, volumeMounts=[_MARK], restartPolicy="OnFailure"),
            container("exit 3", "other"),
            volumes=[_MARK_VOLUME],
        ),
        has_ended,
    ),
    Scenario(
        "container-does-not-restart-in-a-pod-that-does",
        once(container("exit 3", restartPolicy="Never"), restartPolicy="Always"),
        has_ended,
    ),
    Scenario(
        "container-restarts-by-its-exit-code",
        once(
            container(
                "test -e /mark/x && exit 3; touch /mark/x; exit 42",
                volumeMounts=[_MARK],
                restartPolicy="Never",
                restartPolicyRules=[_RESTARTS_AT_42],
            ),
            volumes=[_MARK_VOLUME],
        ),
        has_ended,
    ),
    Scenario(
        "container-restarts-by-other-exit-codes",
        once(
            container(
                "test -e /mark/x && exit 42; touch /mark/x; exit 3",
                volumeMounts=[_MARK],
                restartPolicy="Never",
                restartPolicyRules=[
                    {"action": "Restart", "exitCodes": {"operator": "NotIn", "values": [0, 42]}},
                ],
            ),
            volumes=[_MARK_VOLUME],
        ),
        has_ended,
    ),
    Scenario(
        "init-container-restarts-in-a-pod-that-does-not",
        once(
            container("true"),
            initContainers=[container(_FAILS_ONCE, "first", volumeMounts=[_MARK], restartPolicy="OnFailure")],
            volumes=[_MARK_VOLUME],
        ),
        has_ended,
    ),
    Scenario(
        "init-container-does-not-restart-in-a-pod-that-does",
        once(
            container("true"),
            initContainers=[container("exit 4", "first", restartPolicy="Never")],
            restartPolicy="OnFailure",
        ),
        has_ended,
    ),
    Scenario(
        "deadline",
        once(container("trap 'exit 0' TERM; while :; do sleep 0.05; done"), activeDeadlineSeconds=6),
        has_ended,
    ),
    Scenario(
        "last-lines-as-message",
        once(container("echo why; exit 1", terminationMessagePolicy="FallbackToLogsOnError")),
        has_ended,
    ),
]
