"""Validation of pods, rule by rule, and warnings, with the exact messages of the real server."""

from typing import Any

from contract.behaviour import behaviours_of
from contract.conversation import Conversation, Document
from contract.documents import build_pod

MAIN = {"name": "main", "image": "i:1"}


def _get_spec(body: Any) -> Any:
    return body["spec"]


def build_container(**fields: Any) -> Document:
    return {"containers": [MAIN | fields]}


def build_init_container(**fields: Any) -> Document:
    return {"initContainers": [MAIN | {"name": "first"} | fields]}


def mount(**fields: Any) -> Document:
    mounts = [{"name": "v", "mountPath": "/v"} | fields]
    return build_container(volumeMounts=mounts) | {"volumes": [{"name": "v", "emptyDir": {}}]}


def build_volume(**source: Any) -> Document:
    return {"volumes": [{"name": "v", **source}]}


def build_projected(*sources: Document) -> Document:
    return build_volume(projected={"sources": list(sources)})


def build_variable(**fields: Any) -> Document:
    return build_container(env=[fields])


def build_resources(**fields: Any) -> Document:
    return build_container(resources=fields)


def build_port(**fields: Any) -> Document:
    return build_container(ports=[{"containerPort": 80} | fields])


@behaviours_of(
    [
        (
            "scheduling",
            {
                "nodeSelector bad key": {"nodeSelector": {"a b": "c"}},
                "nodeSelector bad value": {"nodeSelector": {"a": "b c"}},
                "nodeSelector empty key": {"nodeSelector": {"": "c"}},
                "nodeSelector slash": {"nodeSelector": {"a/b/c": "c"}},
                "nodeSelector long prefix": {"nodeSelector": {"a" * 254 + "/b": "c"}},
                "nodeName bad": {"nodeName": "a b"},
                "nodeName dots": {"nodeName": "../x"},
                "nodeName upper": {"nodeName": "ABC"},
            },
        ),
        (
            "names",
            {
                "hostname bad": {"hostname": "a_b"},
                "hostname dots": {"hostname": "a.b"},
                "subdomain bad": {"subdomain": "A"},
                "hostname long": {"hostname": "a" * 64},
            },
        ),
        (
            "resources",
            {
                "negative": build_resources(requests={"cpu": "-1"}),
                "negative limit": build_resources(limits={"memory": "-1Gi"}),
                "zero": build_resources(limits={"memory": "0"}),
                "unknown name": build_resources(limits={"wat": "1"}),
                "bad name": build_resources(limits={"a b": "1"}),
                "extended": build_resources(limits={"example.com/gpu": "1"}),
                "extended fraction": build_resources(limits={"example.com/gpu": "1.5"}),
                "extended request only": build_resources(requests={"example.com/gpu": "1"}),
                "extended differ": build_resources(requests={"example.com/gpu": "1"}, limits={"example.com/gpu": "2"}),
                "ephemeral": build_resources(limits={"ephemeral-storage": "1Gi"}),
            },
        ),
        (
            "ports",
            {
                "zero": build_container(ports=[{"containerPort": 0}]),
                "missing": build_container(ports=[{}]),
                "name bad": build_port(name="A b"),
                "name long": build_port(name="a" * 16),
                "name digits": build_port(name="80"),
                "name twice": build_container(
                    ports=[{"containerPort": 80, "name": "a"}, {"containerPort": 81, "name": "a"}]
                ),
                "protocol lower": build_port(protocol="tcp"),
            },
        ),
        (
            "variables",
            {
                "name none": build_variable(value="x"),
                "ref two": build_variable(
                    name="A",
                    valueFrom={
                        "fieldRef": {"fieldPath": "metadata.name"},
                        "configMapKeyRef": {"name": "a", "key": "b"},
                    },
                ),
                "ref none": build_variable(name="A", valueFrom={}),
                "config map no key": build_variable(name="A", valueFrom={"configMapKeyRef": {"name": "a"}}),
                "config map no name": build_variable(name="A", valueFrom={"configMapKeyRef": {"key": "a"}}),
                "config map key dots": build_variable(
                    name="A", valueFrom={"configMapKeyRef": {"name": "a", "key": "../x"}}
                ),
                "config map name bad": build_variable(
                    name="A", valueFrom={"configMapKeyRef": {"name": "../a", "key": "x"}}
                ),
                "secret key slash": build_variable(name="A", valueFrom={"secretKeyRef": {"name": "a", "key": "a/x"}}),
                "field version": build_variable(
                    name="A", valueFrom={"fieldRef": {"fieldPath": "metadata.name", "apiVersion": "v2"}}
                ),
                "field labels": build_variable(name="A", valueFrom={"fieldRef": {"fieldPath": "metadata.labels"}}),
                "field annotation": build_variable(
                    name="A", valueFrom={"fieldRef": {"fieldPath": "metadata.annotations['Example.com/A']"}}
                ),
                "field label bad": build_variable(
                    name="A", valueFrom={"fieldRef": {"fieldPath": "metadata.labels['a b']"}}
                ),
                "field none": build_variable(name="A", valueFrom={"fieldRef": {}}),
                "resource bad": build_variable(name="A", valueFrom={"resourceFieldRef": {"resource": "limits.wat"}}),
                "resource none": build_variable(name="A", valueFrom={"resourceFieldRef": {}}),
                "resource container": build_variable(
                    name="A", valueFrom={"resourceFieldRef": {"resource": "limits.cpu", "containerName": "nope"}}
                ),
                "newline name": build_variable(name="A\nB", value="x"),
                "unicode name": build_variable(name="Ä", value="x"),
                "dots": build_variable(name="..", value="x"),
                "null in value": build_variable(name="A", value="a\0b"),
                "variables none": build_container(envFrom=[{}]),
                "variables two": build_container(envFrom=[{"configMapRef": {"name": "a"}, "secretRef": {"name": "b"}}]),
                "variables no name": build_container(envFrom=[{"configMapRef": {}}]),
                "variables bad name": build_container(envFrom=[{"configMapRef": {"name": "../a"}}]),
                "variables bad prefix": build_container(envFrom=[{"prefix": "a=b", "configMapRef": {"name": "a"}}]),
            },
        ),
        (
            "volumes",
            {
                "none": build_volume(),
                "hostPath none": build_volume(hostPath={}),
                "hostPath dots": build_volume(hostPath={"path": "/a/../b"}),
                "hostPath relative": build_volume(hostPath={"path": "a"}),
                "hostPath type": build_volume(hostPath={"path": "/a", "type": "wat"}),
                "config map no name": build_volume(configMap={}),
                "config map bad name": build_volume(configMap={"name": "../a"}),
                "config map mode": build_volume(configMap={"name": "a", "defaultMode": 1000}),
                "config map mode negative": build_volume(configMap={"name": "a", "defaultMode": -1}),
                "config map item mode": build_volume(
                    configMap={"name": "a", "items": [{"key": "a", "path": "b", "mode": 1000}]}
                ),
                "config map item no key": build_volume(configMap={"name": "a", "items": [{"path": "b"}]}),
                "config map item abs": build_volume(configMap={"name": "a", "items": [{"key": "a", "path": "/b"}]}),
                "config map item dotdot start": build_volume(
                    configMap={"name": "a", "items": [{"key": "a", "path": "..b"}]}
                ),
                "secret none": build_volume(secret={}),
                "secret bad name": build_volume(secret={"secretName": "../../a"}),
                "pvc none": build_volume(persistentVolumeClaim={}),
                "pvc bad": build_volume(persistentVolumeClaim={"claimName": "../a"}),
                "emptyDir size": build_volume(emptyDir={"sizeLimit": "1Gi"}),
                "emptyDir medium": build_volume(emptyDir={"medium": "Wat"}),
                "emptyDir memory": build_volume(emptyDir={"medium": "Memory"}),
                "projected two in source": build_projected({"configMap": {"name": "a"}, "secret": {"name": "b"}}),
                "projected dots": build_projected(
                    {"configMap": {"name": "a", "items": [{"key": "k", "path": "../p"}]}}
                ),
                "projected token no path": build_projected({"serviceAccountToken": {}}),
                "projected token dots": build_projected({"serviceAccountToken": {"path": "../t"}}),
                "downward none": build_volume(downwardAPI={"items": [{"path": "a"}]}),
                "downward two": build_volume(
                    downwardAPI={
                        "items": [
                            {
                                "path": "a",
                                "fieldRef": {"fieldPath": "metadata.name"},
                                "resourceFieldRef": {"resource": "limits.cpu", "containerName": "main"},
                            }
                        ]
                    }
                ),
                "downward bad field": build_volume(
                    downwardAPI={"items": [{"path": "a", "fieldRef": {"fieldPath": "status.podIP"}}]}
                ),
                "downward dots": build_volume(
                    downwardAPI={"items": [{"path": "../a", "fieldRef": {"fieldPath": "metadata.name"}}]}
                ),
                "downward no container": build_volume(
                    downwardAPI={"items": [{"path": "a", "resourceFieldRef": {"resource": "limits.cpu"}}]}
                ),
                "nfs": build_volume(nfs={"server": "s", "path": "/p"}),
                "unknown type": build_volume(wat={}),
            },
        ),
        (
            "mounts",
            {
                "subPath abs": mount(subPath="/a"),
                "subPathExpr dots": mount(subPathExpr="../a"),
                "subPath and expr": mount(subPath="a", subPathExpr="b"),
                "relative": mount(mountPath="v"),
                "colon": mount(mountPath="/a:b"),
                "dotdot": mount(mountPath="/a/../b"),
                "no name": {"containers": [MAIN | {"volumeMounts": [{"mountPath": "/v"}]}]},
            },
        ),
        (
            "containers",
            {
                "workingDir dots": build_container(workingDir="../x"),
                "terminationMessagePath": build_container(terminationMessagePath="../x"),
                "terminationMessagePolicy": build_container(terminationMessagePolicy="Wat"),
                "command empty": build_container(command=[]),
                "image spaces": build_container(image=" a"),
                "image empty": build_container(image=""),
                "container restartPolicy Always": build_container(restartPolicy="Always"),
                "container restartPolicy unknown": build_container(restartPolicy="Wat"),
                "name dots": {"containers": [MAIN | {"name": "a.b"}]},
                "name dots upper": {"containers": [MAIN | {"name": "a.B"}]},
                "imagePullSecrets bad": {"imagePullSecrets": [{"name": "../a"}]},
                "container name none init": {"initContainers": [{"image": "i"}]},
            },
        ),
        (
            "init containers",
            {
                "restartPolicy Never": build_init_container(restartPolicy="Never"),
                "restartPolicy unknown": build_init_container(restartPolicy="Wat"),
            },
        ),
        (
            "pods",
            {
                "deadline neg": {"activeDeadlineSeconds": -1},
                "deadline huge": {"activeDeadlineSeconds": 2**31},
                "serviceAccount differ": {"serviceAccountName": "default", "serviceAccount": "other"},
                "schedulerName empty": {"schedulerName": ""},
                "schedulerName bad": {"schedulerName": "a b"},
                "restartPolicy empty": {"restartPolicy": ""},
                "pod resources": {"resources": {"limits": {"cpu": "-1"}}},
            },
        ),
    ]
)
async def fields_of_pod_are_validated(api: Conversation, specs: dict[str, Document]) -> None:
    for name, spec in specs.items():
        document = build_pod(name.lower().replace(" ", "-"), spec)
        await api.post(api.path("pods?dryRun=All"), document, show=_get_spec)
