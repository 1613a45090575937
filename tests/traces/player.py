"""Plays recorded scenarios on a real API server: the steps act for the scheduler, the kubelet, Spark and users."""

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.kubernetes.names import LABEL_ROLE, ROLE_DRIVER
from airflow_provider_spark_operator.core.lifecycle.decision import Settings
from airflow_provider_spark_operator.kube import resources as kinds
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import KubeError, NotFound
from airflow_provider_spark_operator.kube.resources import ResourceType
from tests.controller import ControllerProcess
from tests.core.scenario import ApplicationTrace, StepFailed
from tests.core.simulated_kubernetes import KUBELET_DELAY, KUBELET_REMOVAL_DELAY, build_pod_status, complete_story
from tests.reliability.node import bind, follow, repeat_until_done, wait_for_service_account

CUSTOM_KINDS = {kind.kind: kind for kind in (kinds.SPARK_APPLICATIONS, kinds.SPARK_CLUSTERS)}
_OTHER_KINDS = (
    kinds.PODS,
    kinds.SERVICES,
    kinds.CONFIG_MAPS,
    kinds.SECRETS,
    kinds.PERSISTENT_VOLUME_CLAIMS,
    kinds.STATEFUL_SETS,
    kinds.INGRESSES,
    kinds.NETWORK_POLICIES,
    kinds.HORIZONTAL_POD_AUTOSCALERS,
    kinds.POD_DISRUPTION_BUDGETS,
    kinds.HTTP_ROUTES,
    kinds.GRPC_ROUTES,
    kinds.EVENTS,
)
_WAIT_SECONDS = 25
_QUIET_SECONDS = 2
_LONGEST_SETTLE_SECONDS = 12
_PARALLEL = 12


@dataclass
class SeenObject:
    """An object that the controller has created, as a watch showed it.

    Attributes:
        label: The kind, the extra namespace if it is in one, and the name.
        document: The last state.
        body: The last state before its deletion was requested, whose content counts.
        exists: Whether it still exists.
    """

    label: str
    document: JsonObject
    body: JsonObject
    exists: bool = True


@dataclass
class Player:
    """One scenario, in namespaces of its own.

    Attributes:
        customs: The SparkApplications and SparkClusters, by label.
        finalizers: All finalizers that each of them had at some time.
        objects: The objects that the controller has created, by uid.
        events: The Events of the controller: type, reason and object.
        failed_steps: The steps that failed, with the reason.
    """

    client: KubeClient
    controller: ControllerProcess
    name: str
    script: JsonObject
    customs: dict[str, ApplicationTrace] = field(default_factory=dict)
    finalizers: dict[str, set[str]] = field(default_factory=dict)
    objects: dict[str, SeenObject] = field(default_factory=dict)
    events: set[str] = field(default_factory=set)
    failed_steps: list[str] = field(default_factory=list)
    _drivers: dict[str, str] = field(default_factory=dict)
    _used: set[str] = field(default_factory=set)
    _executors: dict[str, bool] = field(default_factory=dict)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _is_stuck: bool = False
    _is_closed: bool = False
    _kubelet: dict[str, asyncio.Task[None]] = field(default_factory=dict)

    @property
    def namespaces(self) -> dict[str, str]:
        """The namespaces, by the names that the scenario gives them."""
        own = f"tr-{self.name}"
        return {"": own, **{extra: f"{own}-{extra}" for extra in self.script.get("extra_namespaces", ())}}

    @property
    def restarts_controller(self) -> bool:
        """Whether a step stops or starts the controller."""
        return any("controller" in step for step in self.script["steps"])

    @property
    def executors_left(self) -> list[str]:
        """The executors that still exist."""
        return sorted(label for label, exists in self._executors.items() if exists)

    async def play(self) -> None:
        """Play all steps, or those up to a step that fails, and wait until nothing changes any more."""
        for namespace in self.namespaces.values():
            await self.client.create(kinds.NAMESPACES, {"metadata": {"name": namespace}}, None)
            await wait_for_service_account(self.client, namespace)
        for document in self.script["resources"]:
            own = deepcopy(document)
            namespace = own["metadata"]["namespace"] = self.namespaces[own["metadata"].get("namespace", "")]
            self.customs[self._build_label(own["kind"], own)] = ApplicationTrace(own)
            await self.client.create(CUSTOM_KINDS[own["kind"]], own, namespace)
        with suppress(StepFailed):
            for step in self.script["steps"]:
                await self._play_step(step)
        await self._settle()
        self._is_closed = True
        for task in self._kubelet.values():
            task.cancel()

    def see(self, kind: ResourceType, document: JsonObject, exists: bool) -> None:
        """Record a new state of an object, the last one if it does not exist any more."""
        if self._is_closed:
            return
        label, uid = self._build_label(kind.kind, document), document["metadata"]["uid"]
        if kind is kinds.EVENTS:
            self._see_event(document)
        elif kind.kind in CUSTOM_KINDS:
            trace = self.customs[label]
            trace.record(document)
            trace.exists = exists
            self.finalizers.setdefault(label, set()).update(document["metadata"].get("finalizers", ()))
        elif label in self._executors:
            self._executors[label] = exists
        elif not _is_made_by_kubernetes(document):
            seen = self.objects.setdefault(uid, SeenObject(label, document, document))
            seen.exists = exists
            if exists:
                seen.document = document
                seen.body = seen.body if "deletionTimestamp" in document["metadata"] else document
        if kind is kinds.PODS and exists and "deletionTimestamp" in document["metadata"] and uid not in self._kubelet:
            self._kubelet[uid] = asyncio.create_task(self._terminate(document))
        self._changed.set()

    def _see_event(self, event: JsonObject) -> None:
        component = event.get("reportingComponent") or event.get("source", {}).get("component")
        if component == Settings().operator_name:
            regarding = event["involvedObject"]
            self.events.add(f"{event['type']} {event['reason']} {regarding['kind']}/{regarding['name']}")

    async def _terminate(self, pod: JsonObject) -> None:
        """Act as the kubelet for a pod under deletion."""
        await asyncio.sleep(KUBELET_DELAY)
        if self._is_stuck or not pod["spec"].get("nodeName"):
            return
        metadata = pod["metadata"]
        name, namespace, uid = metadata["name"], metadata["namespace"], metadata["uid"]
        with suppress(NotFound):
            current = await self.client.get(kinds.PODS, name, namespace)
            if current["status"]["phase"] == "Running":
                await self._report(current, "stopped")
                await asyncio.sleep(KUBELET_REMOVAL_DELAY)
        await repeat_until_done(lambda: self.client.delete(kinds.PODS, name, namespace, grace_seconds=0, uid=uid))

    def _build_label(self, kind: str, document: JsonObject) -> str:
        extra = document["metadata"]["namespace"].removeprefix(self.namespaces[""]).removeprefix("-")
        return "/".join(part for part in (kind, extra, document["metadata"]["name"]) if part)

    async def _play_step(self, step: JsonObject) -> None:
        ((word, value),) = step.items()
        argument = value if isinstance(value, dict) else {"it": value}
        try:
            await getattr(self, f"_step_{word}")(argument)
        except (StepFailed, KubeError) as failure:
            self.failed_steps.append(f"{json.dumps(step)}: {failure}")
            if not argument.get("lax"):
                raise StepFailed(str(failure)) from None

    async def _wait_until(self, argument: JsonObject, holds: Callable[[], bool], failure: str) -> None:
        try:
            async with asyncio.timeout(argument.get("timeout", _WAIT_SECONDS)):
                while not holds():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise StepFailed(failure) from None

    async def _settle(self) -> None:
        """Wait until nothing has changed for a while."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_LONGEST_SETTLE_SECONDS):
                while True:
                    self._changed.clear()
                    await asyncio.wait_for(self._changed.wait(), _QUIET_SECONDS)

    def _find_label(self, argument: JsonObject) -> str:
        given = argument.get("app")
        return next(label for label in self.customs if given in (None, label.partition("/")[2]))

    def _find_driver(self, argument: JsonObject) -> JsonObject:
        return self.objects[self._drivers[self._find_label(argument)]].document

    async def _step_sleep(self, argument: JsonObject) -> None:
        await asyncio.sleep(argument["it"])

    async def _step_stuck(self, argument: JsonObject) -> None:
        self._is_stuck = argument["it"]

    async def _step_controller(self, argument: JsonObject) -> None:
        if argument["it"] in ("stop", "restart"):
            await self.controller.stop()  # a killed controller would hold its Lease for a while
        if argument["it"] in ("start", "restart"):
            await self.controller.start()

    async def _step_wait_state(self, argument: JsonObject) -> None:
        wanted = argument["state"] if "state" in argument else argument["it"]
        label = self._find_label(argument)
        names = "|".join(wanted) if isinstance(wanted, list) else wanted
        await self._wait_until(
            argument, lambda: self.customs[label].consume_state(wanted), f"{label} never reached {names}"
        )

    async def _step_wait_driver(self, argument: JsonObject) -> None:
        label = self._find_label(argument)

        def claim_driver() -> bool:
            owner = self.customs[label].document["metadata"].get("uid")
            for uid, seen in self.objects.items():
                metadata = seen.document["metadata"]
                owners = [each["uid"] for each in metadata.get("ownerReferences", ())]
                is_driver = metadata.get("labels", {}).get(LABEL_ROLE) == ROLE_DRIVER and seen.label.startswith("Pod/")
                if is_driver and owner in owners and uid not in self._used and "deletionTimestamp" not in metadata:
                    self._used.add(uid)
                    self._drivers[label] = uid
                    return True
            return False

        await self._wait_until(argument, claim_driver, f"no new driver pod for {label}")

    async def _step_wait_gone(self, argument: JsonObject) -> None:
        label = self._find_label(argument)
        await self._wait_until(argument, lambda: not self.customs[label].exists, f"{label} not gone")

    async def _step_driver(self, argument: JsonObject) -> None:
        await self._set_pod(self._find_driver(argument), argument.get("it", argument))

    async def _step_executors(self, argument: JsonObject) -> None:
        driver = self._find_driver(argument)["metadata"]
        first = len(self._executors) + 1
        for number in range(first, first + argument["create"]):
            metadata = {
                "name": f"exec-{number}",
                "labels": {**driver["labels"], LABEL_ROLE: "executor", "spark-exec-id": str(number)},
                "ownerReferences": [
                    {
                        "apiVersion": "v1",
                        "kind": "Pod",
                        "name": driver["name"],
                        "uid": driver["uid"],
                        "controller": True,
                    }
                ],
            }
            self._executors[f"Pod/exec-{number}"] = True
            spec = {"restartPolicy": "Never", "containers": [{"name": "spark-kubernetes-executor", "image": "spark"}]}
            pod = await self.client.create(kinds.PODS, {"metadata": metadata, "spec": spec}, driver["namespace"])
            await self._set_pod(pod, argument["as"])

    async def _set_pod(self, pod: JsonObject, story: str | JsonObject) -> None:
        if complete_story(story).get("scheduled", True) and not pod["spec"].get("nodeName"):
            await bind(self.client, pod)
            pod["spec"]["nodeName"] = "bound"  # the watch may show the binding late
        await self._report(pod, story)

    async def _report(self, pod: JsonObject, story: str | JsonObject) -> None:
        name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
        patch = {"status": build_pod_status(pod, complete_story(story))}
        await self.client.patch(kinds.PODS, name, namespace, patch, subresource="status")

    async def _step_delete_driver(self, argument: JsonObject) -> None:
        driver = self._find_driver({})["metadata"]
        grace = 0 if argument["it"] == "force" else 30
        await self.client.delete(kinds.PODS, driver["name"], driver["namespace"], grace_seconds=grace)

    async def _step_patch(self, argument: JsonObject) -> None:
        await self.client.patch(*self._find_custom(argument), argument["patch"])

    async def _step_delete(self, argument: JsonObject) -> None:
        propagation = argument.get("propagation", "Background")
        await self.client.delete(*self._find_custom(argument), propagation=propagation)

    def _find_custom(self, argument: JsonObject) -> tuple[ResourceType, str, str]:
        label = self._find_label(argument)
        metadata = self.customs[label].document["metadata"]
        return CUSTOM_KINDS[label.partition("/")[0]], metadata["name"], metadata["namespace"]


def _is_made_by_kubernetes(document: JsonObject) -> bool:
    metadata = document["metadata"]
    owners = [each["kind"] for each in metadata.get("ownerReferences", ())]
    return metadata["name"] == "kube-root-ca.crt" or "StatefulSet" in owners


async def play_all(
    client: KubeClient, controller: ControllerProcess, scripts: Mapping[str, JsonObject]
) -> dict[str, Player]:
    """Play scenarios with a controller of all namespaces: those that restart it come last, one after the other."""
    players = {name: Player(client, controller, name, script) for name, script in scripts.items()}
    by_namespace = {namespace: player for player in players.values() for namespace in player.namespaces.values()}

    async def watch(kind: ResourceType) -> None:
        def see(document: JsonObject, *, exists: bool = True) -> None:
            if player := by_namespace.get(document["metadata"]["namespace"]):
                player.see(kind, document, exists)

        await follow(client, kind, None, see, lambda document: see(document, exists=False))

    watches = [asyncio.create_task(watch(kind)) for kind in (*CUSTOM_KINDS.values(), *_OTHER_KINDS)]
    try:
        await _play_concurrently(player for player in players.values() if not player.restarts_controller)
        for player in players.values():
            if player.restarts_controller:
                await player.play()
    finally:
        for task in watches:
            task.cancel()
        await asyncio.gather(*watches, return_exceptions=True)
    return players


async def _play_concurrently(players: Iterable[Player]) -> None:
    limit = asyncio.Semaphore(_PARALLEL)

    async def play(player: Player) -> None:
        async with limit:
            await player.play()

    await asyncio.gather(*map(play, players))
