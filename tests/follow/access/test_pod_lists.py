import asyncio
import gc
import weakref
from collections.abc import Sequence

import pytest

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.follow.access.pod_lists import PodLists, list_application_pods
from airflow_provider_spark_operator.follow.access.reference import ApplicationReference
from airflow_provider_spark_operator.kube.collection import ObjectList
from airflow_provider_spark_operator.kube.errors import NotFound
from airflow_provider_spark_operator.kube.resources import SPARK_APPLICATIONS, ResourceType

LABEL = "spark-app-name"


def build_pods(name: str, number: int) -> list[JsonObject]:
    """Return pods of an application."""
    return [{"metadata": {"name": f"{name}-{index}", "labels": {LABEL: name}}} for index in range(number)]


class Server:
    """A client whose lists wait until the test lets them go."""

    def __init__(self, pods: Sequence[JsonObject]) -> None:
        self._pods = pods
        self.selectors: list[str] = []
        self.is_open = asyncio.Event()
        self.error: Exception | None = None

    async def get(self, resource: ResourceType, name: str, namespace: str) -> JsonObject:
        """Read a pod."""
        self.selectors.append(name)
        for pod in self._pods:
            if pod["metadata"]["name"] == name:
                return pod
        raise NotFound(404, "NotFound", name)

    async def list(self, resource: ResourceType, namespace: str, *, label_selector: str) -> ObjectList:
        """List all pods that the selector names."""
        self.selectors.append(label_selector)
        await self.is_open.wait()
        if self.error is not None:
            raise self.error
        names = label_selector.removeprefix(f"{LABEL}=").removeprefix(f"{LABEL} in (").rstrip(")").split(",")
        return ObjectList([pod for pod in self._pods if pod["metadata"]["labels"][LABEL] in names], "1", True)


class Lists:
    """The lists of one server."""

    def __init__(self, server: Server, pause: float) -> None:
        self._lists, self._server = PodLists("default", LABEL, pause), server

    async def read(self, name: str, pod: str | None = None) -> list[JsonObject]:
        """List the pods of an application."""
        return await self._lists.read(self._server, name, pod)  # type: ignore[arg-type]


def build(server: Server, pause: float = 0.0) -> Lists:
    return Lists(server, pause)


async def ask(lists: Lists, *names: str) -> list[asyncio.Task[list[JsonObject]]]:
    """Ask for the pods of applications. The list begins, or each question waits for the list before it."""
    tasks = [asyncio.create_task(lists.read(name)) for name in names]
    for _ in range(3):
        await asyncio.sleep(0)
    return tasks


async def test_applications_asked_for_during_a_list_share_the_next_one() -> None:
    server = Server([*build_pods("a", 1), *build_pods("b", 2)])
    lists = build(server)
    tasks = await ask(lists, "a") + await ask(lists, "b", "c", "b")
    server.is_open.set()
    assert [len(pods) for pods in await asyncio.gather(*tasks)] == [1, 2, 0, 2]
    assert server.selectors == [f"{LABEL}=a", f"{LABEL} in (b,c)"]


async def test_question_during_a_list_of_the_same_application_is_answered_by_a_later_list() -> None:
    server = Server(build_pods("a", 1))
    lists = build(server)
    tasks = await ask(lists, "a") + await ask(lists, "a")
    server.is_open.set()
    await asyncio.gather(*tasks)
    assert server.selectors == [f"{LABEL}=a", f"{LABEL}=a"]


async def test_cancelled_question_leaves_the_others_their_answers() -> None:
    server = Server(build_pods("c", 1))
    lists = build(server)
    tasks = await ask(lists, "a") + await ask(lists, "b", "c", "d")
    tasks[0].cancel()
    await ask(lists)
    assert server.selectors[-1] == f"{LABEL} in (b,c,d)"
    tasks[1].cancel()
    server.is_open.set()
    assert [len(await task) for task in tasks[2:]] == [1, 0]
    assert server.selectors[-1] == f"{LABEL} in (c,d)", "they still share a request"


async def test_error_reaches_all_that_share_the_request() -> None:
    server = Server([])
    lists = build(server)
    tasks = await ask(lists, "a") + await ask(lists, "b", "c")
    server.error = OSError("refused")
    server.is_open.set()
    assert [str(found) for found in await asyncio.gather(*tasks, return_exceptions=True)] == ["refused"] * 3
    server.error = None
    assert await lists.read("a") == []


async def test_name_that_is_no_label_is_listed_alone() -> None:
    server, long = Server([]), "n" * 64
    lists = build(server)
    tasks = await ask(lists, "a") + await ask(lists, "b", long, "c")
    server.is_open.set()
    await asyncio.gather(*tasks)
    assert server.selectors == [f"{LABEL}=a", f"{LABEL} in (b,c)", f"{LABEL}={long}"]


@pytest.mark.parametrize(("pods_each", "requests"), [(1, 3), (100, 21)])
async def test_number_of_applications_per_list_depends_on_the_number_of_their_pods(
    pods_each: int, requests: int
) -> None:
    names = [f"app-{index}" for index in range(101)]
    server = Server([pod for name in names for pod in build_pods(name, pods_each)])
    lists = build(server)
    tasks = await ask(lists, names[0]) + await ask(lists, *names[1:])
    server.is_open.set()
    await asyncio.gather(*tasks)
    assert len(server.selectors) == requests


async def test_applications_asked_for_during_the_pause_share_the_next_list() -> None:
    server = Server([])
    server.is_open.set()
    lists = build(server, pause=0.01)
    await lists.read("a")
    await asyncio.gather(*await ask(lists, "b", "c"))
    assert server.selectors == [f"{LABEL}=a", f"{LABEL} in (b,c)"]


async def test_pod_is_read_by_its_name_if_no_other_question_waits() -> None:
    server = Server([*build_pods("a", 2), *build_pods("b", 1), *build_pods("c", 1)])
    server.is_open.set()
    lists = build(server)
    first = asyncio.create_task(lists.read("a", "a-1"))
    await asyncio.sleep(0)
    others = [asyncio.create_task(lists.read(name, f"{name}-0")) for name in ("b", "c")]
    assert [len(pods) for pods in await asyncio.gather(first, *others)] == [1, 1, 1]
    assert server.selectors == ["a-1", f"{LABEL} in (b,c)"]


async def test_all_pods_are_listed_if_one_of_two_callers_needs_them() -> None:
    server = Server(build_pods("a", 2))
    server.is_open.set()
    lists = build(server)
    one, every = await asyncio.gather(lists.read("a", "a-0"), lists.read("a"))
    assert [len(one), len(every)] == [2, 2]


@pytest.mark.parametrize("pod", ["missing", "b-0"], ids=["it does not exist", "it belongs to another application"])
async def test_pods_are_listed_if_the_named_one_is_not_found(pod: str) -> None:
    server = Server([*build_pods("a", 1), *build_pods("b", 1)])
    server.is_open.set()
    assert await build(server).read("a", pod) == build_pods("a", 1)
    assert server.selectors == [pod, f"{LABEL}=a"]


async def test_client_that_is_no_longer_used_is_freed() -> None:
    server = Server([])
    server.is_open.set()
    reference = ApplicationReference("jobs", "pi", "u1", SPARK_APPLICATIONS)
    await list_application_pods(server, reference)  # type: ignore[arg-type]
    known = weakref.ref(server)
    del server
    gc.collect()
    assert known() is None
