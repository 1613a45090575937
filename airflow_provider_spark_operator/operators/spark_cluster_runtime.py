"""The runtime of the operators of a SparkCluster: create, adopt, wait, cancel, delete.

DAG files do not import this module: it loads the Kubernetes client.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow.sdk import Context

from ..airflow_compat import AirflowFailException, AirflowTaskTimeout, TaskDeferralError, TaskDeferralTimeout
from ..core.compose.application import write_metadata
from ..core.compose.document import override_metadata
from ..core.kubernetes.json_object import JsonObject
from ..core.kubernetes.names import CLUSTER_IDENTITY, build_master_url
from ..core.kubernetes.problems import InvalidResource, Problem
from ..core.log.secrets import SecretPlace
from ..core.parameters.parameters import Parameters
from ..core.states import reasons
from ..core.verdict.holds import find_held_cluster
from ..exceptions import SparkApplicationError, SparkSchedulingFailed, build_cluster_deletion
from ..follow.access.pods import wait_until_gone
from ..follow.access.reference import ApplicationReference, DeletionStuck, NameTaken
from ..follow.access.requests import wait_until_deleted
from ..follow.submission.cancel import delete_shared
from ..follow.submission.document import parse
from ..follow.submission.stamp import TaskStamp
from ..follow.submission.submit import Submission
from ..hooks.connection import read_access
from ..hooks.errors import fail_if_invalid
from ..hooks.loop import LoopThread
from ..hooks.task_stamp import stamp_of
from ..kube.connection import ClusterAccess, open_client
from ..kube.errors import ConfigurationError, KubeError
from ..kube.resources import SPARK_CLUSTERS, ResourceType
from ..links.spark_cluster import CLUSTER_LINKS, build_cluster_target
from ..links.url import push_links, push_xcoms
from ..triggers.event import ApplicationEvent, EventKind
from ..triggers.lifecycle import DEFERRAL_SLACK
from ..triggers.spark_cluster import SparkClusterTrigger
from . import requests, results
from .current_try import TRIGGER_FAILED, TaskTry, begin_try, is_deferral_of_earlier_try

if TYPE_CHECKING:
    from .spark_cluster import DeleteSparkClusterOperator, SparkClusterOperator
    from .spark_connect import DeleteSparkConnectOperator

logger = logging.getLogger(__name__)

_NOUN = "cluster"
# A key of the task state store, which persists between the tries of a task.
_DELETION_KEY = "spark_cluster_deletion"


class ClusterCreation:
    """One try of a task that creates a cluster, or its continuation after a deferral.

    Args:
        task: The operator, with rendered templates.
        context: The context of the task.
    """

    def __init__(self, task: "SparkClusterOperator", context: Context) -> None:
        self._task = task
        self._context = context
        self._try: TaskTry | None = None

    def execute(self) -> str:
        """Create or adopt the cluster and wait until it is ready, here or in the triggerer.

        Raises:
            AirflowException: The cluster is not valid, could not be created, failed, or timed out.
            TaskDeferred: The triggerer waits.
        """
        with fail_if_invalid(_NOUN):
            return self._execute()

    def resume(self, payload: Mapping[str, Any]) -> str:
        """Return the name of the cluster that the trigger reports.

        Args:
            payload: The payload of the trigger's event.

        Raises:
            AirflowException: The cluster is not ready.
        """
        event = ApplicationEvent.from_payload(payload)
        return self._conclude(self._begin_try(event.namespace or None, event.api_version, resumed=True), event)

    def fail_deferral(self, error: TaskDeferralError | TaskDeferralTimeout) -> SparkApplicationError | None:
        """Return the exception for a deferral that Airflow ended before a trigger fired.

        None if an earlier try had deferred, so that this try must start anew.

        If the deferral timed out or no retry is left, delete the cluster, unless `delete_on_kill` is off.

        Args:
            error: The exception of Airflow.
        """
        document = self._read_known_document()
        task_try = self._begin_try(document["metadata"].get("namespace"), document.get("apiVersion"), resumed=True)
        if is_deferral_of_earlier_try(task_try):
            return None
        if isinstance(error, TaskDeferralTimeout):
            sentence = task_try.describe_timeout("the readiness of", "the cluster")
            return task_try.time_out(sentence, self._find_limit())
        return task_try.give_up(f"could not follow the cluster any longer, {TRIGGER_FAILED}")

    def stop(self) -> None:
        """Delete the cluster if a user has stopped the task. Runs in a signal handler and never raises."""
        if self._try is not None:
            self._try.stop()

    def _find_limits(self, document: JsonObject) -> tuple[datetime | None, float | None]:
        """Return when the wait ends, and how long it lasts without the time in a queue; None without such a limit.

        A SparkCluster that nothing can hold has one limit, which Airflow enforces even if no triggerer runs.
        """
        task, now = self._task, datetime.now(UTC)
        limit = None if task.execution_timeout is None else now + task.execution_timeout
        if find_held_cluster(document) is not None:
            return limit, task.ready_timeout.total_seconds()
        ready = now + task.ready_timeout
        return min(ready, limit or ready), None

    def _execute(self) -> str:
        task = self._task
        document = self._read_document()
        deadline, ready_seconds = self._find_limits(document)
        task_try = self._begin_try(document["metadata"].get("namespace"), document.get("apiVersion"))
        try:
            with task_try.release_if_failed(), LoopThread() as loop:
                submission = requests.submit(loop, task_try, document, _NOUN)
                self._push(submission)
                if not task.wait_until_ready:
                    requests.acknowledge(loop, task_try, submission.reference)
                    return submission.reference.name
                places = requests.find_secret_places(submission, document)
                trigger = self._create_trigger(submission, task_try, deadline, ready_seconds, places)
                if task.deferrable:
                    timeout = deadline - datetime.now(UTC) + DEFERRAL_SLACK if deadline else None
                    task.defer(trigger=trigger, method_name="execute_complete", timeout=timeout)
                push_links(CLUSTER_LINKS, task.link_target, self._context["ti"])
                event = loop.run(trigger.wait(task_try.access))
        except AirflowTaskTimeout as error:
            sentence = task_try.describe_timeout("the readiness of", "the cluster", "the task did not see")
            raise task_try.time_out(sentence) from error
        return self._conclude(task_try, event)

    def _read_document(self) -> JsonObject:
        """Return the cluster to create.

        Raises:
            AirflowFailException: The file of the document could not be read.
            InvalidResource: The document is not a SparkCluster.
        """
        task = self._task
        if task.source_error is not None:
            raise task.source_error
        document = parse(task.cluster, _NOUN)
        if document.get("kind") != CLUSTER_IDENTITY.kind:
            raise InvalidResource([Problem("kind", f"must be SparkCluster, not {document.get('kind')!r}")])
        document = override_metadata(document, name=task.name, namespace=task.namespace, identity=CLUSTER_IDENTITY)
        document = write_metadata(
            document, Parameters(kueue_queue=task.kueue_queue, kueue_priority=task.kueue_priority)
        )
        name = stamp_of(self._context["ti"]).build_cluster_name()
        return document | {"metadata": {"name": name, **document["metadata"]}}

    def _read_known_document(self) -> JsonObject:
        """Return the document, as far as it can be read when the task resumes: its file may have been deleted."""
        try:
            return self._read_document()
        except (AirflowFailException, InvalidResource):
            return {"metadata": {"namespace": self._task.namespace}}

    def _begin_try(self, namespace: str | None, api_version: object, *, resumed: bool = False) -> TaskTry:
        self._try = begin_try(self._task, self._context, namespace, api_version, SPARK_CLUSTERS, resumed=resumed)
        return self._try

    def _create_trigger(
        self,
        submission: Submission,
        task_try: TaskTry,
        deadline: datetime | None,
        ready_seconds: float | None,
        secret_places: Sequence[SecretPlace],
    ) -> SparkClusterTrigger:
        return SparkClusterTrigger(
            name=submission.reference.name,
            namespace=submission.reference.namespace,
            uid=submission.reference.uid,
            kubernetes_conn_id=self._task.kubernetes_conn_id,
            connection_required=bool(task_try.access.origin),
            api_version=submission.reference.resource.api_version,
            stamp=asdict(task_try.stamp),
            deadline=deadline.isoformat() if deadline else None,
            ready_seconds=ready_seconds,
            secret_places=secret_places,
            delete_on_kill=self._task.delete_on_kill,
        )

    def _conclude(self, task_try: TaskTry, event: ApplicationEvent) -> str:
        if event.kind is EventKind.REACHED:
            logger.info("%s", event.sentence)
            # From now on other tasks may use the cluster: it must remain if this task alone is cleared.
            with LoopThread() as loop:
                requests.acknowledge(loop, task_try, results.reference_of(event, SPARK_CLUSTERS))
            return event.name
        if event.kind is EventKind.TIMED_OUT:
            limit = "ready_timeout" if event.reason == reasons.CLUSTER_NOT_READY else self._find_limit()
            raise task_try.time_out(event.sentence, limit)
        if event.kind is EventKind.ENDED:
            raise SparkSchedulingFailed(f"{event.sentence}; {task_try.release()}")  # no teardown follows a failure
        if event.kind is EventKind.DELETED:
            raise build_cluster_deletion(event.sentence, policy=self._task.retry_policy)
        raise task_try.give_up(event.sentence)

    def _find_limit(self) -> str:
        """Return the name of the limit that ended a wait with a deadline."""
        task = self._task
        queued = find_held_cluster(self._read_known_document()) is not None
        is_shorter = task.execution_timeout is not None and (queued or task.execution_timeout < task.ready_timeout)
        return "execution_timeout" if is_shorter else "ready_timeout"

    def _push(self, submission: Submission) -> None:
        reference = submission.reference
        self._task.link_target = build_cluster_target(submission.resource, self._task.kubernetes_conn_id)
        if self._task.do_xcom_push:
            url = build_master_url(f"{reference.namespace}/{reference.name}")
            values = {"namespace": reference.namespace, "uid": reference.uid, "master_url": url}
            push_xcoms(values, self._context["ti"])


class SharedDeletion:
    """One try of a task that deletes a SparkCluster or a Spark Connect server.

    Args:
        task: The operator, with rendered templates.
        context: The context of the task.
        resource: The kind.
    """

    def __init__(
        self,
        task: "DeleteSparkClusterOperator | DeleteSparkConnectOperator",
        context: Context,
        resource: ResourceType = SPARK_CLUSTERS,
    ) -> None:
        self._task = task
        self._context = context
        self._resource = resource
        self._noun = "cluster" if resource is SPARK_CLUSTERS else "Spark Connect server"
        self._namespace = task.namespace if isinstance(task.namespace, str) else None

    def execute(self) -> None:
        """Delete the resource and wait until it no longer exists.

        Raises:
            AirflowException: The resource does not exist, has another owner, or could not be deleted.
        """
        task, name = self._task, self._task.name
        if not isinstance(name, str) or not name:
            raise AirflowFailException(f"name must be the name of a {self._resource.kind}, not {name!r}")
        access = read_access(task.kubernetes_conn_id)
        stamp = stamp_of(self._context["ti"]) if task.only_own else None
        try:
            with LoopThread() as loop:
                deleted = loop.run(self._delete(access, name, stamp))
                if deleted is None:
                    self._report_missing(access, name)
                    return
                if task.wait_until_gone:
                    loop.run(self._wait(access, deleted))
        except NameTaken as error:
            raise AirflowFailException(
                f"could not delete {error.reference}: it belongs to {error.owner}, and only {self._noun}s of this "
                "DAG run are deleted. Set only_own=False to delete it"
            ) from None
        except (ConfigurationError, DeletionStuck, KubeError) as error:
            raise SparkApplicationError(f"could not delete the {self._noun} {name}: {error}") from None
        logger.info("%s was deleted", deleted)

    async def _delete(self, access: ClusterAccess, name: str, stamp: TaskStamp | None) -> ApplicationReference | None:
        async with await open_client(access) as client:
            # Recorded before the deletion: if this process is killed after the deletion, the next try finds nothing.
            record = partial(self._record_deletion, name)
            return await delete_shared(client, self._resource, name, self._namespace, stamp, record)

    async def _wait(self, access: ClusterAccess, deleted: ApplicationReference) -> None:
        async with await open_client(access) as client:
            wait = wait_until_deleted if self._resource is SPARK_CLUSTERS else wait_until_gone
            await wait(client, deleted, self._task.gone_timeout.total_seconds())

    def _report_missing(self, access: ClusterAccess, name: str) -> None:
        """Fail, unless an earlier try has deleted the resource or the task ignores a missing one.

        Raises:
            AirflowFailException: It is unknown what happened to the resource.
        """
        store = self._context.get("task_state_store")
        namespace = self._namespace or access.namespace
        shown = f"{self._resource.kind} {namespace}/{name}" if namespace else f"{self._resource.kind} {name}"
        if store is not None and store.get(_DELETION_KEY) == name:
            logger.info("%s was deleted by an earlier try of this task", shown)
        elif self._task.ignore_missing:
            logger.warning("%s does not exist; nothing was deleted (ignore_missing=True)", shown)
        else:
            raise AirflowFailException(
                f"could not delete {shown}: it does not exist. Check the namespace and the connection. If a "
                f"missing {self._resource.kind} is not an error, set ignore_missing=True"
            )

    def _record_deletion(self, name: str) -> None:
        """Record the deletion for the next try, which does not find the cluster."""
        store = self._context.get("task_state_store")
        if store is not None:
            store.set(_DELETION_KEY, name)
