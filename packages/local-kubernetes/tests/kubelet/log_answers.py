"""The answers of a cluster to requests for logs of pods.

To record them, run in the folder of the tests: E2E_KUBECONFIG=… E2E_IMAGE=… python -m kubelet.log_answers.
"""

import asyncio
import json
import os
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from contract.conftest import open_conversation
from contract.conversation import Conversation, Reply
from contract.servers import read_server
from kubelet.scenarios import Json, build_container, build_spec, build_waiting_check, has_ended, is_ready

RECORDED = Path(__file__).with_name("log_answers.json")
DEADLINE_SECONDS = 180
_MARK = {"name": "mark", "mountPath": "/mark"}
_FIRST_FAILS = "if test -e /mark/x; then echo second run; sleep 600; else touch /mark/x; echo first run; exit 1; fi"
_REMOVED = "unable to retrieve container logs for "
_PULLING = "is waiting to start: image can't be pulled"
_SLOWLY = "for word in one two three; do echo $word; sleep 1.2; done"
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z")

# The pods, and the condition at which the logs of each are requested.
_PODS: Mapping[str, tuple[Json, Callable[[Json], bool]]] = {
    "talks": (build_spec(build_container("echo one; echo two; echo; echo three; printf end")), has_ended),
    "errors": (build_spec(build_container("echo out; sleep 1; echo error >&2; sleep 1; echo out again")), has_ended),
    "slow": (build_spec(build_container(_SLOWLY)), has_ended),
    "silent": (build_spec(build_container("true")), has_ended),
    "long-lines": (build_spec(build_container("head -c 40000 /dev/zero | tr '\\0' x; echo; echo short")), has_ended),
    "no-text": (build_spec(build_container("printf '\\377\\376 \\000 \\033[1m\\r\\n'")), has_ended),
    "runs": (build_spec(build_container("echo up; sleep 600")), is_ready),
    "init": (
        build_spec(build_container("echo main"), initContainers=[build_container("echo first", "first")]),
        has_ended,
    ),
    "two": (build_spec(build_container("echo a", "a"), build_container("echo b", "b")), has_ended),
    "again": (
        build_spec(
            build_container(_FIRST_FAILS, volumeMounts=[_MARK]),
            restartPolicy="OnFailure",
            volumes=[{"name": "mark", "emptyDir": {}}],
        ),
        is_ready,
    ),
    "crashes": (
        build_spec(build_container("echo crashed; exit 1"), restartPolicy="Always"),
        build_waiting_check("CrashLoopBackOff"),
    ),
    "no-image": (
        build_spec(build_container("true", image="registry.invalid/nothing:1")),
        build_waiting_check("ImagePullBackOff"),
    ),
    "stuck": (
        build_spec(build_container("true"), initContainers=[build_container("echo waiting; sleep 600", "first")]),
        lambda pod: "running" in ((pod["status"].get("initContainerStatuses") or [{"state": {}}])[0]["state"]),
    ),
}
_QUESTIONS = [
    *("talks", "talks?tailLines=2", "talks?tailLines=0", "talks?tailLines=100", "talks?limitBytes=5"),
    *("talks?limitBytes=100000", "talks?tailLines=2&limitBytes=3", "talks?timestamps=true", "talks?follow=true"),
    *("talks?follow=true&tailLines=1", "talks?previous=true", "talks?container=main", "talks?container=none"),
    *("talks?timestamps=true&tailLines=1", "talks?sinceSeconds=3600", "talks?sinceTime=2020-01-01T00:00:00Z"),
    *("talks?sinceTime=2999-01-01T00:00:00Z", "talks?follow=true&limitBytes=4", "talks?nonsense=1"),
    *("errors", "errors?tailLines=2"),
    *("silent", "silent?follow=true", "silent?tailLines=1", "no-text"),
    *("long-lines?tailLines=1", "long-lines?tailLines=2", "long-lines?limitBytes=20000", "long-lines?timestamps=true"),
    *("runs", "runs?previous=true", "runs?tailLines=1"),
    *("init", "init?container=first", "init?container=first&previous=true", "two", "two?container=b"),
    *("again", "again?previous=true", "again?previous=true&tailLines=1&timestamps=true"),
    *("crashes", "crashes?previous=true", "no-image", "no-image?previous=true", "no-image?follow=true"),
    *("stuck", "stuck?container=first", "stuck?container=main&follow=true"),
]


async def log_answers(kubeconfig: Path, image: str) -> Json:
    """Return the answers of a cluster by request."""
    async with open_conversation(read_server(kubeconfig)) as api:
        following = asyncio.create_task(_follow(api, image))
        for name, (spec, _) in _PODS.items():
            await api.create(api.path("pods"), _build_pod(name, spec, image))
        for name, (_, holds) in _PODS.items():
            path = api.path(f"pods/{name}")
            await api.until(path, partial(_has_body, holds), DEADLINE_SECONDS)
        answers = {question: await _ask(api, question) for question in _QUESTIONS}
        answers |= await _read_since_line(api)
        return answers | {"from the start, as it is written": await following}


def _has_body(holds: Callable[[Json], bool], reply: Reply) -> bool:
    return holds(reply.body)


async def _follow(api: Conversation, image: str) -> Json:
    """Return the log of a container that writes while the log is read."""
    await api.create(api.path("pods"), _build_pod("followed", build_spec(build_container(_SLOWLY)), image))
    await api.until(api.path("pods/followed"), is_ready_or_ended, DEADLINE_SECONDS)
    return await _ask(api, "followed?follow=true")


def is_ready_or_ended(reply: Reply) -> bool:
    return is_ready(reply.body) or has_ended(reply.body)


async def _read_since_line(api: Conversation) -> Json:
    """Return the log since the time of the second of three lines, with nanoseconds and in whole seconds."""
    reply = await api.ask("GET", api.path("pods/slow/log?timestamps=true"))
    time = reply.body.splitlines()[1].split()[0]
    whole = time[:19] + "Z"
    return {
        "since the second line": await _ask(api, f"slow?sinceTime={time}"),
        "since the second of the second line": await _ask(api, f"slow?sinceTime={whole}"),
        "since the second line, the last": await _ask(api, f"slow?sinceTime={whole}&tailLines=1"),
        "since the end of its second": await _ask(api, f"slow?sinceTime={time[:19]}.999999999Z"),
    }


async def _ask(api: Conversation, question: str) -> Json:
    name, _, query = question.partition("?")
    path = api.path(f"pods/{name}/log?{query}")
    # For a moment after a container has crashed, its status names the previous run, whose log the kubelet has deleted.
    # In the same way, a container that waits for its next pull returns to the failed pull for a moment.
    reply = await api.until(path, _is_lasting, DEADLINE_SECONDS)
    body = reply.body if isinstance(reply.body, str) else reply.body["message"]
    return {"status": reply.status, "body": _shorten(_TIME.sub("TIME", body).replace(api.namespace, "NAMESPACE"))}


def _is_lasting(reply: Reply) -> bool:
    message = reply.body if isinstance(reply.body, str) else str(reply.body.get("message"))
    return not message.startswith(_REMOVED) and not message.endswith(_PULLING)


def _shorten(text: str) -> str:
    """Return the text with long repetitions replaced by their count."""
    return re.sub(r"(.)\1{99,}", lambda found: f"<{len(found[0])} times {found[1]}>", text)


def _build_pod(name: str, spec: Json, image: str) -> Json:
    text = json.dumps(spec).replace('"IMAGE"', json.dumps(image))
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": json.loads(text)}


if __name__ == "__main__":
    found = asyncio.run(log_answers(Path(os.environ["E2E_KUBECONFIG"]), os.environ["E2E_IMAGE"]))
    RECORDED.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
