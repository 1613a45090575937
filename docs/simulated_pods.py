"""The applications in docs/pictures whose pods are simulated: many executors, a restart, lost pods and a queue.

Airflow, its tasks and their records are real. Scripts act as the operator and the kubelet of the cluster do.
"""

import asyncio
from collections.abc import Mapping
from typing import Final

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.kubernetes.names import DRIVER_CONTAINER, EXECUTOR_CONTAINER
from airflow_provider_spark_operator.testing.applications import Application, succeed
from airflow_provider_spark_operator.testing.cluster import ScriptedCluster
from airflow_provider_spark_operator.testing.pods import build_ended_container, build_ended_pod_status
from local_kubernetes.api.kinds.kinds import PODS

EXECUTORS: Final = 50
_PAUSE_SECONDS: Final = 8
_EVICTION: Final = {"reason": "Evicted", "message": "The node was low on resource: memory."}
_PENDING: Final = (
    "couldn't assign flavors to pod set driver: insufficient unused quota for cpu in flavor on-demand, 12 more needed"
)


class SimulatedPods:
    """The scripts of the applications, by the task in their names.

    Args:
        cluster: The cluster of the applications.
    """

    def __init__(self, cluster: ScriptedCluster) -> None:
        self._cluster = cluster
        self._running: list[asyncio.Task[None]] = []

    async def script(self, application: Application) -> None:
        """Start the script of an application."""
        if "refresh" in application.name:
            application.enter("Submitted")
            application.report("KueueAdmissionPending", _PENDING)
        elif "features" in application.name:
            self._running.append(asyncio.create_task(self._restart_and_run_on(application)))
        else:
            await succeed(application)

    async def _restart_and_run_on(self, application: Application) -> None:
        application.start()
        await asyncio.sleep(_PAUSE_SECONDS)
        driver = self._end(application, application.driver, DRIVER_CONTAINER, "Error", _EVICTION)
        application.enter("Failed", message=f"the driver was evicted: {_EVICTION['message']}", driver=driver)
        application.attempt += 1
        application.enter("ScheduledToRestart")
        await asyncio.sleep(1)  # the times of pods have whole seconds: no executor starts when the first driver ends
        status = {"currentAttemptSummary": {"attemptInfo": {"id": application.attempt}}}
        again = Application(self._cluster.resources, {**application.document, "status": status})
        again.start(EXECUTORS)
        executor = f"{again.name}-{again.uid[:8]}-exec"
        await asyncio.sleep(_PAUSE_SECONDS)
        self._end(again, f"{executor}-3", EXECUTOR_CONTAINER, "Error", _EVICTION)
        await asyncio.sleep(_PAUSE_SECONDS)
        self._end(again, f"{executor}-7", EXECUTOR_CONTAINER, "OOMKilled", {})

    def _end(
        self, application: Application, pod: str, container: str, reason: str, cause: Mapping[str, str]
    ) -> JsonObject:
        status = self._cluster.store.objects.get(PODS, application.namespace, pod)["status"]
        ended = build_ended_container(container, 137, reason)
        ended["state"]["terminated"]["startedAt"] = status["containerStatuses"][0]["state"]["running"]["startedAt"]
        status = {**build_ended_pod_status(ended), **cause}
        self._cluster.resources.set_pod_status(application.namespace, pod, status)
        return status
