from typing import Any

from airflow_provider_spark_operator.cli.views.pod_census import PodCensus
from airflow_provider_spark_operator.core.kubernetes.names import LABEL_APPLICATION_NAME, LABEL_ROLE
from airflow_provider_spark_operator.kube.collection import ObjectList
from airflow_provider_spark_operator.kube.resources import EVENTS


def build_driver(namespace: str, application: str) -> dict[str, Any]:
    labels = {LABEL_ROLE: "driver", LABEL_APPLICATION_NAME: application}
    name = f"{application}-0-driver"
    metadata = {"name": name, "namespace": namespace, "uid": f"{namespace}/{name}", "labels": labels}
    return {"metadata": metadata, "status": {"phase": "Pending"}}


def build_warning(driver: dict[str, Any]) -> dict[str, Any]:
    metadata = driver["metadata"]
    subject = {"kind": "Pod", "name": metadata["name"], "uid": metadata["uid"]}
    return {"metadata": {"namespace": metadata["namespace"]}, "involvedObject": subject, "type": "Warning"}


def build_requested(namespace: str, name: str) -> dict[str, Any]:
    return {
        "apiVersion": "spark.apache.org/v1",
        "kind": "SparkApplication",
        "metadata": {"namespace": namespace, "name": name},
        "status": {"currentState": {"currentStateSummary": "DriverRequested"}},
    }


DRIVERS = [build_driver(namespace, name) for namespace in ("jobs", "tests") for name in ("pi", "report")]


class Client:
    async def list(self, resource: object, *_: object, **__: object) -> ObjectList:
        return ObjectList(list(map(build_warning, DRIVERS)) if resource is EVENTS else DRIVERS, "1")


async def test_application_gets_only_its_own_pods_and_events() -> None:
    census = PodCensus(Client(), None)  # type: ignore[arg-type]
    application = build_requested("jobs", "pi")
    assert census.get_pods(application) is None
    await census.read([application])
    assert census.get_pods(application) == [DRIVERS[0]]
    assert census.get_events(application) == [build_warning(DRIVERS[0])]
    assert census.get_pods(build_requested("jobs", "other")) == []
    assert census.get_events(build_requested("jobs", "other")) == []
