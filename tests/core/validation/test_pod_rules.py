"""Values in pods that the API server rejects."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_spark_operator.core.kubernetes.problems import Problem
from airflow_provider_spark_operator.core.validation.kubernetes_fields import KUBERNETES_FIELDS
from airflow_provider_spark_operator.core.validation.pod_objects import find_object_problems, find_value_problems

POD = "core.v1.PodTemplateSpec"
PODS = Path(__file__).with_name("pods.json")
# Only other objects of the cluster determine these: PriorityClasses and RuntimeClasses.
DECIDED_BY_CLUSTER = {"pods": ("priority", "runtimeClassName", "overhead")}


def find_problems(spec: dict[str, Any]) -> list[Problem]:
    return list(find_value_problems({"spec": spec}, POD, ()))


def list_answers() -> Iterator[tuple[str, str, dict[str, Any], int]]:
    """Return the group, the name, the spec and the status of the answer of a real API server for each pod."""
    for group, pods in json.loads(PODS.read_text(encoding="utf-8")).items():
        for name, pod in pods.items():
            yield group, name, pod["spec"], pod["status"]


def test_rules_agree_with_the_recorded_answers_of_a_real_server() -> None:
    wrong = [
        (group, name)
        for group, name, spec, status in list_answers()
        if bool(list(find_object_problems([{"kind": "Pod", "metadata": {"name": "a"}, "spec": spec}])))
        != (status in (403, 422) and name not in DECIDED_BY_CLUSTER.get(group, ()))
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("container", "expected"),
    [
        (
            {"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1000m"}}},
            "resources.requests.cpu: is 2, more than",
        ),
        (
            {"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "x"}}},
            "resources.limits.cpu: 'x' is not a quantity",
        ),
        (
            {"resources": {"requests": {"a.example/gpu": 1}}},
            "resources.limits['a.example/gpu']: must be the request, 1",
        ),
        (
            {"resources": {"limits": {"memory": "-1Gi"}}},
            "resources.limits.memory: '-1Gi' is not valid: use a number that",
        ),
        (
            {"ports": [{"containerPort": 65536}]},
            "ports[0].containerPort: 65536 is not valid: use a number from 1 to 65535",
        ),
        ({"ports": [{"containerPort": "x"}]}, "ports[0].containerPort: must be an integer, not a string"),
        ({"lifecycle": {"postStart": {"exec": {"command": []}}}}, "lifecycle.postStart.exec.command: is required"),
        (
            {"lifecycle": {"preStop": {}}},
            "lifecycle.preStop: is incomplete: set one of the fields exec, httpGet, sleep",
        ),
        (
            {"lifecycle": {"preStop": {"sleep": {"seconds": 1}, "tcpSocket": {"port": 1}}}},
            "lifecycle.preStop.tcpSocket: cannot be set in addition to sleep: remove one of them",
        ),
        ({"env": [{"name": "A", "value": 1}]}, "env[0].value: must be a string, not a number: put it in quotes"),
        ({"stdin": 1}, "stdin: must be true or false, not a number"),
        ({"args": "--all"}, "args: must be a list, not a string"),
        ({"resources": []}, "resources: must be an object, not a list"),
        (
            {"volumeMounts": [{"name": "a", "mountPath": "/a", "mountPropagation": "Bidirectional"}]},
            "volumeMounts[0].mountPropagation: 'Bidirectional' is not valid: use HostToContainer or None without "
            "securityContext.privileged",
        ),
        (
            {"securityContext": {"seccompProfile": {"type": "Localhost"}}},
            "securityContext.seccompProfile.localhostProfile: is required with type Localhost",
        ),
        (
            {"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}] * 2},
            "resizePolicy[1].resourceName: repeats spec.containers[0].resizePolicy[0].resourceName, 'cpu': remove or",
        ),
    ],
)
def test_problem_of_a_container_has_its_path_and_advice(container: dict[str, Any], expected: str) -> None:
    (problem,) = find_problems({"containers": [{"name": "main", **container}]})
    assert str(problem).startswith(f"spec.containers[0].{expected}")
    assert problem.admissible


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"hostAliases": [{"ip": "a.example"}]}, "spec.hostAliases[0].ip: 'a.example' is not valid: use an IP address"),
        ({"dnsConfig": {"nameservers": ["1.1.1.1", "::1", "x"]}}, "spec.dnsConfig.nameservers[2]: 'x' is not valid"),
        (
            {"topologySpreadConstraints": [{"maxSkew": 0, "topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule"}]},
            "spec.topologySpreadConstraints[0].maxSkew: must not be 0",
        ),
        (
            {
                "affinity": {
                    "podAffinity": {
                        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": {}}]
                    }
                }
            },
            "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.topologyKey: "
            "is required",
        ),
        (
            {"tolerations": [{"operator": "Exists", "effect": "NoRun"}]},
            "spec.tolerations[0].effect: 'NoRun' is not valid: use NoSchedule, ",
        ),
    ],
)
def test_problem_of_a_pod_has_its_path_and_advice(spec: dict[str, Any], expected: str) -> None:
    (problem,) = find_problems(spec)
    assert str(problem).startswith(expected)


@pytest.mark.parametrize(
    "spec",
    [
        {
            "hostUsers": True,
            "hostNetwork": True,
            "containers": [{"name": "a", "image": "i", "ports": [{"containerPort": 80, "hostPort": 80}]}],
        },
        {"schedulingGates": [], "nodeName": "a"},
        {"dnsPolicy": "None", "dnsConfig": {"nameservers": ["1.1.1.1"]}},
        {
            "terminationGracePeriodSeconds": 60,
            "containers": [{"name": "a", "image": "i", "lifecycle": {"preStop": {"sleep": {"seconds": 60}}}}],
        },
        {
            "containers": [
                {
                    "name": "a",
                    "image": "i",
                    "resources": {
                        "requests": {"cpu": 1, "a.kubernetes.io/b": 1},
                        "limits": {"hugepages-2Mi": "2Mi", "a.example/c": "1000m", "a.kubernetes.io/b": 2},
                    },
                }
            ]
        },
    ],
)
def test_values_that_a_real_server_accepts_are_no_problem(spec: dict[str, Any]) -> None:
    pod = {"kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [{"name": "a", "image": "i"}], **spec}}
    assert list(find_object_problems([pod])) == []


@pytest.mark.parametrize("wrong", [5, 1.5, True, "x", [5], {"a": 5}, [[5]], [{"a": 5}]])
def test_problems_of_values_of_any_type_are_admissible(wrong: object) -> None:
    for type_name, fields in KUBERNETES_FIELDS.items():
        for field in (name for name, kind in fields.items() if kind not in ("time", "any")):  # not in pods
            assert all(problem.admissible for problem in find_value_problems({field: wrong}, type_name, ()))


def test_value_of_a_wrong_type_is_reported_once() -> None:
    for spec in (
        {"volumes": [{"name": "a", "configMap": {"name": "a", "defaultMode": "0644"}}]},
        {"containers": [{"name": "a", "image": 1}]},
        {"containers": [{"name": "a", "ports": 1}]},
        {"containers": [{"name": "a", "ports": [{"containerPort": "8080"}]}]},
        {"tolerations": [{"key": 1}]},
    ):
        (problem,) = find_problems(spec)
        assert " must be " in str(problem)


def test_unknown_fields_and_nulls_are_left_out() -> None:
    assert find_problems({"containers": [{"name": "main", "ports": None, "isNew": 1}], "new": {"a": 1}}) == []


def test_old_name_of_the_node_name_is_accepted() -> None:
    variable = {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.host"}}}
    assert find_problems({"containers": [{"name": "main", "env": [variable]}]}) == []
