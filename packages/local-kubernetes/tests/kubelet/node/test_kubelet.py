from base64 import b64encode
from datetime import UTC, datetime
from pathlib import Path

import pytest

from local_kubernetes.api.kinds.kinds import CONFIG_MAPS, EVENTS, PODS
from local_kubernetes.kubelet.node.recorder import EventRecorder

from kubelet.conditions import wait_until
from kubelet.running_node import RunningNode, build_container, build_pod, build_shell


async def test_pod_with_exit_code_0_succeeds(node: RunningNode) -> None:
    node.create(build_pod(build_shell("echo hello")))

    status = await node.wait_for_end()

    assert status["phase"] == "Succeeded"
    terminated = status["containerStatuses"][0]["state"]["terminated"]
    assert (terminated["exitCode"], terminated["reason"]) == (0, "Completed")
    assert node.get()["spec"]["nodeName"] == "local"
    assert status["podIP"] == "127.0.0.1"
    assert node.condition("Ready")["reason"] == "PodCompleted"
    assert await node.output() == "hello\n"
    assert {"Scheduled", "Started"} <= set(node.events())


@pytest.mark.parametrize(("script", "code"), [("exit 3", 3), ("kill -KILL $$$$", 137), ("kill -TERM $$$$", 143)])
async def test_pod_with_another_exit_code_fails(node: RunningNode, script: str, code: int) -> None:
    node.create(build_pod(build_shell(script)))

    status = await node.wait_for_end()

    terminated = status["containerStatuses"][0]["state"]["terminated"]
    assert (status["phase"], terminated["exitCode"], terminated["reason"]) == ("Failed", code, "Error")
    assert node.condition("ContainersReady")["reason"] == "PodFailed"


async def test_a_running_pod_is_ready(node: RunningNode) -> None:
    node.create(build_pod(build_shell("sleep 600")))

    await wait_until(lambda: node.phase() == "Running")

    assert node.condition("Ready")["status"] == "True"
    assert node.status()["containerStatuses"][0]["ready"] is True
    assert node.status()["startTime"]


async def test_environment_contains_values_references_and_fields(node: RunningNode) -> None:
    node.create_config_map("settings", mode="fast", path="/data/x")
    node.create_secret("key", word=b64encode(b"sesame").decode())
    env = [
        {"name": "PLAIN", "value": "1"},
        {"name": "COMPOSED", "value": "$(PLAIN)-$(UNKNOWN)-$$(PLAIN)"},
        {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "ADDRESS", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": "COLOR", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['color']"}}},
        {"name": "CORES", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}}},
        {"name": "MODE", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "mode"}}},
        {"name": "WORD", "valueFrom": {"secretKeyRef": {"name": "key", "key": "word"}}},
        {"name": "NONE", "valueFrom": {"secretKeyRef": {"name": "no", "key": "no", "optional": True}}},
    ]
    sources = [{"prefix": "S_", "configMapRef": {"name": "settings"}}]
    it = build_container("env", env=env, envFrom=sources, resources={"limits": {"cpu": "1500m"}})
    node.create(build_pod(it))

    await node.wait_for_end()

    lines = dict(line.partition("=")[::2] for line in (await node.output()).splitlines())
    expected = {
        "PLAIN": "1",
        "COMPOSED": "1-$(UNKNOWN)-$(PLAIN)",
        "POD": "it",
        "ADDRESS": "127.0.0.1",
        "COLOR": "blue",
        "CORES": "1500",
        "MODE": "fast",
        "S_mode": "fast",
        "WORD": "sesame",
        "HOSTNAME": "it",
    }
    assert expected.items() <= lines.items()
    assert "NONE" not in lines


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


async def test_init_containers_run_in_order_before_main_containers(node: RunningNode) -> None:
    mounts = [{"name": "s", "mountPath": "/s"}]
    init = [build_shell(f"echo {word} >> /s/x", name=word, volumeMounts=mounts) for word in ("one", "two")]
    main = build_shell("cat /s/x", volumeMounts=mounts)
    node.create(build_pod(main, initContainers=init, volumes=[{"name": "s", "emptyDir": {}}]))

    status = await node.wait_for_end()

    assert await node.output() == "one\ntwo\n"
    assert [item["state"]["terminated"]["reason"] for item in status["initContainerStatuses"]] == ["Completed"] * 2


async def test_a_failed_init_container_fails_the_pod(node: RunningNode) -> None:
    node.create(build_pod(build_shell("echo never"), initContainers=[build_shell("exit 4", name="first")]))

    status = await node.wait_for_end()

    assert status["phase"] == "Failed"
    assert status["initContainerStatuses"][0]["state"]["terminated"]["exitCode"] == 4
    assert status["containerStatuses"][0]["state"]["waiting"]["reason"] == "PodInitializing"
    assert node.condition("Initialized")["status"] == "False"


async def test_sidecar_terminates_after_main_containers(node: RunningNode) -> None:
    mounts = [{"name": "s", "mountPath": "/s"}]
    sidecar = build_shell(
        "trap 'exit 0' TERM; echo up > /s/up; while :; do sleep 0.05; done",
        name="beside",
        restartPolicy="Always",
        volumeMounts=mounts,
    )
    main = build_shell("while ! cat /s/up; do sleep 0.05; done", volumeMounts=mounts)
    node.create(build_pod(main, initContainers=[sidecar], volumes=[{"name": "s", "emptyDir": {}}]))

    status = await node.wait_for_end()

    assert status["phase"] == "Succeeded"
    await wait_until(lambda: "terminated" in node.status()["initContainerStatuses"][0]["state"])


async def test_the_pod_fails_if_one_of_its_containers_does(node: RunningNode) -> None:
    node.create(build_pod(build_shell("true", name="good"), build_shell("exit 1", name="bad")))

    assert (await node.wait_for_end())["phase"] == "Failed"


async def test_failing_container_is_restarted_with_backoff(node: RunningNode) -> None:
    node.create(build_pod(build_shell("exit 1"), restartPolicy="Always"))

    message = await node.wait_for_waiting_reason("CrashLoopBackOff")

    assert "back-off 10s restarting failed container=main pod=it_default(" in message
    assert node.phase() == "Running"


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
