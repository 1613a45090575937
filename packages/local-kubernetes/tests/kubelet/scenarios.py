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
        delete_when: Condition at which the pod is deleted, after the first line of its log; None if it is not deleted.
        needs: Config maps and secrets to create before.
    """

    name: str
    spec: Json
    until: Callable[[Json], bool] | None
    delete_when: Callable[[Json], bool] | None = None
    needs: tuple[Json, ...] = ()


def build_container(script: str, name: str = "main", **fields: Any) -> Json:
    return {"name": name, "image": IMAGE, "imagePullPolicy": "IfNotPresent", "command": ["sh", "-c", script]} | fields


def build_spec(*containers: Json, **spec: Any) -> Json:
    """Return the specification of a pod that is never restarted and has a short grace period."""
    fixed = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "automountServiceAccountToken": False}
    return fixed | {"containers": list(containers)} | spec


def list_statuses(pod: Json) -> list[Json]:
    status = pod.get("status") or {}
    return [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]


def has_ended(pod: Json) -> bool:
    """Whether the pod has terminated with its containers and its sandbox.

    A kubelet sets the phase before the last sidecar ends and before it removes the sandbox.
    """
    if pod["status"].get("phase") not in ("Succeeded", "Failed"):
        return False
    if find_condition(pod, "PodReadyToStartContainers").get("status") == "True":
        return False
    return not any("running" in item["state"] for item in list_statuses(pod))


def is_evicted(pod: Json) -> bool:
    return bool(pod["status"].get("phase") == "Failed")


def is_ready(pod: Json) -> bool:
    return find_condition(pod, "Ready").get("status") == "True"


def find_condition(pod: Json, kind: str) -> Json:
    return next((item for item in pod["status"].get("conditions") or () if item["type"] == kind), {})


def is_unschedulable(pod: Json) -> bool:
    return find_condition(pod, "PodScheduled").get("reason") == "Unschedulable"


def build_waiting_check(reason: str) -> Callable[[Json], bool]:
    def holds(pod: Json) -> bool:
        return any((item["state"].get("waiting") or {}).get("reason") == reason for item in list_statuses(pod))

    return holds


def build_config_map(name: str, **data: str) -> Json:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def build_secret(name: str, **data: str) -> Json:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data}


def build_variable(name: str, **source: Mapping[str, object]) -> Json:
    return {"name": name, "valueFrom": source}


def build_message_script(words: str) -> str:
    """Return a script that writes a termination message."""
    return f'printf "%s\\n" {words} > /dev/termination-log'


_ENVIRONMENT = [
    {"name": "PLAIN", "value": "1"},
    {"name": "COMPOSED", "value": "$(PLAIN)-$(UNKNOWN)-$$(PLAIN)-$PLAIN"},
    build_variable("POD", fieldRef={"fieldPath": "metadata.name"}),
    build_variable("COLOR", fieldRef={"fieldPath": "metadata.labels['color']"}),
    build_variable("ACCOUNT", fieldRef={"fieldPath": "spec.serviceAccountName"}),
    build_variable("MILLICORES", resourceFieldRef={"resource": "limits.cpu", "divisor": "1m"}),
    build_variable("CORES", resourceFieldRef={"resource": "limits.cpu"}),
    build_variable("MEBIBYTES", resourceFieldRef={"resource": "requests.memory", "divisor": "1Mi"}),
    build_variable("MODE", configMapKeyRef={"name": "environment", "key": "mode"}),
    build_variable("WORD", secretKeyRef={"name": "environment", "key": "word"}),
    build_variable("NONE", secretKeyRef={"name": "nowhere", "key": "no", "optional": True}),
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
_LABEL_ITEM = {"path": "labels/color", "fieldRef": {"fieldPath": "metadata.labels['color']"}}
_LIMIT_ITEM = {"path": "limit", "resourceFieldRef": {"containerName": "main", "resource": "limits.memory"}}
_VOLUMES = [
    {"name": "files", "configMap": {"name": "volumes", "items": [{"key": "a", "path": "sub/a.txt", "mode": 0o400}]}},
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
    Scenario("success", build_spec(build_container("true")), has_ended),
    Scenario("failure", build_spec(build_container("exit 3")), has_ended),
    Scenario("killed-child", build_spec(build_container("sh -c 'kill -KILL $$$$'; exit $?")), has_ended),
    Scenario(
        "two-containers-one-fails",
        build_spec(build_container("true", "good"), build_container("exit 1", "bad")),
        has_ended,
    ),
    Scenario("running", build_spec(build_container("sleep 600")), is_ready),
    Scenario(
        "out-of-memory",
        build_spec(
            build_container(
                "",
                command=["python3", "-c", "import time; held = b'x' * (256 << 20); time.sleep(600)"],
                resources={"limits": {"memory": "64Mi"}},
            )
        ),
        has_ended,
    ),
    Scenario(
        "unknown-image",
        build_spec(build_container("true", image="registry.invalid/nothing:1")),
        build_waiting_check("ImagePullBackOff"),
    ),
    Scenario(
        "image-that-is-never-pulled",
        build_spec(build_container("true", image="registry.invalid/nothing:1", imagePullPolicy="Never")),
        build_waiting_check("ErrImageNeverPull"),
    ),
    Scenario(
        "invalid-image",
        build_spec(build_container("true", image="Not An Image")),
        build_waiting_check("InvalidImageName"),
    ),
    Scenario("missing-program", build_spec(build_container("", command=["/no/such/program"])), has_ended),
    Scenario(
        "missing-config-map",
        build_spec(build_container("true", env=[build_variable("A", configMapKeyRef={"name": "nowhere", "key": "a"})])),
        build_waiting_check("CreateContainerConfigError"),
    ),
    Scenario(
        "missing-config-map-of-all-variables",
        build_spec(build_container("true", envFrom=[{"configMapRef": {"name": "nowhere"}}])),
        build_waiting_check("CreateContainerConfigError"),
    ),
    Scenario(
        "missing-key",
        build_spec(
            build_container("true", env=[build_variable("A", secretKeyRef={"name": "missing-key", "key": "a"})])
        ),
        build_waiting_check("CreateContainerConfigError"),
        needs=(build_secret("missing-key", b="b"),),
    ),
    Scenario(
        "missing-volume",
        build_spec(
            build_container("true", volumeMounts=[{"name": "files", "mountPath": "/files"}]),
            volumes=[{"name": "files", "configMap": {"name": "nowhere"}}],
        ),
        build_waiting_check("ContainerCreating"),
    ),
    Scenario("unschedulable", build_spec(build_container("true"), nodeSelector={"disk": "none"}), is_unschedulable),
    Scenario(
        "environment",
        build_spec(
            build_container(
                build_message_script(_WORDS),
                env=_ENVIRONMENT,
                envFrom=_SOURCES,
                resources={"limits": {"cpu": "1500m"}, "requests": {"memory": "100Mi", "cpu": "10m"}},
            )
        ),
        has_ended,
        needs=(build_config_map("environment", mode="fast"), build_secret("environment", word="sesame")),
    ),
    Scenario(
        "odd-variables",
        build_spec(build_container("", command=["python3", "-c", _PRINT], env=_ODD, envFrom=[_ODD_SOURCE])),
        has_ended,
        needs=(build_config_map("odd-variables", **{"a.b-c": "dots and dashes", "1st": "a digit"}),),
    ),
    Scenario(
        "volumes",
        build_spec(
            build_container(
                _LOOK,
                volumeMounts=_VOLUME_MOUNTS,
                env=[build_variable("POD", fieldRef={"fieldPath": "metadata.name"})],
                resources={"limits": {"memory": "128Mi"}},
            ),
            volumes=_VOLUMES,
        ),
        has_ended,
        needs=(
            build_config_map("volumes", a="content of a\n", b="content of b\n"),
            build_secret("volumes", word="sesame\n"),
        ),
    ),
    Scenario(
        "init-containers",
        build_spec(
            build_container("cat /mark/x > /dev/termination-log", volumeMounts=[_MARK]),
            initContainers=[
                build_container(f"echo {word} >> /mark/x", word, volumeMounts=[_MARK]) for word in ("one", "two")
            ],
            volumes=[_MARK_VOLUME],
        ),
        has_ended,
    ),
    Scenario(
        "init-container-fails",
        build_spec(
            build_container("true"),
            initContainers=[build_container("exit 4", "first"), build_container("true", "second")],
        ),
        has_ended,
    ),
    Scenario(
        "init-container-keeps-failing",
        build_spec(
            build_container("true"), restartPolicy="OnFailure", initContainers=[build_container("exit 4", "first")]
        ),
        build_waiting_check("CrashLoopBackOff"),
    ),
    Scenario(
        "sidecar",
        build_spec(
            build_container("while ! cat /mark/up; do sleep 0.05; done", volumeMounts=[_MARK]),
            initContainers=[
                build_container(
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
        build_spec(
            build_container("exit 2"),
            initContainers=[
                build_container("trap '' TERM; while :; do sleep 0.05; done", "beside", restartPolicy="Always")
            ],
        ),
        has_ended,
    ),
    Scenario(
        "deleted-in-time",
        build_spec(
            build_container("trap 'exit 5' TERM; echo set; while :; do sleep 0.05; done"),
            terminationGracePeriodSeconds=20,
        ),
        None,
        delete_when=is_ready,
    ),
    Scenario(
        "deleted-and-killed",
        build_spec(build_container("trap '' TERM; echo set; while :; do sleep 0.05; done")),
        None,
        delete_when=is_ready,
    ),
    Scenario(
        "on-failure-after-failure",
        build_spec(
            build_container("test -e /mark/x || { touch /mark/x; exit 9; }", volumeMounts=[_MARK]),
            restartPolicy="OnFailure",
            volumes=[_MARK_VOLUME],
        ),
        has_ended,
    ),
    Scenario("on-failure-after-success", build_spec(build_container("true"), restartPolicy="OnFailure"), has_ended),
    Scenario(
        "always-after-failure",
        build_spec(build_container("exit 1"), restartPolicy="Always"),
        build_waiting_check("CrashLoopBackOff"),
    ),
    Scenario(
        "always-after-success",
        build_spec(build_container("true"), restartPolicy="Always"),
        build_waiting_check("CrashLoopBackOff"),
    ),
    Scenario(
        "container-restarts-in-a-pod-that-does-not",
        build_spec(
            build_container(_FAILS_ONCE, volumeMounts=[_MARK], restartPolicy="OnFailure"),
            build_container("exit 3", "other"),
            volumes=[_MARK_VOLUME],
        ),
        has_ended,
    ),
    Scenario(
        "container-does-not-restart-in-a-pod-that-does",
        build_spec(build_container("exit 3", restartPolicy="Never"), restartPolicy="Always"),
        has_ended,
    ),
    Scenario(
        "init-container-restarts-in-a-pod-that-does-not",
        build_spec(
            build_container("true"),
            initContainers=[build_container(_FAILS_ONCE, "first", volumeMounts=[_MARK], restartPolicy="OnFailure")],
            volumes=[_MARK_VOLUME],
        ),
        has_ended,
    ),
    Scenario(
        "init-container-does-not-restart-in-a-pod-that-does",
        build_spec(
            build_container("true"),
            initContainers=[build_container("exit 4", "first", restartPolicy="Never")],
            restartPolicy="OnFailure",
        ),
        has_ended,
    ),
    Scenario(
        "deadline",
        build_spec(build_container("trap 'exit 0' TERM; while :; do sleep 0.05; done"), activeDeadlineSeconds=6),
        has_ended,
    ),
    Scenario(
        "last-lines-as-message",
        build_spec(build_container("echo why; exit 1", terminationMessagePolicy="FallbackToLogsOnError")),
        has_ended,
    ),
]
