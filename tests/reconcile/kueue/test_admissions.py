from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.kueue import state
from airflow_provider_spark_operator.core.kueue.application_pods import build_application_pod_sets
from airflow_provider_spark_operator.core.kueue.assignment import TemplateChange
from airflow_provider_spark_operator.core.kueue.steps import Granted, QueueObservation, Unsuitable, Waiting
from airflow_provider_spark_operator.core.models.application import SparkApplication
from airflow_provider_spark_operator.core.states import reasons
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import Forbidden, NotFound, Unreachable
from airflow_provider_spark_operator.kube.resources import (
    PRIORITY_CLASSES,
    RESOURCE_FLAVORS,
    SPARK_APPLICATIONS,
    WORKLOAD_PRIORITY_CLASSES,
    WORKLOADS,
)
from airflow_provider_spark_operator.reconcile.kueue.admissions import AdmissionRequest, Admissions
from airflow_provider_spark_operator.reconcile.objects.cache import ObjectCache
from tests.core.driver.attempts import OPERATOR, build_application
from tests.local_api import NAMESPACE
from tests.reconcile.harness import FaultyClient, build_error
from tests.reconcile.harness import build_application as build_document
from tests.reconcile.kueue_objects import FLAVOR, QUEUE_LABEL, admit, evict, get_workload, install_kueue, write_status

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
CHANGE = TemplateChange(node_selector={"pool": "spot"}, tolerations=({"key": "spot", "operator": "Exists"},))


OTHER_UID = "00000000-0000-4000-8000-000000000009"


def answer_with(exist: bool) -> Callable[[], Awaitable[bool]]:
    async def have_pods() -> bool:
        return exist

    return have_pods


@dataclass(frozen=True)
class KueueCluster:
    """A cluster with Kueue, and the application `pi`.

    Attributes:
        client: A client that does not fail.
        uid: The uid of the application. The garbage collector deletes the Workload of an owner that does not exist.
    """

    client: KubeClient
    uid: str

    def build_owner(
        self, labels: Mapping[str, str] | None = None, uid: str | None = None, **conf: str
    ) -> SparkApplication:
        application = build_application({key.replace("_", "."): value for key, value in conf.items()}, name="pi")
        labels = {QUEUE_LABEL: "team-a"} if labels is None else labels
        metadata = {"name": "pi", "namespace": NAMESPACE, "uid": uid or self.uid, "labels": dict(labels)}
        return application.model_copy(update={"metadata": metadata})

    def build_request(self, owner: SparkApplication | None = None, *, pods_exist: bool = False) -> AdmissionRequest:
        owner = owner or self.build_owner()
        return AdmissionRequest(owner, lambda: build_application_pod_sets(owner, OPERATOR), answer_with(pods_exist))

    async def ask(
        self, owner: SparkApplication | None = None, *, pods_exist: bool = False, client: Any = None
    ) -> QueueObservation:
        request = self.build_request(owner, pods_exist=pods_exist)
        return await build_admissions(client or self.client).request(request)

    async def read(self) -> JsonObject:
        return await get_workload(self.client, NAMESPACE)

    async def exists(self) -> bool:
        try:
            await self.read()
        except NotFound:
            return False
        return True


@pytest.fixture
async def kueue(client: KubeClient) -> KueueCluster:
    await install_kueue(client)
    document = await client.create(SPARK_APPLICATIONS, build_document(), NAMESPACE)
    return KueueCluster(client, document["metadata"]["uid"])


def build_admissions(client: Any) -> Admissions:
    return Admissions(client, ObjectCache(), lambda: NOW)


async def test_first_request_creates_the_workload_and_waits(kueue: KueueCluster) -> None:
    observed = await kueue.ask()
    assert observed.answer == Waiting("Waiting for Kueue admission in queue team-a.")
    workload = await kueue.read()
    assert workload["spec"]["queueName"] == "team-a"
    assert observed.workload is not None


async def test_admitted_workload_grants_the_flavors(kueue: KueueCluster) -> None:
    await kueue.ask()
    await admit(kueue.client, await kueue.read())
    observed = await kueue.ask()
    assert observed.answer == Granted({"driver": CHANGE, "executor": CHANGE})


async def test_started_resource_gets_its_flavors_without_another_admission(kueue: KueueCluster) -> None:
    admissions = build_admissions(kueue.client)
    request = kueue.build_request()
    assert (await admissions.request(request, is_started=True)).answer == Granted()
    assert not await kueue.exists()
    await kueue.ask()
    await admit(kueue.client, await kueue.read())
    await evict(kueue.client, await kueue.read())
    assert (await admissions.request(request, is_started=True)).answer == Granted(
        {"driver": CHANGE, "executor": CHANGE}
    )


async def test_eviction_before_the_start_replaces_the_workload(kueue: KueueCluster) -> None:
    await kueue.ask()
    first = await kueue.read()
    await admit(kueue.client, first)
    await evict(kueue.client, first)
    observed = await kueue.ask()
    assert isinstance(observed.answer, Waiting)
    assert observed.answer.after == timedelta(seconds=5)
    assert not await kueue.exists()
    await kueue.ask()
    assert (await kueue.read())["metadata"]["uid"] != first["metadata"]["uid"]


async def test_workload_whose_pods_exist_is_not_replaced(kueue: KueueCluster) -> None:
    await kueue.ask()
    await evict(kueue.client, await kueue.read())
    observed = await kueue.ask(pods_exist=True)
    assert isinstance(observed.answer, Waiting)
    assert await kueue.exists()


async def test_requeue_time_of_an_evicted_workload_is_awaited(kueue: KueueCluster) -> None:
    await kueue.ask()
    later = (NOW + timedelta(seconds=42)).isoformat()
    await evict(kueue.client, await kueue.read(), requeueState={"requeueAt": later})
    observed = await kueue.ask()
    assert isinstance(observed.answer, Waiting)
    assert (observed.answer.reason, observed.answer.after) == (reasons.KUEUE_ADMISSION_PENDING, timedelta(seconds=42))


async def test_other_queue_is_written_to_the_waiting_workload(kueue: KueueCluster) -> None:
    await kueue.ask()
    first = await kueue.read()
    await kueue.ask(kueue.build_owner({QUEUE_LABEL: "team-b"}))
    second = await kueue.read()
    assert second["spec"]["queueName"] == "team-b"
    assert second["metadata"]["uid"] == first["metadata"]["uid"]


async def test_workload_of_an_earlier_application_of_the_same_name_is_replaced(kueue: KueueCluster) -> None:
    await kueue.ask()
    await kueue.ask(kueue.build_owner(uid=OTHER_UID))
    assert not await kueue.exists()


@pytest.mark.parametrize("is_admitted", [True, False])
async def test_application_without_its_label_starts_at_once(kueue: KueueCluster, is_admitted: bool) -> None:
    await kueue.ask()
    if is_admitted:
        await admit(kueue.client, await kueue.read())
    observed = await kueue.ask(kueue.build_owner({}))
    assert observed.answer == Granted()
    assert await kueue.exists() is is_admitted


async def test_application_without_its_label_waits_for_pods_that_use_the_quota(kueue: KueueCluster) -> None:
    await kueue.ask()
    observed = await kueue.ask(kueue.build_owner({}), pods_exist=True)
    assert isinstance(observed.answer, Waiting)
    assert await kueue.exists()


async def test_application_without_label_and_workload_starts_at_once(kueue: KueueCluster) -> None:
    assert (await kueue.ask(kueue.build_owner({}))).answer == Granted()


async def test_application_that_cannot_be_queued_is_unsuitable(kueue: KueueCluster) -> None:
    observed = await kueue.ask(kueue.build_owner(spark_dynamicAllocation_enabled="true"))
    assert isinstance(observed.answer, Unsuitable)
    assert observed.answer.reason == reasons.SPEC_UNBUILDABLE
    assert "dynamicAllocation" in observed.answer.detail
    assert not await kueue.exists()


async def test_flavor_that_contradicts_the_application_is_a_scheduling_failure(kueue: KueueCluster) -> None:
    owner = kueue.build_owner(spark_kubernetes_node_selector_pool="x")
    await kueue.ask(owner)
    await admit(kueue.client, await kueue.read())
    observed = await kueue.ask(owner)
    assert isinstance(observed.answer, Unsuitable)
    assert observed.answer.reason == reasons.SCHEDULING_FAILED
    assert "pool=spot" in observed.answer.detail


async def test_flavor_that_contradicts_an_edit_after_the_admission_is_a_scheduling_failure(kueue: KueueCluster) -> None:
    await kueue.ask()
    await admit(kueue.client, await kueue.read())
    observed = await kueue.ask(kueue.build_owner(spark_kubernetes_node_selector_pool="x"))
    assert isinstance(observed.answer, Unsuitable)
    assert "pool=spot" in observed.answer.detail


async def test_edit_after_the_admission_removes_the_contradiction(kueue: KueueCluster) -> None:
    await kueue.ask(kueue.build_owner(spark_kubernetes_node_selector_pool="x"))
    await admit(kueue.client, await kueue.read())
    assert (await kueue.ask()).answer == Granted({"driver": CHANGE, "executor": CHANGE})


async def test_priority_is_that_of_the_named_class(kueue: KueueCluster) -> None:
    document = {"metadata": {"name": "high"}, "value": 1000}
    kind = {"apiVersion": WORKLOAD_PRIORITY_CLASSES.api_version, "kind": "WorkloadPriorityClass"}
    await kueue.client.create(WORKLOAD_PRIORITY_CLASSES, {**kind, **document}, None)
    await kueue.ask(kueue.build_owner({QUEUE_LABEL: "team-a", "kueue.x-k8s.io/priority-class": "high"}))
    assert (await kueue.read())["spec"]["priority"] == 1000


async def test_priority_is_that_of_the_default_class_of_pods(kueue: KueueCluster) -> None:
    document = {"metadata": {"name": "usual"}, "value": 7, "globalDefault": True}
    kind = {"apiVersion": PRIORITY_CLASSES.api_version, "kind": "PriorityClass"}
    await kueue.client.create(PRIORITY_CLASSES, {**kind, **document}, None)
    await kueue.ask()
    assert (await kueue.read())["spec"]["priorityClassRef"]["name"] == "usual"


async def test_default_class_is_read_once_for_all_resources_in_a_minute(kueue: KueueCluster) -> None:
    class Counting:
        """A client that counts the lists of PriorityClasses."""

        lists = 0

        def __getattr__(self, name: str) -> Any:
            return getattr(kueue.client, name)

        async def list(self, *arguments: Any, **options: Any) -> Any:
            self.lists += PRIORITY_CLASSES in arguments
            return await kueue.client.list(*arguments, **options)

    times = [NOW]
    client = Counting()
    admissions = Admissions(client, ObjectCache(), lambda: times[-1])  # type: ignore[arg-type]
    for _ in range(3):
        await admissions.request(kueue.build_request())
    assert client.lists == 1
    times.append(NOW + timedelta(seconds=60))
    await admissions.request(kueue.build_request())
    assert client.lists == 2


async def test_default_class_that_may_not_be_listed_is_ignored_with_one_warning(
    kueue: KueueCluster, caplog: pytest.LogCaptureFixture
) -> None:
    message = 'priorityclasses is forbidden: User "robot" cannot list resource "priorityclasses" at the cluster scope'
    error = Forbidden(403, "Forbidden", message, "list", "priorityclasses.scheduling.k8s.io")
    faulty = FaultyClient(kueue.client, ("list",), 1, error, after=False)
    observed = await kueue.ask(client=faulty)
    assert faulty.has_struck
    assert observed.answer == Waiting("Waiting for Kueue admission in queue team-a.")
    assert 'grant the verb "list" on priorityclasses.scheduling.k8s.io cluster-wide' in caplog.text


async def test_admitted_resource_starts_although_its_priority_class_was_deleted(kueue: KueueCluster) -> None:
    kind = {"apiVersion": WORKLOAD_PRIORITY_CLASSES.api_version, "kind": "WorkloadPriorityClass"}
    document = {**kind, "metadata": {"name": "high"}, "value": 1000}
    await kueue.client.create(WORKLOAD_PRIORITY_CLASSES, document, None)
    owner = kueue.build_owner({QUEUE_LABEL: "team-a", "kueue.x-k8s.io/priority-class": "high"})
    await kueue.ask(owner)
    await kueue.client.delete(WORKLOAD_PRIORITY_CLASSES, "high", None)
    await admit(kueue.client, await kueue.read())
    assert isinstance((await kueue.ask(owner)).answer, Granted)


async def test_missing_priority_class_creates_no_workload_and_is_reported(kueue: KueueCluster) -> None:
    owner = kueue.build_owner({QUEUE_LABEL: "team-a", "kueue.x-k8s.io/priority-class": "missing"})
    observed = await kueue.ask(owner)
    assert isinstance(observed.answer, Waiting)
    assert observed.answer.reason == reasons.KUEUE_ADMISSION_REQUEST_FAILED
    assert not await kueue.exists()


async def test_cluster_without_kueue_is_reported(client: KubeClient) -> None:
    observed = await KueueCluster(client, OTHER_UID).ask()
    assert isinstance(observed.answer, Waiting)
    assert observed.answer.reason == reasons.KUEUE_ADMISSION_REQUEST_FAILED
    assert "CustomResourceDefinition" in observed.answer.message


async def test_missing_flavor_is_reported(kueue: KueueCluster) -> None:
    await kueue.ask()
    await admit(kueue.client, await kueue.read())
    await kueue.client.delete(RESOURCE_FLAVORS, FLAVOR, None)
    observed = await kueue.ask()
    assert isinstance(observed.answer, Waiting)
    assert observed.answer.reason == reasons.KUEUE_RESOURCE_FLAVOR_READ_FAILED


@pytest.mark.parametrize("number", [1, 2, 3], ids=["read", "priority", "create"])
async def test_unanswered_request_is_repeated_soon(kueue: KueueCluster, number: int) -> None:
    verbs = ("get", "list", "create")
    faulty = FaultyClient(kueue.client, verbs, number, build_error(Unreachable, None), after=number > 1)
    observed = await kueue.ask(client=faulty)
    assert isinstance(observed.answer, Waiting)
    assert (observed.answer.reason, observed.answer.after) == (reasons.KUEUE_ADMISSION_RETRIED, timedelta(seconds=5))
    assert faulty.has_struck
    await kueue.ask()
    assert await kueue.exists()


async def test_unanswered_read_of_a_flavor_is_repeated_soon(kueue: KueueCluster) -> None:
    await kueue.ask()
    await admit(kueue.client, await kueue.read())
    observed = await kueue.ask(client=FaultyClient(kueue.client, ("get",), 2, build_error(Unreachable, None)))
    assert isinstance(observed.answer, Waiting)
    assert observed.answer.reason == reasons.KUEUE_ADMISSION_RETRIED


async def test_release_deletes_only_the_workload_of_the_resource(kueue: KueueCluster) -> None:
    await kueue.ask()
    admissions = build_admissions(kueue.client)
    assert (await admissions.release(kueue.build_owner(uid=OTHER_UID))).is_released
    assert await kueue.exists()
    assert (await admissions.release(kueue.build_owner())).is_released
    assert not await kueue.exists()
    assert (await admissions.release(kueue.build_owner())).is_released


@pytest.mark.parametrize("condition", ["deactivated", "requeued later"])
async def test_release_after_an_eviction_keeps_the_workload_that_the_cache_does_not_show(
    kueue: KueueCluster, condition: str
) -> None:
    await kueue.ask()
    await admit(kueue.client, await kueue.read())
    later = {"requeueState": {"requeueAt": (NOW + timedelta(seconds=42)).isoformat()}}
    await evict(kueue.client, await kueue.read(), **({} if condition == "deactivated" else later))
    if condition == "deactivated":
        await kueue.client.patch(WORKLOADS, "sparkapplication-pi", NAMESPACE, {"spec": {"active": False}})
    admissions, owner = build_admissions(kueue.client), kueue.build_owner()
    observed = await admissions.release(owner, is_evicted=True)
    assert not observed.is_released
    assert observed.workload is not None
    assert await kueue.exists()
    assert (await admissions.release(owner)).is_released
    assert not await kueue.exists()


async def test_quota_of_a_kept_workload_is_given_back(kueue: KueueCluster) -> None:
    await kueue.ask()
    await admit(kueue.client, await kueue.read())
    await evict(kueue.client, await kueue.read())
    observed = await build_admissions(kueue.client).give_back(kueue.build_owner())
    workload = await kueue.read()
    assert not state.holds_quota(workload)
    assert workload["status"].get("admission") is None
    assert observed.workload is not None
    assert not state.holds_quota(observed.workload)


READY = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}


async def test_readiness_is_recorded_when_all_pods_are_ready(kueue: KueueCluster) -> None:
    admissions = build_admissions(kueue.client)
    await admissions.mark_ready(kueue.build_owner(), {})
    assert not await kueue.exists()
    await kueue.ask()
    await admit(kueue.client, await kueue.read())
    await admissions.mark_ready(kueue.build_owner(), {"driver": [READY], "executor": [READY]})
    assert not state.is_true(await kueue.read(), "PodsReady")
    await admissions.mark_ready(kueue.build_owner(), {"driver": [READY], "executor": [READY, READY]})
    assert state.is_true(await kueue.read(), "PodsReady")


async def test_end_of_retained_pods_is_recorded(kueue: KueueCluster) -> None:
    admissions = build_admissions(kueue.client)
    await admissions.mark_finished(kueue.build_owner(), succeeded=True, message="It ended.")
    assert not await kueue.exists()
    await kueue.ask()
    await admit(kueue.client, await kueue.read())
    for succeeded in (True, False):  # the second call does not change the first result
        await admissions.mark_finished(kueue.build_owner(), succeeded=succeeded, message="It ended.")
    finished = next(each for each in (await kueue.read())["status"]["conditions"] if each["type"] == "Finished")
    assert finished["reason"] == "Succeeded"


async def test_workload_whose_end_cannot_be_recorded_is_deleted(kueue: KueueCluster) -> None:
    await kueue.ask()
    await write_status(kueue.client, await kueue.read())
    faulty = FaultyClient(kueue.client, ("patch",), 1, build_error(NotFound, 404), after=False)
    await build_admissions(faulty).mark_finished(kueue.build_owner(), succeeded=True, message="It ended.")
    assert not await kueue.exists()


async def test_cache_shows_only_the_workload_of_the_resource(kueue: KueueCluster) -> None:
    cache = ObjectCache()
    admissions = Admissions(kueue.client, cache, lambda: NOW)
    await admissions.request(kueue.build_request())
    assert admissions.observe(kueue.build_owner()).workload is not None
    assert admissions.observe(kueue.build_owner(uid=OTHER_UID)).workload is None
    assert (await kueue.client.list(WORKLOADS, NAMESPACE)).items
