import re
from datetime import UTC, datetime

import pytest

from local_kubernetes.api.kinds.status import ApiStatusError
from local_kubernetes.api.server.podlogs import LogOptions

from kubelet.running_node import RunningNode, build_pod, build_shell


async def test_restarted_container_keeps_its_previous_log(node: RunningNode) -> None:
    script = "if [ -e /s/x ]; then echo second; else touch /s/x; echo first; exit 9; fi"
    it = build_shell(script, volumeMounts=[{"name": "s", "mountPath": "/s"}])
    node.create(build_pod(it, restartPolicy="OnFailure", volumes=[{"name": "s", "emptyDir": {}}]))

    status = await node.wait_for_end()

    described = status["containerStatuses"][0]
    assert (status["phase"], described["restartCount"]) == ("Succeeded", 1)
    assert described["lastState"]["terminated"]["exitCode"] == 9
    assert (await node.output(), await node.output(previous=True)) == ("second\n", "first\n")


async def test_a_termination_message_is_reported(node: RunningNode) -> None:
    node.create(build_pod(build_shell("printf 'out of luck' > /dev/termination-log; exit 1")))

    status = await node.wait_for_end()

    assert status["containerStatuses"][0]["state"]["terminated"]["message"] == "out of luck"


async def test_last_log_lines_replace_a_missing_termination_message(node: RunningNode) -> None:
    node.create(build_pod(build_shell("echo why; exit 1", terminationMessagePolicy="FallbackToLogsOnError")))

    status = await node.wait_for_end()

    assert status["containerStatuses"][0]["state"]["terminated"]["message"] == "why\n"


async def test_log_options_limit_lines_times_and_bytes(node: RunningNode) -> None:
    node.create(build_pod(build_shell("for i in 1 2 3 4; do echo line $i; done")))
    await node.wait_for_end()

    assert await node.output(tail_lines=2) == "line 3\nline 4\n"
    assert await node.output(limit_bytes=8) == "line 1\nl"
    assert await node.output(tail_lines=0) == ""
    assert await node.output(since=datetime.max.replace(tzinfo=UTC)) == ""
    stamped = (await node.output(timestamps=True)).splitlines()
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z line \d", line) for line in stamped)


async def test_a_followed_log_ends_with_the_container(node: RunningNode) -> None:
    node.create(
        build_pod(
            build_shell(
                "echo one; while [ ! -e /s/go ]; do sleep 0.05; done; echo two",
                volumeMounts=[{"name": "s", "mountPath": "/s"}],
            ),
            volumes=[{"name": "s", "hostPath": {"path": str(node.home)}}],
        )
    )
    await node.wait_for_output("one")

    pieces = await node.kubelet.read("default", "it", "main", LogOptions(follow=True))
    received = [await anext(pieces)]
    (node.home / "go").touch()
    received += [piece async for piece in pieces]

    assert b"".join(received) == b"one\ntwo\n"


async def test_the_log_of_a_container_that_waits_is_refused(node: RunningNode) -> None:
    node.create(build_pod(build_shell("true", image="unknown")))
    await node.wait_for_waiting_reason("ImagePullBackOff")

    with pytest.raises(ApiStatusError, match="is waiting to start: ImagePullBackOff"):
        await node.output()
    with pytest.raises(ApiStatusError, match="container other is not valid for pod it"):
        await node.output(container="other")
