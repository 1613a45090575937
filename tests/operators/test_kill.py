"""What a worker that is told to stop does with its application."""

import logging
import threading

import pytest

from airflow_provider_spark_operator.follow.stamp import TaskStamp
from airflow_provider_spark_operator.kube.connection import ClusterAccess
from airflow_provider_spark_operator.kube.resources import SPARK_APPLICATIONS
from airflow_provider_spark_operator.operators import kill
from airflow_provider_spark_operator.operators.kill import Engagement
from airflow_provider_spark_operator.triggers import task_instance
from airflow_provider_spark_operator.triggers.task_instance import Fate

STAMP = TaskStamp("dag", "task", "run", -1, 1, "id-1")


@pytest.fixture
def cancelled(monkeypatch):
    """The stamps whose applications were cancelled."""
    stamps = []

    async def cancel(self):
        stamps.append(self.stamp)
        return {}

    monkeypatch.setattr(Engagement, "_cancel", cancel)
    return stamps


@pytest.fixture
def engagement():
    return Engagement(ClusterAccess(), STAMP, "jobs", SPARK_APPLICATIONS)


def answer(monkeypatch, fate):
    monkeypatch.setattr(task_instance, "fate", fate)


def test_a_killed_task_cancels_its_application(monkeypatch, engagement, cancelled):
    answer(monkeypatch, lambda stamp: Fate.KILLED)
    engagement.stop()
    assert cancelled == [STAMP]
    assert engagement.stop_requested


def test_a_drained_worker_leaves_the_application_to_the_next_try(monkeypatch, engagement, cancelled, caplog):
    answer(monkeypatch, lambda stamp: Fate.MOVED)
    with caplog.at_level(logging.INFO):
        engagement.stop()
    assert cancelled == []
    assert "its next try takes the application over" in caplog.text


def test_without_an_answer_of_airflow_nothing_is_cancelled(monkeypatch, engagement, cancelled, caplog):
    def refuse(stamp):
        raise LookupError("no such route")

    answer(monkeypatch, refuse)
    engagement.stop()
    assert cancelled == []
    assert "could not be cancelled and may still run: Airflow did not tell the task's state: no such" in caplog.text


def test_an_answer_that_does_not_come_is_not_waited_for(monkeypatch, engagement, cancelled, caplog):
    release = threading.Event()
    monkeypatch.setattr(kill, "_FATE_SECONDS", 0.01)
    answer(monkeypatch, lambda stamp: release.wait(60))
    engagement.stop()
    release.set()
    assert cancelled == []
    assert "may still run" in caplog.text


def test_a_cluster_that_does_not_answer_is_reported(monkeypatch, engagement, tmp_path, caplog):
    answer(monkeypatch, lambda stamp: Fate.KILLED)
    engagement.access = ClusterAccess(kubeconfig=tmp_path / "none")
    engagement.stop()
    assert f"kubeconfig {tmp_path / 'none'} does not exist" in caplog.text
