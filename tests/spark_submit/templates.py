"""Hypothesis strategies for pod templates."""

from typing import Any

from hypothesis import strategies as st

from tests.spark_submit.values import ODD, VARIABLES, WORDS

NOTHING: dict[str, st.SearchStrategy[Any]] = {}
TEMPLATES = st.fixed_dictionaries(
    {"spec": st.fixed_dictionaries(NOTHING, optional={
        "containers": st.lists(
            st.fixed_dictionaries(
                {"name": st.sampled_from(["main", "side", "third"])},
                optional={
                    "image": WORDS,
                    "args": st.lists(WORDS, max_size=2),
                    "command": st.lists(WORDS, max_size=2),
                    "env": st.lists(st.fixed_dictionaries({"name": VARIABLES}, optional={"value": ODD}), max_size=2),
                    "ports": st.just([{"containerPort": 1, "name": "p"}]),
                    "resources": st.sampled_from([
                        {"requests": {"cpu": "7", "memory": "1Gi", "ephemeral-storage": "1Gi"}},
                        {"limits": {"cpu": "7", "memory": "1Gi", "x/y": 1}},
                        {"limits": {}, "requests": {"cpu": 0.5}},
                    ]),
                    "securityContext": st.sampled_from([{}, {"runAsUser": 5}, {"allowPrivilegeEscalation": True}]),
                    "volumeMounts": st.just([{"name": "spark-local-dir-t", "mountPath": "/t"}]),
                    "livenessProbe": st.sampled_from([
                        {"httpGet": {"port": 80, "path": "/"}, "initialDelaySeconds": 0},
                        {"tcpSocket": {"port": "p"}, "periodSeconds": 5},
                    ]),
                    "envFrom": st.just([{"configMapRef": {"name": "c", "optional": False}}]),
                    "lifecycle": st.just({"preStop": {"exec": {"command": ["a"]}}}),
                },
            ),
            max_size=3,
            unique_by=lambda container: container["name"],
        ),
        "initContainers": st.just([{"name": "init", "image": "i", "restartPolicy": "Always"}]),
        "volumes": st.lists(st.sampled_from([
            {"name": "spark-local-dir-t", "emptyDir": {}},
            {"name": "c", "configMap": {"name": "c", "defaultMode": 0o600, "items": [{"key": "a", "path": "b"}]}},
            {"name": "s", "secret": {"secretName": "s", "optional": True}},
            {"name": "p", "projected": {"sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 600}}]}},
            {"name": "d", "downwardAPI": {"items": [{"path": "n", "fieldRef": {"fieldPath": "metadata.name"}}]}},
            {"name": "v", "csi": {"driver": "d", "volumeAttributes": {"a": 1}}},
        ]), max_size=3, unique_by=lambda volume: str(volume["name"])),
        "serviceAccountName": WORDS,
        "schedulerName": WORDS,
        "restartPolicy": st.just("Always"),
        "tolerations": st.sampled_from([[], [{"key": "k", "operator": "Exists"}]]),
        "priorityClassName": WORDS,
        "nodeSelector": st.sampled_from([{}, {"zone": "t", "n": 1}]),
        "imagePullSecrets": st.just([{"name": "t"}]),
        "hostNetwork": st.booleans(),
        "hostname": st.none(),
        "affinity": st.sampled_from([{}, {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "k", "operator": "In", "values": ["v"]}]}],
        }}}]),
        "hostAliases": st.just([{"ip": "1.2.3.4", "hostnames": ["h"]}]),
        "dnsConfig": st.sampled_from([{}, {"options": [{"name": "ndots", "value": "2"}], "searches": []}]),
        "topologySpreadConstraints": st.just([{
            "maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"a": "b"}},
        }]),
        "terminationGracePeriodSeconds": st.sampled_from([0, 30]),
        "overhead": st.just({"cpu": 1}),
        "automountServiceAccountToken": st.booleans(),
        "runtimeClassName": WORDS,
        "securityContext": st.sampled_from([{}, {"fsGroup": 1}]),
    })},
    optional={
        "apiVersion": st.just("v1"),
        "kind": st.just("Pod"),
        "metadata": st.fixed_dictionaries({}, optional={
            "name": WORDS,
            "namespace": WORDS,
            "labels": st.sampled_from([{}, {"a": "b"}, {"spark-role": "x", "n": 5, "yes": True}]),
            "annotations": st.sampled_from([{}, {"a": "b", "c": 1.5}]),
            "creationTimestamp": st.none(),
        }),
    },
)  # fmt: skip
