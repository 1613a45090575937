"""kubectl and Helm on the local API server and, if there is one, on a real one: same commands, same output."""

import asyncio
import json
import os
import shutil
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from contract.conversation import Conversation
from contract.documents import build_config_map, build_pod, build_service, build_stateful_set
from contract.servers import run_local_server
from control_plane import Server, build_kubeconfig

DEADLINE = 60
KUBECTL = os.environ.get("KUBECTL") or shutil.which("kubectl")
HELM = os.environ.get("HELM")
needs_kubectl = pytest.mark.skipif(KUBECTL is None, reason="there is no kubectl: set KUBECTL")
needs_helm = pytest.mark.skipif(HELM is None, reason="there is no helm: set HELM")
CHART = {
    "Chart.yaml": "apiVersion: v2\nname: example\nversion: 1.0.0\n",
    "values.yaml": "replicas: 0\nmode: plain\n",
    "templates/all.yaml": """\
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}-settings, labels: {app: {{ .Release.Name }}}}
data: {mode: {{ .Values.mode | quote }}}
---
apiVersion: v1
kind: Service
metadata: {name: {{ .Release.Name }}}
spec: {selector: {app: {{ .Release.Name }}}, ports: [{name: http, port: 80}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: {{ .Release.Name }}}
spec:
  replicas: {{ .Values.replicas }}
  serviceName: {{ .Release.Name }}
  selector: {matchLabels: {app: {{ .Release.Name }}}}
  template:
    metadata: {labels: {app: {{ .Release.Name }}}}
    spec: {containers: [{name: main, image: "example:1"}]}
""",
}


@dataclass(frozen=True)
class Output:
    """The output and exit code of a program."""

    code: int
    out: str
    err: str


async def run(*words: str, given: str = "", variables: dict[str, str] | None = None) -> Output:
    process = await asyncio.create_subprocess_exec(
        *words,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, **(variables or {})},
    )
    try:
        async with asyncio.timeout(DEADLINE):
            out, err = await process.communicate(given.encode())
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    return Output(process.returncode, out.decode(), err.decode())


Kubectl = Callable[..., Coroutine[Any, Any, Output]]


@pytest.fixture
async def server(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Server]:
    """The server under test; the local one uses TLS, because otherwise kubectl does not send its token."""
    if request.param == "kubernetes":
        yield request.getfixturevalue("real_server")
        return
    async with run_local_server(tmp_path) as server:
        yield server


@pytest.fixture
def kubectl(server: Server, conversation: Conversation, tmp_path: Path) -> Kubectl:
    """Run kubectl in the namespace of a conversation."""
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps(build_kubeconfig(server)))

    async def run_kubectl(*words: str, given: object = None, editor: str = "") -> Output:
        common = [str(KUBECTL), f"--kubeconfig={path}", f"--namespace={conversation.namespace}"]
        common.append(f"--cache-dir={tmp_path / 'cache'}")
        text = given if isinstance(given, str) else json.dumps(given) if given is not None else ""
        return await run(*common, *words, given=text, variables={"KUBE_EDITOR": editor, "HOME": str(tmp_path)})

    return run_kubectl


@needs_kubectl
async def test_kubectl_applies_changes_and_deletes(kubectl: Kubectl) -> None:
    document = build_config_map("a", {"k": "v"}, labels={"app": "x"})
    for expected in ("configmap/a created", "configmap/a unchanged"):
        assert (await kubectl("apply", "-f", "-", given=document)).out.strip() == expected
    document["data"] = {"k": "w"}
    differs = await kubectl("diff", "-f", "-", given=document)
    assert (differs.code, "+  k: w" in differs.out) == (1, True)
    assert (await kubectl("apply", "-f", "-", given=document)).out.strip() == "configmap/a configured"
    assert (await kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", given=document)).code == 0
    assert (await kubectl("delete", "configmap", "a")).out.startswith('configmap "a" deleted')
    missing = await kubectl("get", "configmap", "a")
    assert (missing.code, missing.err.strip()) == (1, 'Error from server (NotFound): configmaps "a" not found')


@needs_kubectl
@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("name", "configmap/a\n"),
        ("jsonpath={.data.k}", "v"),
        ("go-template={{.metadata.labels.app}}", "x"),
        ("custom-columns=NAME:.metadata.name,K:.data.k", "NAME   K\na      v\n"),
    ],
)
async def test_kubectl_shows_an_object_in_many_forms(kubectl: Kubectl, form: str, expected: str) -> None:
    await kubectl("apply", "-f", "-", given=build_config_map("a", {"k": "v"}, labels={"app": "x"}))
    assert (await kubectl("get", "configmap", "a", "-o", form)).out == expected


@needs_kubectl
async def test_kubectl_shows_tables(kubectl: Kubectl) -> None:
    await kubectl("apply", "-f", "-", given=build_pod("a", labels={"app": "x"}))
    narrow = (await kubectl("get", "pods")).out.splitlines()
    assert narrow[0].split() == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert narrow[1].split()[:4] == ["a", "0/1", "Pending", "0"]
    wide = (await kubectl("get", "pods", "-o", "wide", "--show-labels")).out.splitlines()
    assert wide[0].split()[-4:] == ["NODE", "READINESS", "GATES", "LABELS"] or "NOMINATED NODE" in wide[0]
    assert wide[1].split()[-1] == "app=x"
    assert (await kubectl("get", "pods", "--no-headers", "-l", "app=y")).err.startswith("No resources found")
    assert (await kubectl("get", "pods", "a", "-o", "yaml")).out.startswith("apiVersion: v1\nkind: Pod\n")
    assert json.loads((await kubectl("get", "all", "-o", "json")).out)["kind"] == "List"


@needs_kubectl
async def test_kubectl_describes_and_shows_events(kubectl: Kubectl, conversation: Conversation) -> None:
    pod = await conversation.create(conversation.path("pods"), build_pod("a"))
    involved = {
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": conversation.namespace,
        "name": "a",
        "uid": pod["metadata"]["uid"],
    }
    event = {
        "metadata": {"name": "a.1"},
        "involvedObject": involved,
        "reason": "Seen",
        "message": "somebody looked",
        "type": "Normal",
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": "2026-01-01T00:00:00Z",
        "source": {"component": "c"},
    }
    await conversation.create(conversation.path("events"), event)
    described = (await kubectl("describe", "pod", "a")).out
    assert all(word in described for word in ("Status:", "Pending", "Service Account:  default", "somebody looked"))
    assert "somebody looked" in (await kubectl("events", "--for", "pod/a")).out
    assert "somebody looked" in (await kubectl("get", "events", "--field-selector", "involvedObject.name=a")).out


@needs_kubectl
async def test_kubectl_edits_patches_labels_and_scales(kubectl: Kubectl) -> None:
    await kubectl("apply", "-f", "-", given=build_config_map("a", {"k": "before"}))
    edited = await kubectl("edit", "configmap", "a", editor="sed -i s/before/after/")
    assert edited.out.strip() == "configmap/a edited"
    assert (await kubectl("get", "configmap", "a", "-o", "jsonpath={.data.k}")).out == "after"
    for kind, patch in (
        ("merge", '{"data":{"k":"1"}}'),
        ("json", '[{"op":"replace","path":"/data/k","value":"2"}]'),
        ("strategic", '{"data":{"k":"3"}}'),
    ):
        patched = await kubectl("patch", "configmap", "a", "--type", kind, "-p", patch)
        assert patched.out.strip() == "configmap/a patched"
    assert (await kubectl("label", "configmap", "a", "x=y")).out.strip() == "configmap/a labeled"
    assert (await kubectl("annotate", "configmap", "a", "x=y")).out.strip() == "configmap/a annotated"
    await kubectl("apply", "-f", "-", given=build_stateful_set("s"))
    assert (await kubectl("scale", "statefulset", "s", "--replicas=0")).out.strip() == "statefulset.apps/s scaled"


@needs_kubectl
async def test_kubectl_waits(kubectl: Kubectl, conversation: Conversation) -> None:
    await conversation.create(conversation.path("pods"), build_pod("a", {"nodeName": "nowhere"}))
    condition = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    wait = asyncio.create_task(kubectl("wait", "pod/a", "--for=condition=Ready", "--timeout=30s"))
    await conversation.ask(
        "PATCH", conversation.path("pods/a/status"), condition, content_type="application/merge-patch+json"
    )
    assert (await wait).out.strip() == "pod/a condition met"
    deletion = asyncio.create_task(kubectl("delete", "pod", "a", "--wait", "--timeout=30s"))
    await conversation.until(conversation.path("pods/a"), lambda reply: "deletionTimestamp" in reply.body["metadata"])
    await conversation.ask("DELETE", conversation.path("pods/a?gracePeriodSeconds=0"))
    assert (await deletion).code == 0


@needs_kubectl
async def test_kubectl_explains_and_discovers(kubectl: Kubectl) -> None:
    resources = (await kubectl("api-resources", "--api-group=example.com")).out.splitlines()
    assert resources[1].split() == ["things", "th", "example.com/v1", "true", "Thing"]
    assert "example.com/v1alpha1" in (await kubectl("api-versions")).out.split()
    assert (await kubectl("auth", "can-i", "create", "pods")).out.strip() == "yes"
    explained = (await kubectl("explain", "things.spec.mode")).out
    assert "FIELD: mode <string>" in explained
    assert "ENUM:" in explained
    assert "FIELD: limits <map[string]" in (await kubectl("explain", "pod.spec.containers.resources.limits")).out
    assert (
        "FIELD: partition <integer>"
        in (await kubectl("explain", "sts.spec.updateStrategy.rollingUpdate.partition")).out
    )


@needs_kubectl
async def test_kubectl_reports_unknown_fields(kubectl: Kubectl) -> None:
    odd = build_pod("a", {"containers": [{"name": "main", "image": "i:1", "comand": ["x"]}]})
    rejected = await kubectl("apply", "-f", "-", given=odd)
    assert (rejected.code, 'unknown field "spec.containers[0].comand"' in rejected.err) == (1, True)
    warned = await kubectl("apply", "--validate=warn", "-f", "-", given=odd)
    assert warned.out.strip() == "pod/a created"
    assert warned.err.strip() == 'Warning: unknown field "spec.containers[0].comand"'


@needs_kubectl
@needs_helm
async def test_manifests_of_helm_can_be_applied(kubectl: Kubectl, tmp_path: Path) -> None:
    chart = tmp_path / "chart"
    for name, content in CHART.items():
        (chart / name).parent.mkdir(parents=True, exist_ok=True)
        (chart / name).write_text(content)
    for mode, word in (("plain", "created"), ("other", "configured")):
        drawn = await run(str(HELM), "template", "demo", str(chart), "--set", f"mode={mode}")
        assert drawn.code == 0, drawn.err
        applied = await kubectl("apply", "-f", "-", given=drawn.out)
        assert f"configmap/demo-settings {word}" in applied.out, applied.err
    found = (await kubectl("get", "statefulset,service,configmap", "-o", "name")).out.split()
    assert {"statefulset.apps/demo", "service/demo", "configmap/demo-settings"} <= set(found)


@needs_kubectl
async def test_kubectl_reports_the_same_error_messages(kubectl: Kubectl) -> None:
    rejected = await kubectl("apply", "-f", "-", given=build_service("a", ports=[{"port": 70000}]))
    assert rejected.code == 1
    assert 'The Service "a" is invalid:' in rejected.err
    assert "spec.ports[0].port: Invalid value: 70000: must be between 1 and 65535, inclusive" in rejected.err
