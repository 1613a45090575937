from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from airflow_provider_spark_operator.core.kueue.steps import (
    GiveBackQuota,
    Granted,
    QueueObservation,
    QueueStep,
    ReleaseQuota,
    RequestAdmission,
    Unsuitable,
    Waiting,
    choose_admission_step,
    choose_release_step,
    choose_requeue_step,
    find_eviction,
)
from airflow_provider_spark_operator.core.states import reasons
from tests.builders import NOW
from tests.core.kueue.workloads import ADMITTED, EVICTED, QUEUE, build_workload

LATER = (NOW + timedelta(seconds=40)).isoformat()


def queue(*conditions: dict[str, str], **modifiers: Any) -> QueueObservation:
    return QueueObservation(QUEUE, build_workload(None, *conditions, **modifiers))


@pytest.mark.parametrize("observation", [None, QueueObservation()], ids=["without Kueue", "without a queue"])
def test_resource_outside_of_queues_needs_no_step(observation: QueueObservation | None) -> None:
    assert choose_admission_step(observation, is_started=False) is None
    assert choose_release_step(observation) is None
    assert choose_requeue_step(observation, NOW) is None
    assert find_eviction(observation) is None


@pytest.mark.parametrize("is_started", [True, False])
def test_resource_in_a_queue_asks_before_its_pods_are_created(is_started: bool) -> None:
    step = choose_admission_step(QueueObservation(QUEUE), is_started=is_started)
    assert isinstance(step, QueueStep)
    assert step.actions == (RequestAdmission(is_started),)


def test_resource_whose_label_was_removed_asks_for_its_workload() -> None:
    step = choose_admission_step(QueueObservation(None, build_workload()), is_started=False)
    assert isinstance(step, QueueStep)
    assert step.actions == (RequestAdmission(),)


def test_answer_decides_the_next_step() -> None:
    def answer(given: Granted | Waiting | Unsuitable) -> object:
        return choose_admission_step(QueueObservation(QUEUE, answer=given), is_started=False)

    refused = Unsuitable("spec.x: is missing")
    assert answer(Granted()) is None
    assert answer(refused) == refused
    assert answer(Waiting("Full.")) == QueueStep(reasons.KUEUE_ADMISSION_PENDING, "Full.")


def test_quota_is_released_once_in_a_pass() -> None:
    step = choose_release_step(QueueObservation(QUEUE))
    assert step is not None
    assert step.actions == (ReleaseQuota(),)
    assert choose_release_step(QueueObservation(QUEUE, is_released=True)) is None


def test_evicted_resource_releases_its_workload_to_be_queued_again() -> None:
    observation = queue(*ADMITTED, EVICTED)
    assert find_eviction(observation) is not None
    step = choose_requeue_step(observation, NOW)
    assert step is not None
    assert step.actions == (ReleaseQuota(is_evicted=True),)
    assert choose_requeue_step(replace(observation, workload=None, is_released=True), NOW) is None


@pytest.mark.parametrize("modifiers", [{"spec": {"active": False}}, {"requeueState": {"requeueAt": LATER}}])
def test_kept_workload_gives_its_quota_back_and_waits(modifiers: dict[str, Any]) -> None:
    step = choose_requeue_step(queue(*ADMITTED, EVICTED, **modifiers), NOW)
    assert step is not None
    assert step.actions == (GiveBackQuota(),)
    waiting = choose_requeue_step(queue(EVICTED, **modifiers), NOW)
    assert waiting is not None
    assert (waiting.reason, waiting.actions) == (reasons.KUEUE_ADMISSION_PENDING, ())
    assert waiting.after is not None
    assert waiting.after > timedelta(0)
