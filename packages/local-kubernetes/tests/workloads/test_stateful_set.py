"""The changes that a StatefulSet needs, by the state of its pods."""

from typing import Any

import pytest

from local_kubernetes.workloads.stateful_set import belongs_to, decide

Json = dict[str, Any]


def build_stateful_set(replicas: int | None = 3, status: Json | None = None, **spec: Any) -> Json:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "main", "image": "i:1"}]}}
    fields = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template, **spec}
    return {"metadata": {"name": "web", "namespace": "default", "uid": "u1"}, "spec": fields, "status": status or {}}


def build_parallel(replicas: int = 3, **spec: Any) -> Json:
    return build_stateful_set(replicas, podManagementPolicy="Parallel", **spec)


def edit(document: Json) -> Json:
    """Return the set with another image in its template."""
    template = {"spec": {"containers": [{"name": "main", "image": "i:2"}]}}
    return document | {"spec": document["spec"] | {"template": template}}


def build_pod(document: Json, number: int, state: str = "ready") -> Json:
    """Return a pod as the set creates it: ready, waiting, failed or deleted."""
    alone = document | {"spec": document["spec"] | {"replicas": 1, "ordinals": {"start": number}}}
    pod = dict(decide(alone, []).creations[0])
    phase = {"waiting": "Pending", "failed": "Failed"}.get(state, "Running")
    pod["status"] = {"phase": phase, "conditions": [{"type": "Ready", "status": str(state == "ready")}]}
    if state == "going":
        pod["metadata"] = pod["metadata"] | {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    return pod


def list_names(documents: Any) -> list[str]:
    return [document["metadata"]["name"] for document in documents]


def plan_steps(document: Json, *pods: Json) -> tuple[list[str], list[str]]:
    """Return the names of the pods to create, and of those to delete."""
    decision = decide(document, pods)
    return list_names(decision.creations), list(decision.deletions)


def test_each_pod_is_created_after_the_previous_one_is_ready() -> None:
    it = build_stateful_set()

    assert plan_steps(it) == (["web-0"], [])
    assert plan_steps(it, build_pod(it, 0, "waiting")) == ([], [])
    assert plan_steps(it, build_pod(it, 0)) == (["web-1"], [])
    assert plan_steps(it, build_pod(it, 0), build_pod(it, 1)) == (["web-2"], [])
    assert plan_steps(it, build_pod(it, 0), build_pod(it, 1), build_pod(it, 2)) == ([], [])


def test_parallel_pods_are_created_and_deleted_together() -> None:
    it = build_parallel()

    assert plan_steps(it) == (["web-0", "web-1", "web-2"], [])
    assert plan_steps(build_parallel(1), *(build_pod(it, number, "waiting") for number in range(3))) == (
        [],
        ["web-2", "web-1"],
    )


def test_default_is_one_pod() -> None:
    assert plan_steps(build_stateful_set(None, podManagementPolicy="Parallel")) == (["web-0"], [])


def test_ordinals_can_start_at_another_number() -> None:
    assert plan_steps(build_parallel(2, ordinals={"start": 5})) == (["web-5", "web-6"], [])


def test_pods_are_deleted_from_the_last_one_at_a_time() -> None:
    it = build_stateful_set()
    fewer = build_stateful_set(1)

    assert plan_steps(fewer, *(build_pod(it, number) for number in range(3))) == ([], ["web-2"])
    assert plan_steps(fewer, build_pod(it, 0), build_pod(it, 1), build_pod(it, 2, "going")) == ([], [])
    assert plan_steps(fewer, build_pod(it, 0, "waiting"), build_pod(it, 1)) == ([], [])


@pytest.mark.parametrize("make", [build_stateful_set, build_parallel])
def test_failed_pod_is_replaced(make: Any) -> None:
    it = make()

    assert plan_steps(it, build_pod(it, 0), build_pod(it, 1, "failed"), build_pod(it, 2)) == ([], ["web-1"])
    assert plan_steps(it, build_pod(it, 0), build_pod(it, 1, "going"), build_pod(it, 2)) == ([], [])
    assert plan_steps(it, build_pod(it, 0), build_pod(it, 2)) == (["web-1"], [])


def test_pods_of_an_earlier_template_are_replaced_from_the_last_one_at_a_time() -> None:
    old = build_stateful_set()
    new = edit(old)

    assert plan_steps(new, *(build_pod(old, number) for number in range(3))) == ([], ["web-2"])
    assert plan_steps(new, build_pod(old, 0), build_pod(old, 1), build_pod(new, 2, "waiting")) == ([], [])
    assert plan_steps(new, build_pod(old, 0), build_pod(old, 1), build_pod(new, 2)) == ([], ["web-1"])


def test_pods_below_the_partition_stay() -> None:
    old = build_stateful_set()
    new = edit(old)
    new["spec"]["updateStrategy"] = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}

    assert plan_steps(new, build_pod(old, 0), build_pod(old, 1), build_pod(new, 2)) == ([], [])


def test_on_delete_replaces_only_deleted_pods() -> None:
    old = build_stateful_set(updateStrategy={"type": "OnDelete"})
    new = edit(old)

    assert plan_steps(new, *(build_pod(old, number) for number in range(3))) == ([], [])
    assert plan_steps(new, build_pod(old, 0), build_pod(old, 1)) == (["web-2"], [])


def test_a_pod_has_its_name_as_host_name_and_belongs_to_the_set() -> None:
    it = build_parallel(1, serviceName="web-svc")
    pod = decide(it, []).creations[0]

    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("web-0", "web-svc")
    assert pod["metadata"]["labels"]["app"] == "web"
    assert pod["metadata"]["labels"]["statefulset.kubernetes.io/pod-name"] == "web-0"
    assert pod["metadata"]["labels"]["apps.kubernetes.io/pod-index"] == "0"
    assert belongs_to(it, pod)
    assert not belongs_to(it | {"metadata": it["metadata"] | {"uid": "u2"}}, pod)


def test_each_pod_has_its_own_claims() -> None:
    template = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}
    decision = decide(build_parallel(2, volumeClaimTemplates=[template]), [])

    assert list_names(decision.claims) == ["data-web-0", "data-web-1"]
    volumes = [pod["spec"]["volumes"] for pod in decision.creations]
    assert volumes[1] == [{"name": "data", "persistentVolumeClaim": {"claimName": "data-web-1"}}]


def test_pods_of_other_names_are_left_alone() -> None:
    it = build_parallel(0)
    stranger = build_pod(it, 0) | {"metadata": build_pod(it, 0)["metadata"] | {"name": "web-x"}}

    assert plan_steps(it, stranger) == ([], [])


def test_status_counts_pods_per_revision() -> None:
    old = build_stateful_set()
    first = decide(old, [build_pod(old, number) for number in range(3)]).status
    new = edit(old) | {"status": first}

    changing = decide(new, [build_pod(old, 0), build_pod(old, 1), build_pod(new, 2, "waiting")]).status
    done = decide(new | {"status": changing}, [build_pod(new, number) for number in range(3)]).status

    assert (first["replicas"], first["readyReplicas"], first["updatedReplicas"]) == (3, 3, 3)
    assert (changing["readyReplicas"], changing["currentReplicas"], changing["updatedReplicas"]) == (2, 2, 1)
    assert changing["currentRevision"] == first["updateRevision"] != changing["updateRevision"]
    assert done["currentRevision"] == done["updateRevision"] == changing["updateRevision"]


def test_status_without_pods_omits_zeros() -> None:
    status = decide(build_stateful_set(0), []).status

    assert (status["replicas"], status["availableReplicas"]) == (0, 0)
    assert not {"readyReplicas", "currentReplicas", "updatedReplicas"} & set(status)
