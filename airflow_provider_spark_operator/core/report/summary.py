"""The summary of an application: what a list shows in one row."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from ..dialects.dialect import dialect_of, read_progress
from ..dialects.progress import Phase, Progress, find_last_stop
from ..kubernetes import names, pods
from ..kubernetes.json_object import KubernetesObject
from ..kubernetes.times import read_time
from ..lifecycle.executor_obstacles import name_executor_obstacle
from ..verdict.driver_facts import add_driver_facts, confirm_end, read_creation
from ..verdict.holds import find_held_application, get_queue
from ..verdict.obstacles import find_missing_status, name_driver_obstacle
from ..verdict.verdict import Verdict, judge_progress
from .executors import ExecutorNumbers, count_executors, select_executors, select_pods

NO_CONTROLLER: Final = "no controller"
"""The obstacle of an application whose controller does not run."""
_NOTHING: Final = timedelta()


@dataclass(frozen=True)
class TaskOrigin:
    """The task of Airflow that submitted an application. Values come from annotations, which anybody may write.

    Attributes:
        dag_id: The id of the DAG.
        task_id: The id of the task.
        run_id: The id of the run. Empty if unknown.
        map_index: The index of a mapped task. Empty if the task is not mapped.
        try_number: The number of the try that submitted or adopted the application. Empty if unknown.
    """

    dag_id: str
    task_id: str
    run_id: str = ""
    map_index: str = ""
    try_number: str = ""

    def __str__(self) -> str:
        """Return `<DAG>/<task>`, with the index of a mapped task in brackets."""
        mapped = f"[{self.map_index}]" if self.map_index else ""
        return f"{self.dag_id}/{self.task_id}{mapped}"


@dataclass(frozen=True)
class ApplicationSummary:
    """The summary of an application.

    Attributes:
        name: Its name.
        namespace: Its namespace.
        api_version: The apiVersion of the resource.
        state: The current state in the words of the dialect, also if this package does not know it.
        progress: Its progress according to the status, its driver pods and Events.
        verdict: The outcome, the kind of a failure, its reason and what to do.
        attempts: The number of attempts so far. 0 if the application is held and has never started.
        executors: The executors of the latest attempt.
        created: When it was created. None if unknown.
        ended: When it ended. None if it has not ended, or if the time is unknown.
        age: Time since it was created. None if unknown.
        duration: Time from its creation to its end, or to now. None if unknown.
        task: The task of Airflow that submitted it. None if no task did.
        is_suspended: Whether it is requested to be suspended, and has not ended.
        is_held: Whether `spec.suspend` or a queue of Kueue may hold it before its driver is requested.
        queue: The queue of Kueue in its labels. Empty if there is none.
        is_deleting: Whether its deletion has been requested.
        obstacle: What keeps it from running, or which other state its operator reports while a driver runs, in one or
            two words. Empty if nothing is known.
    """

    name: str
    namespace: str
    api_version: str
    state: str
    progress: Progress
    verdict: Verdict
    attempts: int
    executors: ExecutorNumbers
    created: datetime | None
    ended: datetime | None
    age: timedelta | None
    duration: timedelta | None
    task: TaskOrigin | None
    is_suspended: bool
    is_held: bool
    queue: str
    is_deleting: bool
    obstacle: str


def summarize(
    resource: KubernetesObject,
    now: datetime,
    all_pods: Sequence[KubernetesObject] | None = None,
    events: Collection[KubernetesObject] = (),
    *,
    controller_lost: bool = False,
) -> ApplicationSummary:
    """Summarize an application of any dialect. Never raises on a malformed document.

    Args:
        resource: The application as the API returns it.
        now: The current time, with an offset.
        all_pods: Pods, among them those of the application. None if they were not read. The end of an application is
            unknown then if its operator did not read it from a driver.
        events: Events of its namespace, among them those about the driver pod.
        controller_lost: Whether the controller that manages the application does not run.
    """
    dialect, seen = dialect_of(resource.get("apiVersion")), _read_judged_progress(resource, all_pods, events)
    metadata = pods.get_object(resource.get("metadata"))
    created, ended = read_time(metadata.get("creationTimestamp")), find_end(seen)
    until = ended if has_ended(seen) else now
    is_held = find_held_application(seen, resource) is not None and seen.suspended_by is None
    return ApplicationSummary(
        name=pods.get_text(metadata.get("name")),
        namespace=pods.get_text(metadata.get("namespace")),
        api_version=pods.get_text(resource.get("apiVersion")),
        state=seen.state,
        progress=seen,
        verdict=judge_progress(seen),
        attempts=seen.attempt + 1 if seen.attempt or not is_held else 0,
        executors=count_executors(resource, seen, all_pods),
        created=created,
        ended=ended,
        age=max(now - created, _NOTHING) if created else None,
        duration=max(until - created, _NOTHING) if created and until else None,
        task=read_task(metadata),
        is_suspended=dialect.is_suspended(resource) and not has_ended(seen),
        is_held=is_held,
        queue=get_queue(resource),
        is_deleting=metadata.get("deletionTimestamp") is not None,
        obstacle=NO_CONTROLLER
        if controller_lost
        else ("" if is_held else _name_obstacle(resource, seen, all_pods or (), events, now)),
    )


def _read_judged_progress(
    resource: KubernetesObject, all_pods: Iterable[KubernetesObject] | None, events: Collection[KubernetesObject] = ()
) -> Progress:
    """Return the progress of an application according to its status, its driver pods and Events. See `summarize`."""
    seen = read_progress(resource)
    if all_pods is None:
        return seen
    drivers = select_pods(resource, all_pods, names.ROLE_DRIVER)
    return add_driver_facts(confirm_end(seen, resource, drivers), resource, drivers, events)


def _name_obstacle(
    resource: KubernetesObject,
    seen: Progress,
    all_pods: Sequence[KubernetesObject],
    events: Collection[KubernetesObject],
    now: datetime,
) -> str:
    if seen.phase is Phase.RUNNING and seen.driver_read:
        return f"reported {read_progress(resource).state}"
    if seen.phase is Phase.RUNNING:
        return name_executor_obstacle(select_executors(resource, all_pods, seen.application_id))
    if seen.phase is not Phase.WAITING:
        return ""
    drivers = select_pods(resource, all_pods, names.ROLE_DRIVER)
    if drivers:
        return name_driver_obstacle(max(drivers, key=read_creation), events)
    missing = find_missing_status(resource, now)
    return missing.name if missing else ""


def has_ended(seen: Progress) -> bool:
    """Return whether the application has ended, or its driver has and no other attempt follows."""
    return seen.phase is Phase.ENDED or (seen.phase is Phase.STOPPING and not seen.restart_pending)


def find_end(seen: Progress) -> datetime | None:
    """Return when the application ended: when its last driver did, or its cancellation. None if it has not ended."""
    if not has_ended(seen):
        return None
    stop = find_last_stop(seen.history)
    return stop.time if stop else seen.since


def read_task(metadata: Mapping[str, object]) -> TaskOrigin | None:
    """Return the task in the annotations of an application; None if there is none."""
    notes = pods.get_object(metadata.get("annotations"))
    dag, task = (pods.get_text(notes.get(key)) for key in (names.ANNOTATION_DAG_ID, names.ANNOTATION_TASK_ID))
    if not (dag and task):
        return None
    index = pods.get_text(notes.get(names.ANNOTATION_MAP_INDEX))
    return TaskOrigin(
        dag_id=dag,
        task_id=task,
        run_id=pods.get_text(notes.get(names.ANNOTATION_RUN_ID)),
        map_index="" if index == "-1" else index,
        try_number=pods.get_text(notes.get(names.ANNOTATION_TRY_NUMBER)),
    )
