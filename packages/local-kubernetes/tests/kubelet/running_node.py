"""Builders of pods, and a node that runs them."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from local_kubernetes.api.kinds.kinds import CONFIG_MAPS, EVENTS, NAMESPACES, PODS, SECRETS
from local_kubernetes.api.kinds.status import ApiStatusError
from local_kubernetes.api.server.podlogs import LogOptions
from local_kubernetes.api.store.store import Store
from local_kubernetes.kubelet.kubelet import Kubelet
from local_kubernetes.kubelet.node.access import ApiAccess

from kubelet.conditions import wait_until

Json = dict[str, Any]


def build_container(*command: str, name: str = "main", image: str = "local/process", **fields: Any) -> Json:
    """Return a container that runs a command."""
    return {"name": name, "image": image, "command": list(command)} | fields


def build_shell(script: str, **fields: Any) -> Json:
    """Return a container that runs a shell script."""
    return build_container("sh", "-c", script, **fields)


def build_pod(*containers: Json, name: str = "it", **spec: Any) -> Json:
    """Return a pod that is never restarted."""
    metadata = {"name": name, "namespace": "default", "labels": {"color": "blue"}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"restartPolicy": "Never", "containers": list(containers)} | spec,
    }


class RunningNode:
    """Run a kubelet on a store, by default a new one."""

    def __init__(self, home: Path, store: Store | None = None, **options: Any) -> None:
        home.mkdir(exist_ok=True)
        ca_file = home / "ca.crt"
        ca_file.write_text("certificate")
        self.home = home
        self.store = store or Store()
        if store is None:
            self.store.create(NAMESPACES, None, {"metadata": {"name": "default"}})
        access = ApiAccess("https://127.0.0.1:6443", ca_file, "secret-token")
        self.kubelet = Kubelet(self.store, home, access, **options)
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "RunningNode":
        self._task = asyncio.create_task(self.kubelet.run())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def stop(self) -> None:
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    def create(self, document: Json) -> Json:
        return self.store.create(PODS, "default", document)

    def create_config_map(self, name: str, **data: str) -> None:
        self.store.create(CONFIG_MAPS, "default", {"metadata": {"name": name}, "data": data})

    def create_secret(self, name: str, **data: str) -> None:
        self.store.create(SECRETS, "default", {"metadata": {"name": name}, "data": data})

    def get(self, name: str = "it") -> Json:
        return self.store.objects.get(PODS, "default", name)

    def status(self, name: str = "it") -> Json:
        return self.get(name).get("status") or {}

    def phase(self, name: str = "it") -> str:
        return str(self.status(name).get("phase"))

    def state(self, index: int = 0, name: str = "it") -> Json:
        statuses = self.status(name).get("containerStatuses") or [{}]
        found: Json = statuses[index].get("state") or {}
        return found

    def exists(self, name: str = "it") -> bool:
        return self.store.objects.exists(PODS, "default", name)

    def events(self) -> list[str]:
        return [item["reason"] for item in self.store.objects.list(EVENTS, "default")[0]]

    def condition(self, kind: str, name: str = "it") -> Json:
        found = [item for item in self.status(name).get("conditions") or () if item["type"] == kind]
        return found[0] if found else {}

    async def wait_for_end(self, name: str = "it") -> Json:
        await wait_until(lambda: self.phase(name) in ("Succeeded", "Failed"))
        return self.status(name)

    async def wait_for_waiting_reason(self, reason: str, name: str = "it") -> str:
        def read_message() -> str | None:
            waiting = self.state(0, name).get("waiting") or {}
            return waiting.get("message", "") + " " if waiting.get("reason") == reason else None

        await wait_until(read_message)
        return read_message() or ""

    async def output(self, name: str = "it", container: str = "main", **options: Any) -> str:
        pieces = await self.kubelet.read("default", name, container, LogOptions(**options))
        return b"".join([piece async for piece in pieces]).decode()

    async def wait_for_output(self, text: str, name: str = "it") -> None:
        """Wait until the pod's container has written `text`."""

        async def is_written() -> bool:
            try:
                return text in await self.output(name)
            except ApiStatusError:
                return False

        await wait_until_async(is_written)


async def wait_until_async(condition: Callable[[], Any], seconds: float = 60) -> None:
    async with asyncio.timeout(seconds):
        while not await condition():  # noqa: ASYNC110  other processes set no event here
            await asyncio.sleep(0.02)
