"""Read names from the cluster for the completion of a shell: quickly, or not at all."""

import asyncio
import os
from collections.abc import Callable, Coroutine
from datetime import datetime
from typing import Any, TypeAlias

from ...core.dialects.progress import Phase
from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.names import LABEL_ROLE, ROLE_EXECUTOR
from ...core.kubernetes.times import format_duration
from ...core.report.executors import get_executor_number, select_executors
from ...core.report.summary import read_task, summarize
from ...follow.access.find import find_application, list_served_kinds
from ...kube.client import KubeClient
from ...kube.connection import ClusterAccess, open_client
from ...kube.kubeconfig import read_kubeconfigs
from ...kube.resources import NAMESPACES, PODS, SPARK_CLUSTERS, ResourceType
from .selection import TaskFilter

Options: TypeAlias = dict[str, Any]

_SECONDS = 2.0
_MOST = 500


def _read_name(item: JsonObject) -> str:
    return str(item["metadata"]["name"])


def _describe_application(item: JsonObject, now: datetime) -> str:
    summary = summarize(item, now, ())
    is_ended = summary.progress.phase is Phase.ENDED
    words = [
        str(summary.verdict.outcome) if is_ended else summary.state,
        format_duration(summary.duration) if is_ended and summary.duration is not None else "",
        f"{format_duration(summary.age)} ago" if summary.age is not None else "",
    ]
    return f"{summary.name}\t{', '.join(filter(None, words))}"


def list_contexts(options: Options) -> list[str]:
    """Return the names of the contexts in the kubeconfig of the options."""
    usual = os.path.expanduser("~/.kube/config")  # noqa: PTH111 - Path raises without a home
    paths = options.get("kubeconfig") or os.environ.get("KUBECONFIG") or usual
    documents = read_kubeconfigs(paths)
    return [str(context["name"]) for document in documents for context in document.content.get("contexts") or ()]


def list_namespaces(options: Options) -> list[str]:
    """Return the names of the namespaces."""
    return _ask(options, lambda client: _list(client, NAMESPACES, None))


def list_applications(options: Options) -> list[str]:
    """Return the names of the applications of all API groups in the namespace of the options.

    A tab separates each name from its description, for example `Failed, 35s, 6m ago`.
    """
    return _ask(
        options, lambda client: _list_applications(client, lambda item: _describe_application(item, client.get_time()))
    )


def list_clusters(options: Options) -> list[str]:
    """Return the names of the SparkClusters in the namespace of the options."""
    return _ask(options, lambda client: _list(client, SPARK_CLUSTERS, client.default_namespace))


def list_executors(options: Options) -> list[str]:
    """Return the numbers of the executors whose pods exist, for the application whose name the options contain."""
    return _ask(options, lambda client: _list_executors(client, str(options["name"])))


def list_tasks(options: Options, attribute: str) -> list[str]:
    """Return an attribute of the tasks that have submitted applications, of those that the options select."""
    wanted = TaskFilter(dag=options.get("dag"), task=options.get("task"), run=options.get("run"))

    def read(item: JsonObject) -> str:
        origin = read_task(item["metadata"])
        return getattr(origin, attribute) if origin is not None and wanted.accepts(origin) else ""

    return sorted({*_ask(options, lambda client: _list_applications(client, read))} - {""})


def _ask(options: Options, ask: Callable[[KubeClient], Coroutine[Any, Any, list[str]]]) -> list[str]:
    access = ClusterAccess(
        kubeconfig=options.get("kubeconfig"), context=options.get("context"), namespace=options.get("namespace")
    )

    async def run() -> list[str]:
        async with asyncio.timeout(_SECONDS), await open_client(access) as client:
            return await ask(client)

    return asyncio.run(run())


async def _list_applications(client: KubeClient, read: Callable[[JsonObject], str] = _read_name) -> list[str]:
    kinds = await list_served_kinds(client)
    answers = [_list(client, kind, client.default_namespace, read) for kind in kinds]
    found = await asyncio.gather(*answers, return_exceptions=True)  # one API group may not be permitted
    return list(dict.fromkeys(name for names in found if isinstance(names, list) for name in names))


async def _list_executors(client: KubeClient, name: str) -> list[str]:
    resource, _ = await find_application(client, name)
    found = await client.list(PODS, client.default_namespace, label_selector=f"{LABEL_ROLE}={ROLE_EXECUTOR}")
    numbers = map(get_executor_number, select_executors(resource, found.items))
    return sorted(numbers, key=lambda number: (len(number), number))


async def _list(
    client: KubeClient, kind: ResourceType, namespace: str | None, read: Callable[[JsonObject], str] = _read_name
) -> list[str]:
    found = await client.list(kind, namespace, most=_MOST)
    return [read(item) for item in found.items]
