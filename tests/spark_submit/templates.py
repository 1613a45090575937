"""Pod templates."""

from hypothesis import strategies as st

from tests.spark_submit.values import ODD, VARIABLES, WORDS

TEMPLATES = st.fixed_dictionaries(
    {"spec": st.fixed_dictionaries({}, optional={
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
                    "lifecycle": st.just({"preStop": {"exec": {"command": ["a"]}}}),
                },
            ),
            max_size=3,
            unique_by=lambda container: container["name"],
        ),
        "initContainers": st.just([{"name": "init", "image": "i", "restartPolicy": "Always"}]),
        "volumes": st.sampled_from([[], [{"name": "spark-local-dir-t", "emptyDir": {}}]]),
        "serviceAccountName": WORDS,
        "schedulerName": WORDS,
        "restartPolicy": st.just("Always"),
        "tolerations": st.sampled_from([[], [{"key": "k", "operator": "Exists"}]]),
        "priorityClassName": WORDS,
        "nodeSelector": st.sampled_from([{}, {"zone": "t", "n": 1}]),
        "imagePullSecrets": st.just([{"name": "t"}]),
        "hostNetwork": st.booleans(),
        "hostname": st.none(),
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
