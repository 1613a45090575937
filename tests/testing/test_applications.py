"""The applications of a scripted cluster."""

import threading
from typing import Any

import pytest

from airflow_provider_spark_operator.core.dialects.apache import Apache
from airflow_provider_spark_operator.core.report.pod_spans import read_pod
from airflow_provider_spark_operator.follow.access.reference import ApplicationReference
from airflow_provider_spark_operator.links.link_target import build_link_target
from airflow_provider_spark_operator.testing.applications import Application
from airflow_provider_spark_operator.testing.cluster import DEADLINE, logger
from local_kubernetes.api.kinds.kinds import PODS
from tests.cluster import Cluster, run_on, stay_submitted
from tests.task import call_when_logged


@pytest.mark.parametrize("conf", [{}, {"spark.app.id": "report"}, {"spark.kubernetes.driver.pod.name": "mine"}])
def test_driver_pod_has_the_name_in_the_links(cluster: Cluster, conf: dict[str, Any]) -> None:
    names = []

    async def start(application: Application) -> None:
        application.document["spec"]["sparkConf"] = conf
        again = type(application)(cluster.resources, application.document)
        again.start_driver()
        names.append(again.driver)

    cluster.script = stay_submitted
    metadata = cluster.create("pi")["metadata"]
    cluster.play(start)
    document = {"apiVersion": "spark.apache.org/v1", "spec": {"sparkConf": conf}}
    assert names == [build_link_target(document, ApplicationReference.of({"metadata": metadata})).driver_pod]


def test_second_application_of_a_name_has_its_own_driver_log(cluster: Cluster) -> None:
    logs = []

    async def write(application: Application) -> None:
        application.log.write(application.uid)
        logs.append(len(application.log.lines))

    cluster.script = stay_submitted
    for _ in range(2):
        cluster.create("pi")
        cluster.play(write)
        cluster.delete("pi")
    assert logs == [1, 1]


def test_pods_have_a_start_and_an_end(cluster: Cluster) -> None:
    ended = []

    async def run(application: Application) -> None:
        application.start(1)
        application.end_executor(0, exit_code=1, reason="Error")
        application.end_driver(0)
        ended.extend(cluster.store.objects.list(PODS, application.namespace)[0])

    cluster.script = stay_submitted
    cluster.create("pi")
    cluster.play(run)
    assert [bool(span.begin and span.end and span.end >= span.begin) for span in map(read_pod, ended)] == [True, True]


def test_application_runs_although_driver_pod_of_earlier_application_of_the_name_exists(cluster: Cluster) -> None:
    cluster.script = run_on
    cluster.create("again")
    cluster.wait_for_state("RunningHealthy")
    cluster.delete("again")
    cluster.create("again")
    cluster.wait_for_state("RunningHealthy")
    assert cluster.application("again")["status"]["currentState"]["currentStateSummary"] == "RunningHealthy"


def test_cluster_of_a_dialect_without_a_life_names_the_dialect() -> None:
    class Example(Apache):
        group = "example.com"

    with pytest.raises(ValueError, match=r"^ScriptedCluster does not support SparkApplications of example\.com\. Use "):
        Cluster(dialect=Example())


def test_exception_of_a_script_is_logged_at_once_and_raised_at_the_end() -> None:
    async def divide(application: Application) -> None:
        assert application.attempt / 0

    cluster, logged = Cluster(), threading.Event()
    cluster.script = divide

    def run() -> None:
        with call_when_logged("the script of pi failed", logged.set, logger), cluster.serve():
            cluster.create("pi")
            assert logged.wait(DEADLINE)

    with pytest.raises(ZeroDivisionError):
        run()
