"""Says what happens on the cluster while the demo runs: states, executors, the driver's own lines, verdicts."""

import asyncio
import contextlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from airflow_provider_spark_operator.core.dialects import apache
from airflow_provider_spark_operator.core.names import (
    LABEL_APPLICATION_NAME,
    LABEL_ROLE,
    ROLE_DRIVER,
    ROLE_EXECUTOR,
)
from airflow_provider_spark_operator.core.verdict import Outcome, verdict
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import KubeError
from airflow_provider_spark_operator.kube.listwatch import Changed, Listed, Removed, list_and_watch
from airflow_provider_spark_operator.kube.resources import PODS, SPARK_APPLICATIONS

DEFAULT_EXECUTORS = 2
# A quick driver is first seen when it has ended already.
LOGGED = ("Running", "Succeeded", "Failed")
# Spark logs with a date, or with its level first; what is left are the lines that the job itself has printed.
SPARK_LOG_LINE = re.compile(
    r"^(\d\d(\d\d)?[-/]\d\d|WARNING:|Setting default log level|To adjust logging|Using Spark's|\s)"
)


@dataclass
class Narrator:
    """Follows every application of one namespace and hands each line for a person to `say(subject, text)`."""

    client: KubeClient
    namespace: str
    say: Callable[[str, str], None]
    _wanted: dict[str, int] = field(default_factory=dict)
    _history: dict[str, int] = field(default_factory=dict)
    _ready: dict[str, set[str]] = field(default_factory=dict)
    _shown: dict[str, str] = field(default_factory=dict)
    _logs: dict[str, asyncio.Task[None]] = field(default_factory=dict)

    async def run(self) -> None:
        """Narrate until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._follow_applications())
                group.create_task(self._follow_pods())
        finally:
            for task in self._logs.values():
                task.cancel()
            await asyncio.gather(*self._logs.values(), return_exceptions=True)

    async def _follow_applications(self) -> None:
        async for event in list_and_watch(self.client, SPARK_APPLICATIONS, self.namespace):
            match event:
                case Listed(items=items):
                    for item in items:
                        self._application(item)
                case Changed(object=application):
                    self._application(application)
                case Removed():
                    pass

    def _application(self, application: dict[str, Any]) -> None:
        name = application["metadata"]["name"]
        conf = application.get("spec", {}).get("sparkConf", {})
        self._wanted[name] = int(conf.get("spark.executor.instances", DEFAULT_EXECUTORS))
        progress = apache.progress(application)
        for entry in progress.history[self._history.get(name, 0) :]:
            self.say(name, entry.state)
        self._history[name] = len(progress.history)
        result = verdict(progress)
        if result.outcome is not Outcome.WAITING and self._shown.get(name) != result.sentence:
            self._shown[name] = result.sentence
            self.say(name, f"verdict: {result.sentence}")

    async def _follow_pods(self) -> None:
        async for event in list_and_watch(self.client, PODS, self.namespace, label_selector=LABEL_APPLICATION_NAME):
            match event:
                case Listed(items=items):
                    for item in items:
                        self._pod(item, present=True)
                case Changed(object=pod):
                    self._pod(pod, present=True)
                case Removed(object=pod):
                    self._pod(pod, present=False)

    def _pod(self, pod: dict[str, Any], *, present: bool) -> None:
        labels = pod["metadata"]["labels"]
        name, role = labels[LABEL_APPLICATION_NAME], labels.get(LABEL_ROLE)
        phase = pod.get("status", {}).get("phase")
        if role == ROLE_EXECUTOR:
            self._executor(name, pod["metadata"]["name"], ready=present and phase == "Running")
        elif role == ROLE_DRIVER and present and phase in LOGGED:
            self._read_log(name, pod["metadata"]["name"])

    def _executor(self, application: str, pod: str, *, ready: bool) -> None:
        running = self._ready.setdefault(application, set())
        if ready == (pod in running):
            return
        if ready:
            running.add(pod)
        else:
            running.discard(pod)
        self.say(application, f"executors {len(running)}/{self._wanted.get(application, DEFAULT_EXECUTORS)}")

    def _read_log(self, application: str, pod: str) -> None:
        if pod not in self._logs:
            self._logs[pod] = asyncio.create_task(self._print_log(application, pod))

    async def _print_log(self, application: str, pod: str) -> None:
        with contextlib.suppress(KubeError):
            async for line in self.client.logs(self.namespace, pod, follow=True):
                if line.strip() and not SPARK_LOG_LINE.match(line):
                    self.say(application, f"driver: {line.rstrip()}")


def timestamped(subject: str, text: str) -> str:
    """Format one line of the narration: the time (UTC), the subject, what happened."""
    return f"{datetime.now(UTC):%H:%M:%S}  {subject:<18} {text}"
