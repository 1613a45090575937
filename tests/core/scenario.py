"""Play recorded scenarios. The steps act for the scheduler, the kubelet, Spark and users."""

from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.lifecycle.decision import Settings
from tests.core.simulated_controller import SimulatedController
from tests.core.simulated_kubernetes import Key, SimulatedKubernetes, build_pod_status, complete_story

FOLDER = Path(__file__).parents[1] / "golden" / "traces"
_WAIT_TIMEOUT_SECONDS = 25
_SETTLE_SECONDS = 2
_SECOND = timedelta(seconds=1)


class StepFailed(AssertionError):
    """A step timed out."""


def list_scenarios() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def read_scenario(name: str) -> JsonObject:
    scenario: JsonObject = yaml.load((FOLDER / f"{name}.yaml").read_text(), yaml.CSafeLoader)
    return {"name": name, **scenario}


@dataclass
class ApplicationTrace:
    """The history of one application: each entry as it was first written, and the last document."""

    document: JsonObject
    exists: bool = True
    entries: dict[int, JsonObject] = field(default_factory=dict)
    waited_for: int = 0

    @property
    def states(self) -> list[str]:
        return [entry["currentStateSummary"] for _, entry in sorted(self.entries.items())]

    @property
    def times(self) -> list[datetime]:
        return [datetime.fromisoformat(entry["lastTransitionTime"]) for _, entry in sorted(self.entries.items())]

    def consume_state(self, wanted: str | list[str]) -> bool:
        """Return whether one of the wanted states has followed, and look only behind it from now on."""
        wanted = wanted if isinstance(wanted, list) else [wanted]
        for position, state in enumerate(self.states[self.waited_for :], self.waited_for):
            if state in wanted:
                self.waited_for = position + 1
                return True
        return False

    def record(self, document: JsonObject) -> None:
        self.document = deepcopy(document)
        status = document.get("status") or {}
        for part in (status.get("previousAttemptSummary") or {}, status):
            for number, entry in (part.get("stateTransitionHistory") or {}).items():
                self.entries.setdefault(int(number), deepcopy(entry))


class Scenario:
    """One scenario. Playing it ends `_SETTLE_SECONDS` after its last step."""

    def __init__(self, script: JsonObject) -> None:
        self._script = script
        self._prefix = f"tr-{script['name']}"
        self._kubernetes = SimulatedKubernetes()
        settings = Settings(
            reconcile_interval=_SECOND,
            missing_driver_grace_period=3 * _SECOND,
            missing_driver_requeue_interval=_SECOND,
            trim_state_transition_history=script.get("profile") != "notrim",
        )
        self._controller = SimulatedController(self._kubernetes, settings)
        self._controlled, self._kubernetes.on_change = self._kubernetes.on_change, self._watch
        self._drivers: dict[str, Key] = {}
        self._used: set[str] = set()
        self._executors: set[Key] = set()
        self.applications: dict[str, ApplicationTrace] = {}

    def play(self) -> "Scenario":
        self._controller.start()
        for resource in self._script["resources"]:
            document = deepcopy(resource)
            document["metadata"]["namespace"] = self._build_namespace(document["metadata"].get("namespace"))
            self._kubernetes.create(document)
        # As in the harness that recorded the scenarios, a step that fails is the last one.
        with suppress(StepFailed):
            for step in self._script["steps"]:
                ((word, argument),) = step.items()
                getattr(self, f"_step_{word}")(argument if isinstance(argument, dict) else {"it": argument})
        self._kubernetes.advance(_SETTLE_SECONDS)
        return self

    @property
    def created(self) -> list[str]:
        """All objects that the controller has created, without executors and applications."""
        return sorted(self._format_label(key) for key in self._kubernetes.created if self._is_child(key))

    @property
    def remaining(self) -> list[str]:
        """The objects in `created` that still exist."""
        return sorted(self._format_label(key) for key in self._kubernetes.objects if self._is_child(key))

    def _is_child(self, key: Key) -> bool:
        return key.kind != "SparkApplication" and key not in self._executors

    def _format_label(self, key: Key) -> str:
        extra = key.namespace.removeprefix(self._prefix).removeprefix("-")
        return "/".join(part for part in (key.kind, extra, key.name) if part)

    def _build_namespace(self, extra: str | None) -> str:
        return f"{self._prefix}-{extra}" if extra else self._prefix

    def _watch(self, key: Key, document: JsonObject) -> None:
        if key.kind == "SparkApplication":
            label = self._format_label(key).removeprefix("SparkApplication/")
            trace = self.applications.setdefault(label, ApplicationTrace(document))
            trace.record(document)
            trace.exists = key in self._kubernetes.objects
        self._controlled(key, document)

    def _find_application(self, argument: JsonObject) -> Key:
        label: str = argument.get("app", next(iter(self.applications)))
        extra, _, name = label.rpartition("/")
        return Key("SparkApplication", self._build_namespace(extra), name)

    def _find_trace(self, argument: JsonObject) -> ApplicationTrace:
        return self.applications[argument.get("app", next(iter(self.applications)))]

    def _wait_for(self, what: str, argument: JsonObject, until: Callable[[], bool]) -> None:
        if not self._kubernetes.advance(argument.get("timeout", _WAIT_TIMEOUT_SECONDS), until):
            states = {label: trace.states for label, trace in self.applications.items()}
            raise StepFailed(f"timed out waiting for {what}; states so far: {states}")

    def _step_sleep(self, argument: JsonObject) -> None:
        self._kubernetes.advance(argument["it"])

    def _step_wait_state(self, argument: JsonObject) -> None:
        wanted = argument["state"] if "state" in argument else argument["it"]
        trace = self._find_trace(argument)
        self._wait_for(f"the state {wanted}", argument, lambda: trace.consume_state(wanted))

    def _step_wait_driver(self, argument: JsonObject) -> None:
        application = self._find_application(argument)

        def claim_driver() -> bool:
            uid = self._kubernetes.objects[application]["metadata"]["uid"]
            for key in self._kubernetes.list_owned(uid):
                metadata = self._kubernetes.objects[key]["metadata"]
                if key.kind == "Pod" and metadata["uid"] not in self._used and "deletionTimestamp" not in metadata:
                    self._used.add(metadata["uid"])
                    self._drivers[application.namespace] = key
                    return True
            return False

        self._wait_for("a new driver", argument, claim_driver)

    def _step_wait_gone(self, argument: JsonObject) -> None:
        application = self._find_application(argument)
        self._wait_for("the deletion of the application", argument, lambda: application not in self._kubernetes.objects)

    def _step_driver(self, argument: JsonObject) -> None:
        story = argument.get("it", argument)
        self._set_pod(self._drivers[self._find_application(argument).namespace], complete_story(story))

    def _step_executors(self, argument: JsonObject) -> None:
        driver = self._kubernetes.objects[self._drivers[self._find_application(argument).namespace]]
        first = len(self._executors) + 1
        for number in range(first, first + argument["create"]):
            metadata = {
                "name": f"exec-{number}",
                "namespace": driver["metadata"]["namespace"],
                "labels": {**driver["metadata"]["labels"], "spark-role": "executor"},
                "ownerReferences": [{"uid": driver["metadata"]["uid"]}],
            }
            key = Key("Pod", metadata["namespace"], metadata["name"])
            self._executors.add(key)
            container = {"name": "spark-kubernetes-executor"}
            self._kubernetes.create({"kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}})
            self._set_pod(key, complete_story(argument["as"]))

    def _set_pod(self, key: Key, story: JsonObject) -> None:
        pod = self._kubernetes.objects[key]
        if story.get("scheduled", True):
            pod["spec"]["nodeName"] = "node"
        pod["status"] = build_pod_status(pod, story)
        self._kubernetes.notify(key)

    def _step_delete_driver(self, argument: JsonObject) -> None:
        key = self._drivers[self._find_application({}).namespace]
        self._kubernetes.delete(key, grace=0 if argument["it"] == "force" else None)

    def _step_stuck(self, argument: JsonObject) -> None:
        self._kubernetes.stuck = argument["it"]

    def _step_patch(self, argument: JsonObject) -> None:
        key = self._find_application(argument)
        document = self._kubernetes.objects[key]
        document["spec"] = _apply_merge_patch(document["spec"], argument["patch"]["spec"])
        self._kubernetes.notify(key)

    def _step_delete(self, argument: JsonObject) -> None:
        self._kubernetes.delete(self._find_application(argument), propagation=argument.get("propagation", "Background"))

    def _step_controller(self, argument: JsonObject) -> None:
        if argument["it"] in ("stop", "restart"):
            self._controller.stop()
        if argument["it"] in ("start", "restart"):
            self._controller.start()


def _apply_merge_patch(value: Any, patch: Any) -> Any:
    """Return `value` with the merge patch `patch` applied."""
    if not isinstance(patch, dict):
        return patch
    base = value if isinstance(value, dict) else {}
    return base | {key: _apply_merge_patch(base.get(key), each) for key, each in patch.items()}
