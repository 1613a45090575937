from base64 import b64encode
from datetime import UTC, datetime
from pathlib import Path

import pytest

from local_kubernetes.api.kinds.kinds import CONFIG_MAPS, EVENTS, PODS
from local_kubernetes.kubelet.node.recorder import EventRecorder

from kubelet.conditions import wait_until
from kubelet.running_node import RunningNode, build_container, build_pod, build_shell


async def test_pod_with_exit_code_0_succeeds(node: RunningNode) -> None:
    address = {"name": "ADDRESS", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    node.create(build_pod(build_shell("echo hello $ADDRESS", env=[address])))

    status = await node.wait_for_end()

    assert status["phase"] == "Succeeded"
    terminated = status["containerStatuses"][0]["state"]["terminated"]
    assert (terminated["exitCode"], terminated["reason"]) == (0, "Completed")
    assert node.get()["spec"]["nodeName"] == "local"
    assert status["podIP"] == "127.0.0.1"
    assert node.condition("Ready")["reason"] == "PodCompleted"
    assert await node.output() == "hello 127.0.0.1\n"
    assert {"Scheduled", "Started"} <= set(node.events())


async def test_mount_paths_map_to_directories_of_volumes(node: RunningNode) -> None:
    node.create_config_map("files", a="content of a", b="content of b")
    node.create_secret("key", word=b64encode(b"sesame").decode())
    volumes = [
        {"name": "files", "configMap": {"name": "files", "items": [{"key": "a", "path": "sub/a.txt"}]}},
        {"name": "key", "secret": {"secretName": "key"}},
        {"name": "scratch", "emptyDir": {}},
        {
            "name": "all",
            "projected": {
                "sources": [
                    {"serviceAccountToken": {"path": "token"}},
                    {"configMap": {"name": "files"}},
                    {"downwardAPI": {"items": [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
                ]
            },
        },
    ]
    mounts = [
        {"name": "files", "mountPath": "/files"},
        {"name": "key", "mountPath": "/files/key"},
        {"name": "scratch", "mountPath": "/scratch", "subPath": "below"},
        {"name": "all", "mountPath": "/all"},
    ]
    script = (
        "cat /files/sub/a.txt /files/key/word /all/token /all/b /all/labels; "
        "echo shared > /scratch/x; cat $FOLDER/x; cat /var/run/secrets/kubernetes.io/serviceaccount/namespace"
    )
    it = build_shell(script, volumeMounts=mounts, env=[{"name": "FOLDER", "value": "/scratch"}])
    node.create(build_pod(it, volumes=volumes))

    status = await node.wait_for_end()

    output = await node.output()
    assert status["phase"] == "Succeeded", output
    assert output == 'content of asesamesecret-tokencontent of bcolor="blue"shared\ndefault'


async def test_changed_annotation_and_label_reach_the_volumes_of_a_running_container(node: RunningNode) -> None:
    note = {"path": "note", "fieldRef": {"fieldPath": "metadata.annotations['note']"}}
    color = {"path": "color", "fieldRef": {"fieldPath": "metadata.labels['color']"}}
    volumes = [
        {"name": "note", "downwardAPI": {"items": [note]}},
        {"name": "color", "projected": {"sources": [{"downwardAPI": {"items": [color]}}]}},
    ]
    mounts = [{"name": "note", "mountPath": "/note"}, {"name": "color", "mountPath": "/color"}]
    script = (
        "echo $(cat /note/note /color/color); until [ -s /note/note ]; do sleep 0.01; done; "
        "until [ $(cat /color/color) = red ]; do sleep 0.01; done; cat /note/note"
    )
    node.create(build_pod(build_shell(script, volumeMounts=mounts), volumes=volumes))
    await node.wait_for_output("blue\n")
    changed = {"annotations": {"note": "stop"}, "labels": {"color": "red"}}

    node.store.update(PODS, "default", "it", lambda pod: {**pod, "metadata": {**pod["metadata"], **changed}})

    await node.wait_for_end()
    assert await node.output() == "blue\nstop"


async def test_deleted_pod_keeps_its_log_but_not_its_directory(node: RunningNode) -> None:
    node.create(
        build_pod(
            build_shell("echo x > /scratch/x", volumeMounts=[{"name": "s", "mountPath": "/scratch"}]),
            volumes=[{"name": "s", "emptyDir": {}}],
        )
    )

    await node.wait_for_end()

    await wait_until(lambda: not list((node.home / "pods").iterdir()))
    assert len(list((node.home / "logs").rglob("0.log"))) == 1


async def test_a_pod_waits_for_its_config_map(node: RunningNode) -> None:
    volumes = [{"name": "files", "configMap": {"name": "later"}}]
    node.create(
        build_pod(build_shell("cat /files/a", volumeMounts=[{"name": "files", "mountPath": "/files"}]), volumes=volumes)
    )
    await node.wait_for_waiting_reason("ContainerCreating")

    node.create_config_map("later", a="here")

    assert (await node.wait_for_end())["phase"] == "Succeeded"
    assert await node.output() == "here"


async def test_missing_reference_is_a_configuration_error_until_it_exists(node: RunningNode) -> None:
    source = {"configMapKeyRef": {"name": "later", "key": "a"}}
    node.create(build_pod(build_shell("echo $A", env=[{"name": "A", "valueFrom": source}])))
    assert 'configmap "later" not found' in await node.wait_for_waiting_reason("CreateContainerConfigError")

    node.create_config_map("later", b="here")
    await wait_until(lambda: node.state()["waiting"]["message"] == "couldn't find key a in ConfigMap default/later")
    node.store.update(CONFIG_MAPS, "default", "later", lambda it: it | {"data": {"a": "yes"}})

    await node.wait_for_end()
    assert await node.output() == "yes\n"


async def test_an_image_without_runtime_is_never_pulled(node: RunningNode) -> None:
    node.create(build_pod(build_shell("true", image="unknown:1")))

    message = await node.wait_for_waiting_reason("ImagePullBackOff")

    assert 'the local cluster has no runtime for the image "unknown:1"' in message
    assert node.phase() == "Pending"
    assert "Failed" in node.events()
    node.store.delete(PODS, "default", "it")
    await wait_until(lambda: not node.exists())


async def test_missing_program_is_a_start_error(node: RunningNode) -> None:
    node.create(build_pod(build_container("no-such-program")))

    status = await node.wait_for_end()

    terminated = status["containerStatuses"][0]["state"]["terminated"]
    assert (status["phase"], terminated["exitCode"], terminated["reason"]) == ("Failed", 128, "StartError")
    assert '"no-such-program": executable file not found' in terminated["message"]


async def test_shortened_deadline_terminates_the_pod(node: RunningNode) -> None:
    node.create(build_pod(build_shell("sleep 600"), activeDeadlineSeconds=600, terminationGracePeriodSeconds=1))
    await wait_until(lambda: node.phase() == "Running")

    node.store.update(PODS, "default", "it", lambda it: it | {"spec": it["spec"] | {"activeDeadlineSeconds": 1}})

    status = await node.wait_for_end()
    assert (status["phase"], status["reason"]) == ("Failed", "DeadlineExceeded")


@pytest.mark.parametrize(
    "mount", [{"name": "s", "mountPath": "/s", "subPath": "../../../escape"}, {"name": "unknown", "mountPath": "/s"}]
)
async def test_mount_of_an_unknown_volume_is_a_configuration_error(node: RunningNode, mount: dict[str, str]) -> None:
    node.create(build_pod(build_shell("true", volumeMounts=[mount]), volumes=[{"name": "s", "emptyDir": {}}]))

    assert await node.wait_for_waiting_reason("CreateContainerConfigError")


async def test_a_full_disk_evicts_the_pod(tmp_path: Path) -> None:
    async with RunningNode(tmp_path / "home") as node:
        (node.home / "logs").write_text("not a folder")
        node.create(build_pod(build_shell("sleep 600")))

        status = await node.wait_for_end()

        assert (status["phase"], status["reason"]) == ("Failed", "Evicted")
        assert "cannot write" in status["message"]


async def test_deleted_event_is_recreated_when_it_recurs(node: RunningNode) -> None:
    recorder = EventRecorder(node.store, "local", lambda: datetime.now(UTC))
    node.create(build_pod(build_shell("sleep 600")))
    document = node.get()
    recorder.record(document, "Seen", "somebody looked")
    for event in node.store.objects.list(EVENTS, "default")[0]:
        node.store.delete(EVENTS, "default", event["metadata"]["name"])
    for _ in range(2):
        recorder.record(document, "Seen", "somebody looked")
    counts = [event["count"] for event in node.store.objects.list(EVENTS, "default")[0] if event["reason"] == "Seen"]
    assert counts == [2]
