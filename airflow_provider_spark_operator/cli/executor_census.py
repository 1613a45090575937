"""Read the executor pods that a list of applications counts."""

from collections.abc import Sequence
from typing import Final

from airflow_provider_spark_operator.core.dialects.dialect import DIALECTS, read_progress
from airflow_provider_spark_operator.core.dialects.progress import Phase
from airflow_provider_spark_operator.core.names import LABEL_APPLICATION_SELECTOR, LABEL_ROLE, ROLE_EXECUTOR
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import Forbidden
from airflow_provider_spark_operator.kube.resources import PODS
from airflow_provider_spark_operator.kube.transport import JsonObject

_LABELS: Final = (LABEL_ROLE, LABEL_APPLICATION_SELECTOR, *(dialect.application_label for dialect in DIALECTS))
_METADATA: Final = ("name", "namespace", "deletionTimestamp")


class ExecutorCensus:
    """Reads the executor pods of a namespace, once, when an application that runs needs them.

    Args:
        client: The client of the cluster.
        namespace: The namespace. If None, all namespaces.

    Attributes:
        refusals: The missing permission, if pods cannot be listed.
    """

    def __init__(self, client: KubeClient, namespace: str | None) -> None:
        self._client = client
        self._namespace = namespace
        self._pods: list[JsonObject] | None = None
        self.refusals: tuple[Forbidden, ...] = ()

    async def read(self, applications: Sequence[JsonObject]) -> list[JsonObject] | None:
        """Return the executors of a namespace as far as these applications need them. None if they are unknown.

        Raises:
            KubeError: The API could not be reached. A missing permission is no error.
        """
        if self._pods is None and not self.refusals and any(map(_can_have_executors, applications)):
            selector = f"{LABEL_ROLE}={ROLE_EXECUTOR}"
            try:
                found = await self._client.list(PODS, self._namespace, label_selector=selector, trim=_trim)
                self._pods = found.items
            except Forbidden as error:
                self.refusals = (error,)
        return self._pods

    def forget(self) -> None:
        """Read the pods again when they are needed next."""
        self._pods = None


def _can_have_executors(application: JsonObject) -> bool:
    return read_progress(application).phase in (Phase.RUNNING, Phase.STOPPING)


def _trim(pod: JsonObject) -> None:
    """Keep what is counted: a namespace may have thousands of executors."""
    metadata = pod["metadata"]
    kept = {key: metadata[key] for key in _METADATA if key in metadata}
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key in _LABELS}
    phase = (pod.get("status") or {}).get("phase")
    pod.clear()
    pod.update({"metadata": {**kept, "labels": labels}, "status": {"phase": phase}})
