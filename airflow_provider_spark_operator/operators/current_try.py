"""One try of a task, and what happens to its resources if it fails or its worker must stop."""

import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from airflow.sdk import Context

from ..airflow_compat import KEEPS_DEFERRALS, AirflowTaskTimeout, TaskDeferred
from ..core.dialects.dialect import read_progress
from ..core.dialects.progress import Phase
from ..core.kubernetes.json_object import JsonObject
from ..exceptions import SparkApplicationError, SparkApplicationTimedOut
from ..follow.access.outage_tolerance import retry
from ..follow.access.reference import ApplicationReference, resource_of
from ..follow.access.versions import choose_served_version
from ..follow.submission.adoption import list_applications
from ..follow.submission.cancel import CancelOutcome, cancel_try, describe_outcome
from ..follow.submission.stamp import TaskStamp
from ..hooks.connection import read_access
from ..hooks.loop import CANCEL_SECONDS, LoopThread
from ..hooks.task_stamp import stamp_of
from ..kube.client import KubeClient
from ..kube.connection import ClusterAccess, open_client
from ..kube.errors import describe_error
from ..kube.resources import SPARK_APPLICATIONS, ResourceType
from ..triggers.task_instance import Fate, read_fate
from .resource_operator import ResourceOperator
from .retries import is_retried

logger = logging.getLogger(__name__)

TRIGGER_FAILED = "because the trigger failed (see the log of the triggerer)"
"""Why a deferral ended without an event."""

# Airflow kills the process of a task 5 s after the signal. A drained worker has more time.
_FATE_SECONDS = 3.0
# Without a pending signal there is time to tolerate an outage, so that no application is left behind.
LONG_CANCEL_SECONDS = 300.0
# The time for the last attempt to end by itself and report its error.
_GRACE_SECONDS = 2.0


@dataclass
class TaskTry:
    """One try of a task, and the resources that it submits: they carry its stamp, so their names need not be known.

    Attributes:
        task: The task.
        context: The context of the task.
        access: Access to the cluster. It is read in advance, because Airflow may not answer in a signal handler.
        stamp: The try that submits.
        namespace: Namespace of the resources. If None, the namespace of the connection is used.
        resource: Kind of the resources.
        stop_requested: Whether a signal has arrived. Resources that are submitted later must then be deleted as well.
        may_run: Whether this try may have a resource that has not ended.
        has_deleted: Whether `cancel` has deleted a resource.
        problem: Why `access` cannot be used; None if it can be used.
    """

    task: ResourceOperator
    context: Context
    access: ClusterAccess
    stamp: TaskStamp
    namespace: str | None
    resource: ResourceType
    stop_requested: bool = False
    may_run: bool = False
    has_deleted: bool = False
    problem: Exception | None = None

    async def open_client(self) -> KubeClient:
        """Return a client of the cluster, to be used as a context manager.

        Raises:
            Exception: The connection cannot be used, for the reason in `problem`.
        """
        if self.problem is not None:
            raise self.problem
        return await open_client(self.access)

    @contextmanager
    def release_if_failed(self) -> Iterator[None]:
        """If the block fails, release the resources that it has submitted, and log what happens to them.

        A deferral is not a failure. The caller handles a timeout.
        """
        try:
            yield
        except (AirflowTaskTimeout, TaskDeferred):
            raise
        except BaseException as error:
            if self.may_run and not self.stop_requested:
                outcome = self.release(retried=self._is_retried(error))
                logger.warning("the task failed after the submission of its %s; %s", self.resource.kind, outcome)
            raise

    def give_up(self, sentence: str) -> SparkApplicationError:
        """Release the resource that could not be followed to its end, and return the exception for the task.

        Args:
            sentence: Why the resource could not be followed.
        """
        outcome = self.release(retried=self._is_retried(SparkApplicationError(sentence)))
        return SparkApplicationError(f"{sentence.rstrip('.')}; {outcome}")

    def time_out(self, sentence: str, limit: str = "execution_timeout") -> SparkApplicationTimedOut:
        """Delete the resource of a task that timed out, and return the exception for the task.

        Args:
            sentence: What did not happen in time.
            limit: The parameter of the task that has the limit.
        """
        sentence = f"{sentence} within the task's {limit} of {getattr(self.task, limit)}"
        return SparkApplicationTimedOut(f"{sentence}; {self.release()}")

    def release(self, *, retried: bool = False) -> str:
        """Delete the resources of a try that fails before their end. Return what happens to them. Never raises.

        Args:
            retried: Whether another try follows, which adopts the resources. They are then not deleted.
        """
        if retried:
            return "it may still be running, and a retry adopts it"
        if not self.task.delete_on_kill:
            return "it keeps running because delete_on_kill=False"
        try:
            return describe_cancellation(self.cancel(LONG_CANCEL_SECONDS))
        except Exception as error:
            # The task fails for its own reason. The message adds that the resource may still exist.
            return f"could not delete it, so it may still be running: {str(error) or type(error).__name__}"

    def stop(self) -> None:
        """Delete the resources, unless the task only moves to another worker. Never raises; returns within 25 s.

        It runs in a signal handler, which may have interrupted any code, so all work is done on other threads.
        """
        self.stop_requested = True
        try:
            if not _is_killed(self.stamp):
                follows = (
                    "the next try of the task adopts the application"
                    if self.stamp.has_retry_left
                    else "the task has no retry left, and the application may still be running"
                )
                logger.info("the worker was stopped; %s", follows)
                return
            self.cancel()
        except Exception as error:
            # Airflow discards exceptions of a signal handler, and with them the reason why the application still runs.
            cause = describe_error(error, CANCEL_SECONDS)
            logger.warning("could not delete the resources of this task; its program may still be running: %s", cause)

    def describe_timeout(
        self, goal: str = "the end of", noun: str = "the application", reporter: str = "no triggerer reported"
    ) -> str:
        """Return the sentence for a task that did not learn in time that its resource reached its goal.

        Args:
            goal: The goal of the resource, before its name.
            noun: What the resource is called if it cannot be read.
            reporter: What did not report the goal, with its verb.
        """
        try:
            with LoopThread() as loop:
                found = loop.run(self._read_states(), timeout=CANCEL_SECONDS)
        except Exception as error:
            # The cancellation that follows has the same problem and raises it.
            logger.warning("could not read the state of %s: %s", noun, str(error) or "the API did not answer")
            found = {}
        named = [f"{reference} ({state})" for reference, state in found.items()]
        return f"{reporter} {goal} {', '.join(named) or noun}"

    def has_resource(self) -> bool:
        """Return whether a resource with the stamp of this try exists. True if it cannot be read."""
        try:
            with LoopThread() as loop:
                return any(map(self.stamp.is_try_of, loop.run(self._list_own(), timeout=CANCEL_SECONDS)[1]))
        except Exception as error:
            logger.warning("could not read the %ss of this task: %s", self.resource.kind, error)
            return True

    def _is_retried(self, error: BaseException) -> bool:
        return is_retried(error, self.task.retry_policy, self.context)

    async def _read_states(self) -> Mapping[ApplicationReference, str]:
        resource, own = await self._list_own()
        # Only running applications of earlier tries belong to the sentence.
        return {
            ApplicationReference.of(one, resource): state
            for one, state, ended in ((one, *_read_state(one)) for one in own)
            if self.stamp.is_try_of(one) or not ended
        }

    async def _list_own(self) -> tuple[ResourceType, list[JsonObject]]:
        """Return the kind in a version that the cluster serves, and the resources of all tries of the task."""
        async with await self.open_client() as client:
            resource = await choose_served_version(client, self.resource)
            namespace = self.namespace or client.default_namespace
            return resource, await list_applications(client, resource, namespace, self.stamp)

    def cancel(self, seconds: float | None = None) -> Mapping[ApplicationReference, CancelOutcome]:
        """Delete the resources of this try that have not ended, and return what happened to each.

        Args:
            seconds: How long to retry while the API server is not available; by default as in a signal handler.

        Raises:
            KubeError: The API server rejected the request or is not available.
            ConfigurationError: The access to the cluster is not valid.
            TimeoutError: The deletion took too long.
        """
        limit = CANCEL_SECONDS if seconds is None else seconds
        with LoopThread() as loop:
            outcomes = loop.run(self._cancel(limit - _GRACE_SECONDS), timeout=limit)
        self.has_deleted = CancelOutcome.DELETED in outcomes.values()
        for reference, outcome in outcomes.items():
            logger.info("%s", describe_outcome(outcome, reference))
        return outcomes

    async def _cancel(self, seconds: float) -> Mapping[ApplicationReference, CancelOutcome]:
        # Credential files are read again, but not the connection: Airflow may not answer in a signal handler.
        task_try = replace(self, access=replace(self.access, reread=None))

        async def attempt() -> Mapping[ApplicationReference, CancelOutcome]:
            async with await task_try.open_client() as client:
                return await cancel_try(client, self.stamp, self.namespace, self.resource)

        return await retry(attempt, "deletion of the resources of this task", logger.log, seconds=seconds)


def begin_try(
    task: ResourceOperator,
    context: Context,
    namespace: str | None,
    api_version: object,
    kind: ResourceType = SPARK_APPLICATIONS,
    *,
    resumed: bool = False,
) -> TaskTry:
    """Return the current try of a task.

    Args:
        task: The task. Its connection is read now, because it cannot be read in a signal handler.
        context: The context of the task.
        namespace: Namespace of the resources. If None, the namespace of the connection is used.
        api_version: apiVersion of the resources. If None, the default is used.
        kind: Kind of the resources.
        resumed: Whether the resources were followed to their end already. A connection that cannot be used is then
            `problem`, because it does not change the outcome.

    Raises:
        AirflowNotFoundException: The connection does not exist.
        AirflowFailException: The connection is contradictory.
    """
    access, problem = ClusterAccess(), None
    try:
        access = read_access(task.kubernetes_conn_id)
    except Exception as error:
        if not resumed:
            raise
        problem = error
    resource = resource_of(str(api_version or ""), kind)
    return TaskTry(task, context, access, stamp_of(context["ti"]), namespace, resource, problem=problem)


def is_deferral_of_earlier_try(task_try: TaskTry) -> bool:
    """Return whether Airflow resumes a try as the failed try before it. The current try has then submitted nothing.

    Args:
        task_try: The current try.
    """
    return KEEPS_DEFERRALS and task_try.stamp.try_number > 1 and not task_try.has_resource()


def describe_cancellation(outcomes: Mapping[ApplicationReference, CancelOutcome]) -> str:
    """Return what happened to the application. If there are several applications, return the most important outcome."""
    words = {
        CancelOutcome.DELETED: "it was deleted",
        CancelOutcome.NOT_OURS: "another try has adopted it, so it keeps running",
        CancelOutcome.ENDED: "it ended in the meantime, so it was not deleted",
    }
    found = set(outcomes.values())
    return next((sentence for outcome, sentence in words.items() if outcome in found), "there was nothing to delete")


def _read_state(resource: JsonObject) -> tuple[str, bool]:
    """Return the state of a resource, and whether it has ended."""
    seen = read_progress(resource)
    return seen.state, seen.phase is Phase.ENDED and not seen.has_unread_end


def _is_killed(stamp: TaskStamp) -> bool:
    """Return whether a user has stopped the task.

    Another thread asks Airflow, because the interrupted main thread may hold the lock of the connection to Airflow.
    """
    answer: list[Fate | BaseException] = []

    def ask() -> None:
        try:
            answer.append(read_fate(stamp))
        except BaseException as error:  # Airflow's DeadlockImminentError is not an Exception
            answer.append(error)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(_FATE_SECONDS)
    if not answer:
        raise TimeoutError(f"Airflow did not report the state of the task within {_FATE_SECONDS:.0f} s")
    if isinstance(answer[0], BaseException):
        raise RuntimeError(f"Airflow did not report the state of the task: {answer[0]}")
    return answer[0] is Fate.KILLED
