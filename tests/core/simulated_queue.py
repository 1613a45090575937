"""A simulated Kueue for one application: its Workload, which a test admits, evicts and deletes."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from airflow_provider_spark_operator.core.driver.configuration.configuration import DriverBuildError
from airflow_provider_spark_operator.core.kubernetes import pods
from airflow_provider_spark_operator.core.kubernetes.times import to_duration
from airflow_provider_spark_operator.core.kueue import state
from airflow_provider_spark_operator.core.kueue.admission import Admitted, Backoff, Pending, Stale, read_admission
from airflow_provider_spark_operator.core.kueue.application_pods import build_application_pod_sets
from airflow_provider_spark_operator.core.kueue.steps import (
    RETRY_INTERVAL,
    GiveBackQuota,
    Granted,
    Keep,
    MarkFinished,
    MarkPodsReady,
    QueueAction,
    QueueAnswer,
    QueueObservation,
    ReleaseQuota,
    RequestAdmission,
    Unsuitable,
    Waiting,
    choose_requeue,
)
from airflow_provider_spark_operator.core.kueue.workload import WantedWorkload
from airflow_provider_spark_operator.core.models.application import SparkApplication
from tests.core.kueue.workloads import QUEUE, build_condition

OPERATOR = "spark-kubernetes-operator"


class SimulatedQueue:
    """The Workload of one application.

    Attributes:
        workload: The Workload, or None if it does not exist.
        requests: The number of Workloads that were created.
    """

    def __init__(self) -> None:
        self.workload: dict[str, Any] | None = None
        self.requests = 0

    def admit(self) -> None:
        """Admit the Workload, if it waits."""
        if self.workload is not None and state.is_active(self.workload):
            self._write(build_condition("QuotaReserved"), build_condition("Admitted"))

    def evict(self, requeue_at: datetime | None = None) -> None:
        """Evict the Workload, if it is admitted. The Workload keeps its quota."""
        if self.workload is None or not state.is_true(self.workload, state.ADMITTED):
            return
        evicted = build_condition("Evicted", reason="Preempted", message="for another Workload")
        self._write(build_condition("QuotaReserved"), build_condition("Admitted"), evicted)
        if requeue_at is not None:
            self.workload["status"]["requeueState"] = {"requeueAt": requeue_at.isoformat()}

    def set_active(self, active: bool) -> None:
        """Deactivate the Workload, which evicts it, or activate it again."""
        if self.workload is not None:
            self.workload["spec"]["active"] = active
            if not active:
                self.evict()

    def request_deactivation(self) -> None:
        """Deactivate the Workload, which Kueue has not evicted yet."""
        if self.workload is not None:
            self.workload["spec"]["active"] = False

    def delete(self) -> None:
        """Delete the Workload, as a user does."""
        self.workload = None

    @property
    def holds_quota(self) -> bool:
        """Return whether the Workload uses quota."""
        finished = self.workload is not None and state.is_true(self.workload, state.FINISHED)
        return self.workload is not None and state.holds_quota(self.workload) and not finished

    def delays_requeue(self, now: datetime) -> bool:
        """Return whether an evicted application must wait before it is queued again."""
        return isinstance(choose_requeue(self.workload, now), Keep)

    def check_admission(self, application: SparkApplication) -> None:
        """Fail if a driver is created without an admission that is in force."""
        if QUEUE not in (application.metadata.get("labels") or {}).values():
            return
        workload = self._get()
        assert state.is_true(workload, state.ADMITTED), "no quota for the driver"
        assert state.is_active(workload), "the Workload of the driver is deactivated"
        assert state.describe_eviction(workload) is None, "the Workload of the driver is evicted"

    def observe(self, application: SparkApplication) -> QueueObservation:
        labels = application.metadata.get("labels") or {}
        return QueueObservation(labels.get("kueue.x-k8s.io/queue-name"), self.workload)

    def apply(
        self, action: QueueAction, application: SparkApplication, now: datetime, members: Sequence[dict[str, Any]]
    ) -> QueueObservation | None:
        observed = self.observe(application)
        match action:
            case RequestAdmission(is_started):
                answer = Granted() if is_started or observed.queue is None else self._ask(application, now, members)
                return QueueObservation(observed.queue, self.workload, answer)
            case ReleaseQuota():
                self._check_release(application, now, members)
                self.workload = None
                return QueueObservation(observed.queue, is_released=True)
            case GiveBackQuota():
                self._check_release(application, now, members)
                self._merge(state.build_release_patch(self._get(), now))
                return QueueObservation(observed.queue, self.workload, is_released=True)
            case MarkPodsReady():
                self._merge(state.build_ready_patch(self._get(), now))
            case MarkFinished(succeeded, message) if self.workload is not None:
                self._merge(state.build_finished_patch(self._get(), succeeded=succeeded, message=message, now=now))
        return None

    def _ask(self, application: SparkApplication, now: datetime, members: Sequence[dict[str, Any]]) -> QueueAnswer:
        try:
            pod_sets = build_application_pod_sets(application, OPERATOR)
        except DriverBuildError as error:
            return Unsuitable(str(error))
        wanted = WantedWorkload(application, QUEUE, pod_sets)
        if self.workload is None:
            self.requests += 1
            self.workload = wanted.to_document()
            self._write()
            return Waiting("created")
        match read_admission(self.workload, wanted, now):
            case Admitted():
                return Granted()
            case Pending(message):
                return Waiting(message)
            case Backoff(message, until):
                return Waiting(message, after=until - now)
            case Stale(message):
                if not members:
                    self.workload = None
                return Waiting(message, after=RETRY_INTERVAL)

    def _check_release(self, application: SparkApplication, now: datetime, members: Sequence[dict[str, Any]]) -> None:
        """Fail if quota is released while pods use it, unless they exceeded the time to terminate.

        The time counts from the state, or from the deletion of the pod. The clock can be set back between these events.
        """
        if not self.holds_quota or not application.status:
            return
        timeouts = application.spec.application_tolerations.application_timeout_config
        grace = to_duration(timeouts.force_termination_grace_period_millis)
        began = application.status.current_state.last_transition_time
        if grace <= timedelta(0):
            return
        for pod in members:
            deadline = pods.read_deletion_deadline(pod)
            is_late = now >= began + grace or (deadline is not None and now >= deadline + grace)
            assert is_late or pods.has_ended(pod), "quota is released while a pod lives"

    def _write(self, *conditions: dict[str, str]) -> None:
        self._get()["status"] = {"conditions": list(conditions)}

    def _merge(self, patch: dict[str, Any]) -> None:
        self._get()["status"] |= patch["status"]

    def _get(self) -> dict[str, Any]:
        assert self.workload is not None, "the Workload does not exist"
        return self.workload
