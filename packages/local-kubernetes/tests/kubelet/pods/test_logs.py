from local_kubernetes.api.server.podlogs import LogOptions

from kubelet.running_node import RunningNode, build_pod, build_shell


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
