import pytest

from api.builders import PODS, Api, Document, build_pod


def build_host_path_pod(source: Document) -> Document:
    volumes = [{"name": "v", "hostPath": source}]
    return {"spec": {"containers": [{"name": "a", "image": "x"}], "volumes": volumes}}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"spec": {}}, "spec.containers"),
        ({"spec": {"containers": [{"name": "C_", "image": "x"}]}}, "spec.containers[0].name"),
        ({"spec": {"containers": [{"name": "a"}]}}, "spec.containers[0].image"),
        ({"spec": {"containers": [{"name": "a", "image": "x"}] * 2}}, "spec.containers[1].name"),
        ({"spec": {"containers": [{"name": "a", "image": "x"}], "restartPolicy": "X"}}, "spec.restartPolicy"),
        (
            {"spec": {"containers": [{"name": "a", "image": "x", "volumeMounts": [{"name": "v"}]}]}},
            "spec.containers[0].volumeMounts[0].name",
        ),
        ({}, "spec.containers"),
        ({"spec": {"containers": [{"name": "a", "image": " x"}]}}, "spec.containers[0].image"),
        (build_host_path_pod({}), "spec.volumes[0].hostPath.path"),
        (build_host_path_pod({"path": "/a/../b"}), "spec.volumes[0].hostPath.path"),
        (build_host_path_pod({"path": "/a", "type": "Link"}), "spec.volumes[0].hostPath.type"),
    ],
)
async def test_invalid_pod_is_rejected(api: Api, body: Document, field: str) -> None:
    reply = await api.post(PODS, {"metadata": {"name": "p"}} | body)
    assert reply.refusal == (422, "Invalid")
    assert field in [cause["field"] for cause in reply.body["details"]["causes"]]


async def test_a_pod_gets_the_defaults_of_kubernetes(api: Api) -> None:
    spec = (await api.create(PODS, build_pod("p")))["spec"]
    assert (spec["restartPolicy"], spec["serviceAccountName"], spec["terminationGracePeriodSeconds"]) == (
        "Always",
        "default",
        30,
    )
    assert spec["containers"][0]["imagePullPolicy"] == "IfNotPresent"


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
    ],
)
async def test_new_pod_is_pending_with_its_qos_class(api: Api, resources: Document, expected: str) -> None:
    document = build_pod("p") | {"status": {"phase": "Running"}}
    document["spec"]["containers"][0]["resources"] = resources
    assert (await api.create(PODS, document))["status"] == {"phase": "Pending", "qosClass": expected}


async def test_a_pod_whose_service_account_is_missing_is_refused(api: Api) -> None:
    document = build_pod("p")
    document["spec"]["serviceAccountName"] = "nobody"
    reply = await api.post(PODS, document)
    assert reply.refusal == (403, "Forbidden")
    assert 'serviceaccount "nobody" not found' in reply.body["message"]


async def test_pod_update_allows_only_the_image(api: Api) -> None:
    await api.create(PODS, build_pod("p"))
    changed = await api.patch(
        f"{PODS}/p",
        [{"op": "replace", "path": "/spec/containers/0/image", "value": "i:2"}],
        "application/json-patch+json",
    )
    assert changed.body["spec"]["containers"][0]["image"] == "i:2"
    reply = await api.patch(f"{PODS}/p", {"spec": {"restartPolicy": "Never"}})
    assert reply.refusal == (422, "Invalid")
    assert "pod updates may not change fields" in reply.body["message"]
