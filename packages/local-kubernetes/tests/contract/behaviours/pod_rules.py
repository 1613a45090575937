"""Validation of pods, rule by rule, and warnings, with the exact messages of the real server."""

from typing import Any

from contract.behaviour import behaviours_of
from contract.conversation import Conversation, Document
from contract.documents import pod

MAIN = {"name": "main", "image": "i:1"}
EXIT_CODES = {"operator": "In", "values": [42]}


def _spec(body: Any) -> Any:
    return body["spec"]


def container(**fields: Any) -> Document:
    return {"containers": [MAIN | fields]}


def init_container(**fields: Any) -> Document:
    return {"initContainers": [MAIN | {"name": "first"} | fields]}


def mount(**fields: Any) -> Document:
    mounts = [{"name": "v", "mountPath": "/v"} | fields]
    return container(volumeMounts=mounts) | {"volumes": [{"name": "v", "emptyDir": {}}]}


def volume(**source: Any) -> Document:
    return {"volumes": [{"name": "v", **source}]}


def projected(*sources: Document) -> Document:
    return volume(projected={"sources": list(sources)})


def variable(**fields: Any) -> Document:
    return container(env=[fields])


def file_variable(**fields: Any) -> Document:
    source = {"volumeName": "v", "path": "a.env", "key": "A"} | fields
    return variable(name="A", valueFrom={"fileKeyRef": source}) | {"volumes": [{"name": "v", "emptyDir": {}}]}


def restart_rule(**fields: Any) -> Document:
    return {"action": "Restart", "exitCodes": EXIT_CODES | fields}


def resources(**fields: Any) -> Document:
    return container(resources=fields)


def port(**fields: Any) -> Document:
    return container(ports=[{"containerPort": 80} | fields])


def toleration(**fields: Any) -> Document:
    return {"tolerations": [fields]}


def security(**fields: Any) -> Document:
    return {"securityContext": fields}


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
                "toleration slash": toleration(key="a/b/c", operator="Exists"),
                "readinessGates slash": {"readinessGates": [{"conditionType": "a/b/c"}]},
                "schedulingGates slash": {"schedulingGates": [{"name": "a/b/c"}]},
                "schedulingGroup": {"schedulingGroup": {"podGroupName": "a"}},
                "nodeName bad": {"nodeName": "a b"},
                "nodeName dots": {"nodeName": "../x"},
                "nodeName upper": {"nodeName": "ABC"},
                "podAffinity no topology": {
                    "affinity": {
                        "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"labelSelector": {}}]}
                    }
                },
                "spread when": {
                    "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "Wat"}]
                },
                "readinessGates": {"readinessGates": [{"conditionType": "a b"}]},
                "readinessGates none": {"readinessGates": [{}]},
                "schedulingGates bad": {"schedulingGates": [{"name": "a b"}]},
                "schedulingGates and node": {"schedulingGates": [{"name": "a"}], "nodeName": "x"},
            },
        ),
        (
            "names",
            {
                "hostname bad": {"hostname": "a_b"},
                "hostname dots": {"hostname": "a.b"},
                "subdomain bad": {"subdomain": "A"},
                "hostname long": {"hostname": "a" * 64},
                "none": {"dnsPolicy": "None"},
                "bad": {"dnsConfig": {"nameservers": ["x"]}},
                "hostAliases": {"hostAliases": [{"ip": "x", "hostnames": ["a"]}]},
                "hostAliases name": {"hostAliases": [{"ip": "1.2.3.4", "hostnames": ["A B"]}]},
                "host users": {"hostUsers": False, "hostNetwork": True},
            },
        ),
        (
            "tolerations",
            {
                "unknown operator": toleration(key="a", operator="Wat"),
                "effect": toleration(key="a", operator="Exists", effect="Wat"),
                "value with exists": toleration(key="a", operator="Exists", value="x"),
                "no key equal": toleration(operator="Equal", value="x"),
                "empty": toleration(),
                "key bad": toleration(key="a b", operator="Exists"),
                "value bad": toleration(key="a", operator="Equal", value="b c"),
                "seconds without noexecute": toleration(
                    key="a", operator="Exists", effect="NoSchedule", tolerationSeconds=5
                ),
                "seconds": toleration(key="a", operator="Exists", effect="NoExecute", tolerationSeconds=5),
            },
        ),
        (
            "resources",
            {
                "negative": resources(requests={"cpu": "-1"}),
                "negative limit": resources(limits={"memory": "-1Gi"}),
                "zero": resources(limits={"memory": "0"}),
                "unknown name": resources(limits={"wat": "1"}),
                "bad name": resources(limits={"a b": "1"}),
                "extended": resources(limits={"example.com/gpu": "1"}),
                "extended fraction": resources(limits={"example.com/gpu": "1.5"}),
                "extended request only": resources(requests={"example.com/gpu": "1"}),
                "extended differ": resources(requests={"example.com/gpu": "1"}, limits={"example.com/gpu": "2"}),
                "hugepages": resources(limits={"hugepages-2Mi": "2Mi"}),
                "ephemeral": resources(limits={"ephemeral-storage": "1Gi"}),
                "storage": resources(limits={"storage": "1Gi"}),
                "pods": resources(limits={"pods": "1"}),
                "claims": resources(claims=[{"name": "x"}]),
            },
        ),
        (
            "ports",
            {
                "zero": container(ports=[{"containerPort": 0}]),
                "missing": container(ports=[{}]),
                "name bad": port(name="A b"),
                "name long": port(name="a" * 16),
                "name digits": port(name="80"),
                "name twice": container(ports=[{"containerPort": 80, "name": "a"}, {"containerPort": 81, "name": "a"}]),
                "twice": container(ports=[{"containerPort": 80}, {"containerPort": 80}]),
                "hostPort bad": port(hostPort=70000),
                "hostPort twice": container(
                    ports=[{"containerPort": 80, "hostPort": 80}, {"containerPort": 81, "hostPort": 80}]
                ),
                "hostNetwork hostport differ": {
                    "hostNetwork": True,
                    **container(ports=[{"containerPort": 80, "hostPort": 81}]),
                },
                "hostPort of one after the other": {
                    "initContainers": [
                        {"name": name, "image": "i:1", "ports": [{"containerPort": 80, "hostPort": 80}]}
                        for name in ("first", "second")
                    ]
                },
                "protocol lower": port(protocol="tcp"),
            },
        ),
        (
            "variables",
            {
                "name none": variable(value="x"),
                "ref two": variable(
                    name="A",
                    valueFrom={
                        "fieldRef": {"fieldPath": "metadata.name"},
                        "configMapKeyRef": {"name": "a", "key": "b"},
                    },
                ),
                "ref none": variable(name="A", valueFrom={}),
                "config map no key": variable(name="A", valueFrom={"configMapKeyRef": {"name": "a"}}),
                "config map no name": variable(name="A", valueFrom={"configMapKeyRef": {"key": "a"}}),
                "config map key dots": variable(name="A", valueFrom={"configMapKeyRef": {"name": "a", "key": "../x"}}),
                "config map name bad": variable(name="A", valueFrom={"configMapKeyRef": {"name": "../a", "key": "x"}}),
                "secret key slash": variable(name="A", valueFrom={"secretKeyRef": {"name": "a", "key": "a/x"}}),
                "field version": variable(
                    name="A", valueFrom={"fieldRef": {"fieldPath": "metadata.name", "apiVersion": "v2"}}
                ),
                "field labels": variable(name="A", valueFrom={"fieldRef": {"fieldPath": "metadata.labels"}}),
                "field annotation": variable(
                    name="A", valueFrom={"fieldRef": {"fieldPath": "metadata.annotations['Example.com/A']"}}
                ),
                "field label bad": variable(name="A", valueFrom={"fieldRef": {"fieldPath": "metadata.labels['a b']"}}),
                "field none": variable(name="A", valueFrom={"fieldRef": {}}),
                "resource bad": variable(name="A", valueFrom={"resourceFieldRef": {"resource": "limits.wat"}}),
                "resource none": variable(name="A", valueFrom={"resourceFieldRef": {}}),
                "divisor bad": variable(
                    name="A", valueFrom={"resourceFieldRef": {"resource": "limits.cpu", "divisor": "7"}}
                ),
                "divisor mem": variable(
                    name="A", valueFrom={"resourceFieldRef": {"resource": "limits.memory", "divisor": "1m"}}
                ),
                "resource container": variable(
                    name="A", valueFrom={"resourceFieldRef": {"resource": "limits.cpu", "containerName": "nope"}}
                ),
                "newline name": variable(name="A\nB", value="x"),
                "unicode name": variable(name="Ä", value="x"),
                "dots": variable(name="..", value="x"),
                "null in value": variable(name="A", value="a\0b"),
                "twice": container(env=[{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]),
                "variables none": container(envFrom=[{}]),
                "variables two": container(envFrom=[{"configMapRef": {"name": "a"}, "secretRef": {"name": "b"}}]),
                "variables no name": container(envFrom=[{"configMapRef": {}}]),
                "variables bad name": container(envFrom=[{"configMapRef": {"name": "../a"}}]),
                "variables bad prefix": container(envFrom=[{"prefix": "a=b", "configMapRef": {"name": "a"}}]),
            },
        ),
        (
            "volumes",
            {
                "none": volume(),
                "hostPath none": volume(hostPath={}),
                "hostPath dots": volume(hostPath={"path": "/a/../b"}),
                "hostPath relative": volume(hostPath={"path": "a"}),
                "hostPath type": volume(hostPath={"path": "/a", "type": "wat"}),
                "config map no name": volume(configMap={}),
                "config map bad name": volume(configMap={"name": "../a"}),
                "config map mode": volume(configMap={"name": "a", "defaultMode": 1000}),
                "config map mode negative": volume(configMap={"name": "a", "defaultMode": -1}),
                "config map item mode": volume(
                    configMap={"name": "a", "items": [{"key": "a", "path": "b", "mode": 1000}]}
                ),
                "config map item no key": volume(configMap={"name": "a", "items": [{"path": "b"}]}),
                "config map item abs": volume(configMap={"name": "a", "items": [{"key": "a", "path": "/b"}]}),
                "config map item dotdot start": volume(configMap={"name": "a", "items": [{"key": "a", "path": "..b"}]}),
                "secret none": volume(secret={}),
                "secret bad name": volume(secret={"secretName": "../../a"}),
                "pvc none": volume(persistentVolumeClaim={}),
                "pvc bad": volume(persistentVolumeClaim={"claimName": "../a"}),
                "emptyDir negative": volume(emptyDir={"sizeLimit": "-1"}),
                "emptyDir size": volume(emptyDir={"sizeLimit": "1Gi"}),
                "emptyDir medium": volume(emptyDir={"medium": "Wat"}),
                "emptyDir memory": volume(emptyDir={"medium": "Memory"}),
                "projected none": volume(projected={}),
                "projected empty sources": volume(projected={"sources": []}),
                "projected two in source": projected({"configMap": {"name": "a"}, "secret": {"name": "b"}}),
                "projected empty source": projected({}),
                "projected same path": projected(
                    {"configMap": {"name": "a", "items": [{"key": "k", "path": "p"}]}},
                    {"secret": {"name": "b", "items": [{"key": "k", "path": "p"}]}},
                ),
                "projected dots": projected({"configMap": {"name": "a", "items": [{"key": "k", "path": "../p"}]}}),
                "projected token no path": projected({"serviceAccountToken": {}}),
                "projected token short": projected({"serviceAccountToken": {"path": "t", "expirationSeconds": 5}}),
                "projected token dots": projected({"serviceAccountToken": {"path": "../t"}}),
                "downward none": volume(downwardAPI={"items": [{"path": "a"}]}),
                "downward two": volume(
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
                "downward bad field": volume(
                    downwardAPI={"items": [{"path": "a", "fieldRef": {"fieldPath": "status.podIP"}}]}
                ),
                "downward dots": volume(
                    downwardAPI={"items": [{"path": "../a", "fieldRef": {"fieldPath": "metadata.name"}}]}
                ),
                "downward no container": volume(
                    downwardAPI={"items": [{"path": "a", "resourceFieldRef": {"resource": "limits.cpu"}}]}
                ),
                "nfs": volume(nfs={"server": "s", "path": "/p"}),
                "unknown type": volume(wat={}),
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
                "propagation": mount(mountPropagation="Wat"),
                "propagation bidir": mount(mountPropagation="Bidirectional"),
                "no name": {"containers": [MAIN | {"volumeMounts": [{"mountPath": "/v"}]}]},
            },
        ),
        (
            "containers",
            {
                "workingDir dots": container(workingDir="../x"),
                "terminationMessagePath": container(terminationMessagePath="../x"),
                "terminationMessagePolicy": container(terminationMessagePolicy="Wat"),
                "command empty": container(command=[]),
                "image spaces": container(image=" a"),
                "image empty": container(image=""),
                "container restartPolicy Always": container(restartPolicy="Always"),
                "container restartPolicy unknown": container(restartPolicy="Wat"),
                "name dots": {"containers": [MAIN | {"name": "a.b"}]},
                "name dots upper": {"containers": [MAIN | {"name": "a.B"}]},
                "imagePullSecrets none": {"imagePullSecrets": [{}]},
                "imagePullSecrets bad": {"imagePullSecrets": [{"name": "../a"}]},
                "resizePolicy": container(resizePolicy=[{"resourceName": "wat", "restartPolicy": "Never"}]),
                "volumeDevices": container(volumeDevices=[{"name": "v", "devicePath": "/dev/x"}]),
                "container name none init": {"initContainers": [{"image": "i"}]},
            },
        ),
        (
            "restart rules",
            {
                "whole": container(restartPolicy="Never", restartPolicyRules=[restart_rule()]),
                "init": init_container(restartPolicy="Never", restartPolicyRules=[restart_rule(operator="NotIn")]),
                "no policy": container(restartPolicyRules=[restart_rule()]),
                "always": container(restartPolicy="Always", restartPolicyRules=[restart_rule()]),
                "no action": container(
                    restartPolicy="Never", restartPolicyRules=[{"exitCodes": restart_rule()["exitCodes"]}]
                ),
                "unknown action": container(
                    restartPolicy="Never", restartPolicyRules=[restart_rule() | {"action": "Wat"}]
                ),
                "all containers": container(
                    restartPolicy="Never",
                    restartPolicyRules=[restart_rule() | {"action": "RestartAllContainers"}],
                ),
                "no codes": container(restartPolicy="Never", restartPolicyRules=[{"action": "Restart"}]),
                "unknown operator": container(restartPolicy="Never", restartPolicyRules=[restart_rule(operator="Wat")]),
                "no operator": container(restartPolicy="Never", restartPolicyRules=[restart_rule(operator=None)]),
                "no values": container(restartPolicy="Never", restartPolicyRules=[restart_rule(values=[])]),
                "negative value": container(restartPolicy="Never", restartPolicyRules=[restart_rule(values=[-1])]),
                "many values": container(
                    restartPolicy="Never", restartPolicyRules=[restart_rule(values=list(range(256)))]
                ),
                "many rules": container(restartPolicy="Never", restartPolicyRules=[restart_rule()] * 21),
            },
        ),
        (
            "variables from files",
            {
                "whole": file_variable(),
                "no volume": file_variable(volumeName=None),
                "bad volume": file_variable(volumeName="A"),
                "unknown volume": file_variable(volumeName="x"),
                "no path": file_variable(path=None),
                "absolute path": file_variable(path="/a"),
                "path dots": file_variable(path="../a"),
                "no key": file_variable(key=None),
                "bad key": file_variable(key="a=b"),
                "another volume": file_variable() | {"volumes": [{"name": "v", "configMap": {"name": "a"}}]},
            },
        ),
        (
            "init containers",
            {
                "restartPolicy Never": init_container(restartPolicy="Never"),
                "restartPolicy unknown": init_container(restartPolicy="Wat"),
                "lifecycle": init_container(lifecycle={"preStop": {"exec": {"command": ["x"]}}}),
                "probe": init_container(livenessProbe={"exec": {"command": ["x"]}}),
            },
        ),
        (
            "pods",
            {
                "sidecar probe": init_container(restartPolicy="Always", readinessProbe={"exec": {"command": ["x"]}}),
                "deadline neg": {"activeDeadlineSeconds": -1},
                "deadline huge": {"activeDeadlineSeconds": 2**31},
                "serviceAccount differ": {"serviceAccountName": "default", "serviceAccount": "other"},
                "priority": {"priority": 7},
                "preemptionPolicy": {"preemptionPolicy": "Wat"},
                "schedulerName empty": {"schedulerName": ""},
                "schedulerName bad": {"schedulerName": "a b"},
                "spread": {
                    "topologySpreadConstraints": [
                        {"maxSkew": 0, "topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule"}
                    ]
                },
                "runtimeClassName": {"runtimeClassName": "nope"},
                "runtimeClassName bad": {"runtimeClassName": "a b"},
                "overhead": {"overhead": {"cpu": "1"}},
                "os": {"os": {"name": "wat"}},
                "ephemeralContainers": {"ephemeralContainers": [{"name": "e", "image": "i"}]},
                "shareProcessNamespace both": {"hostPID": True, "shareProcessNamespace": True},
                "restartPolicy empty": {"restartPolicy": ""},
                "pod resources": {"resources": {"limits": {"cpu": "-1"}}},
            },
        ),
        (
            "probes",
            {
                "none": container(livenessProbe={}),
                "two": container(livenessProbe={"exec": {"command": ["x"]}, "tcpSocket": {"port": 1}}),
                "no port": container(livenessProbe={"httpGet": {}}),
                "exec none": container(livenessProbe={"exec": {}}),
                "port text": container(livenessProbe={"tcpSocket": {"port": "A_B"}}),
                "neg": container(livenessProbe={"exec": {"command": ["x"]}, "periodSeconds": -1}),
                "success": container(livenessProbe={"exec": {"command": ["x"]}, "successThreshold": 2}),
                "scheme": container(livenessProbe={"httpGet": {"port": 1, "scheme": "ftp"}}),
                "grpc": container(livenessProbe={"grpc": {"port": 1}}),
                "hook none": container(lifecycle={"preStop": {}}),
                "hook sleep": container(lifecycle={"preStop": {"sleep": {"seconds": 5}}}),
                "hook sleep long": container(lifecycle={"preStop": {"sleep": {"seconds": 500}}}),
            },
        ),
        (
            "security",
            {
                "runAsUser negative": {"securityContext": {"runAsUser": -1}},
                "nonroot": {"securityContext": {"runAsNonRoot": True, "runAsUser": 0}},
                "procMount": container(securityContext={"procMount": "Wat"}),
                "seccomp": {"securityContext": {"seccompProfile": {"type": "Wat"}}},
                "seccomp local": {"securityContext": {"seccompProfile": {"type": "Localhost"}}},
                "sysctl": {"securityContext": {"sysctls": [{"name": "a b", "value": "1"}]}},
                "fsgroup negative": {"securityContext": {"fsGroup": -1}},
                "fsGroupChangePolicy": {"securityContext": {"fsGroupChangePolicy": "Wat"}},
            },
        ),
        (
            "affinity",
            {
                "bad": {
                    "affinity": {
                        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}
                    }
                },
                "op": {
                    "affinity": {
                        "nodeAffinity": {
                            "requiredDuringSchedulingIgnoredDuringExecution": {
                                "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Wat"}]}]
                            }
                        }
                    }
                },
                "in none": {
                    "affinity": {
                        "nodeAffinity": {
                            "requiredDuringSchedulingIgnoredDuringExecution": {
                                "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In"}]}]
                            }
                        }
                    }
                },
                "weight": {
                    "affinity": {
                        "nodeAffinity": {
                            "preferredDuringSchedulingIgnoredDuringExecution": [
                                {"weight": 0, "preference": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}
                            ]
                        }
                    }
                },
                "null": {"affinity": None},
            },
        ),
    ]
)
async def pods_with_odd(api: Conversation, specs: dict[str, Document]) -> None:
    for name, spec in specs.items():
        document = pod(name.lower().replace(" ", "-"), spec)
        await api.post(api.path("pods?dryRun=All"), document, show=_spec)
