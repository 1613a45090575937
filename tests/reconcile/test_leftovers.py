"""What drivers that have gone leave behind for a while: nothing that follows ever takes it for its own."""

import pytest

from airflow_provider_spark_operator.core.names import LABEL_APPLICATION_NAME, LABEL_OPERATOR_NAME
from airflow_provider_spark_operator.core.states import ApplicationState
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import Forbidden
from airflow_provider_spark_operator.kube.resources import CONFIG_MAPS, PODS
from airflow_provider_spark_operator.reconcile.cache import JsonObject
from tests.reconcile.stage import (
    QUICK,
    FaultyClient,
    Stage,
    application,
    controlling,
    fault,
    playing,
)

State = ApplicationState
FIRST, SECOND = "pi-0-spark-drv-conf-map", "pi-1-spark-drv-conf-map"
LABELS = {LABEL_OPERATOR_NAME: QUICK.decisions.operator_name, LABEL_APPLICATION_NAME: "pi"}


async def leave(client: KubeClient, namespace: str, name: str, **metadata: object) -> None:
    """Have a config map be there, as if nobody had collected it yet."""
    document = {"metadata": {"name": name, **metadata}, "data": {"spark.properties": "spark.of=another"}}
    await client.create(CONFIG_MAPS, document, namespace)


async def until_gone(stage: Stage) -> None:
    await stage.until(lambda seen: seen is None)


async def end(stage: Stage) -> None:
    """Have an application end."""
    async with playing(stage, "succeeded"):
        await stage.submit(application())
        await stage.until_state(State.RESOURCE_RELEASED)
        await stage.until_no_child_is_left()


async def test_what_an_application_leaves_is_not_there_any_more_when_the_next_of_its_name_can_come(
    stage: Stage,
) -> None:
    async with controlling(stage.client, stage.namespace):
        await end(stage)
        await leave(stage.client, stage.namespace, FIRST, labels=LABELS)
        await stage.delete()
        await until_gone(stage)
        assert await stage.names(CONFIG_MAPS) == []


async def test_an_application_goes_no_sooner_than_what_it_leaves(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    async with controlling(stage.client, stage.namespace):
        await end(stage)
        await leave(stage.client, stage.namespace, FIRST, labels=LABELS, finalizers=["test/held"])
        await stage.delete()

        async def waits() -> bool:
            return "is not gone yet" in caplog.text

        await stage.until_true(waits)
        assert await stage.until(lambda seen: seen is not None)
        await stage.client.patch(CONFIG_MAPS, FIRST, stage.namespace, {"metadata": {"finalizers": None}})
        await until_gone(stage)


async def test_what_is_not_the_applications_stays(stage: Stage) -> None:
    async with controlling(stage.client, stage.namespace):
        await end(stage)
        await leave(stage.client, stage.namespace, FIRST)
        await stage.delete()
        await until_gone(stage)
        assert await stage.names(CONFIG_MAPS) == [FIRST]


async def test_a_right_that_is_missing_keeps_no_application(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    refused = FaultyClient(stage.client, ("get",), 1, fault(Forbidden, 403), after=False, for_good=False)
    async with controlling(stage.client, stage.namespace):
        await end(stage)
    async with controlling(refused, stage.namespace):  # type: ignore[arg-type]
        await stage.delete()
        await until_gone(stage)
    assert refused.has_struck
    assert f"ConfigMap {stage.namespace}/{FIRST} is left over is not known" in caplog.text


async def test_an_attempt_waits_until_what_bears_its_names_is_gone(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    """As of a driver that had the id which the user has fixed, and that the user has deleted."""
    caplog.set_level("INFO")
    restart = {"restartPolicy": "Always", "maxRestartAttempts": 1, "restartBackoffMillis": 1}
    await leave(stage.client, stage.namespace, SECOND, labels=LABELS, ownerReferences=[await anybody(stage)])
    async with controlling(stage.client, stage.namespace), playing(stage, "failed", "run"):
        await stage.submit(application(restart=restart))

        async def waits() -> bool:
            return f"ConfigMap {stage.namespace}/{SECOND} of an earlier attempt is not gone yet" in caplog.text

        await stage.until_true(waits)
        assert await stage.names(PODS) == []
        await stage.client.delete(CONFIG_MAPS, SECOND, stage.namespace)
        await stage.until_state(State.RUNNING_HEALTHY)
    assert list(stage.drivers) == ["pi-0-driver", "pi-1-driver"]


async def anybody(stage: Stage) -> JsonObject:
    """A reference to an owner that is not the application."""
    document = {"metadata": {"name": "anybody"}, "data": {}}
    created = await stage.client.create(CONFIG_MAPS, document, stage.namespace)
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": "anybody", "uid": created["metadata"]["uid"]}
