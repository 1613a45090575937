"""Have a SparkCluster for the length of a DAG run: one task creates it, another one deletes it."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Final

from airflow.sdk import BaseOperator, XComArg, conf
from airflow.sdk.exceptions import (
    AirflowFailException,
    AirflowTaskTimeout,
    TaskDeferralError,
    TaskDeferralTimeout,
)

from airflow_provider_spark_operator.core.arguments import DEFAULT_CONNECTION_ID, check_booleans
from airflow_provider_spark_operator.core.compose.document import override_metadata
from airflow_provider_spark_operator.core.identity import CLUSTER_IDENTITY, name_problem, namespace_problem
from airflow_provider_spark_operator.core.names import master_url
from airflow_provider_spark_operator.core.placeholders import with_placeholders
from airflow_provider_spark_operator.core.problems import InvalidResource, Problem
from airflow_provider_spark_operator.exceptions import (
    SparkApplicationError,
    SparkApplicationTimedOut,
    SparkSchedulingFailed,
    cluster_deletion,
)
from airflow_provider_spark_operator.operators import document as documents
from airflow_provider_spark_operator.operators.checks import (
    REPLACE_ENDED,
    check_if_exists,
    check_unless_template,
    checked_application,
    fail_if_invalid,
)

if TYPE_CHECKING:
    import os

    import jinja2
    from airflow.sdk import Context

    from airflow_provider_spark_operator.core.json_object import JsonObject
    from airflow_provider_spark_operator.follow.reference import ApplicationReference
    from airflow_provider_spark_operator.follow.stamp import TaskStamp
    from airflow_provider_spark_operator.follow.submit import Submission
    from airflow_provider_spark_operator.kube.connection import ClusterAccess
    from airflow_provider_spark_operator.operators.document import Model
    from airflow_provider_spark_operator.operators.kill import Engagement
    from airflow_provider_spark_operator.triggers.event import ApplicationEvent
    from airflow_provider_spark_operator.triggers.spark_cluster import SparkClusterTrigger

logger = logging.getLogger(__name__)

_NOUN = "cluster"
# In the task state store, which outlives a try.
_DELETION_KEY = "spark_cluster_deletion"
# The trigger keeps the deadline itself; Airflow's own timeout only stands in for a triggerer that is down.
_DEFERRAL_SLACK = timedelta(seconds=60)
# The connection of the task that creates the cluster; unlike None, which is the default cluster.
_INHERITED: Final = ""


class SparkClusterOperator(BaseOperator):
    """Create a SparkCluster, and wait until applications can run on it.

    A cluster that an earlier try of the same task has created is taken over; one that has failed is created anew.
    Where the task fails or is killed the cluster is deleted, as no teardown follows then. The task's XComs: the
    name (as return value), `namespace`, `uid` and `master_url`.

    Args:
        cluster: The resource: an object, a model, its YAML or JSON text, or the path of a file with it (absolute,
            or relative to the DAG's folder). Templates are rendered, in a file too.
        name: Over the document's; at most 45 characters. With neither, one is made of the DAG's, the task's and
            the run's.
        namespace: Over the document's. With neither, that of the connection.
        kubernetes_conn_id: A connection of type `kubernetes`; None for the default cluster.
        deferrable: Wait in the triggerer, without a worker. The default is `[operators] default_deferrable`.
        wait_until_ready: False ends the task as soon as the cluster is created.
        ready_timeout: How long the master and the workers may take to be ready.
        delete_on_kill: Delete the cluster when the task is killed, or fails.
        if_exists: What to do if the name is used by a cluster of another run of the same task: `replace_ended`
            deletes one that has failed, waits until it is gone, and fails if it still exists otherwise; `fail` always
            fails. Clusters of other owners are never deleted.
        **kwargs: Airflow's own arguments for every task.

    Raises:
        TypeError: `cluster` is of no type that can be one, or a switch is not a boolean.
        ValueError: A name is no Kubernetes name.
    """

    template_fields: Sequence[str] = ("cluster", "name", "namespace", "kubernetes_conn_id")
    template_fields_renderers: ClassVar[dict[str, str]] = {"cluster": "yaml"}
    # Airflow would take every string inside the document that ends in .yaml for a file: see `render_template`.
    template_ext: Sequence[str] = ()
    ui_color = "#f6e3c5"

    def __init__(
        self,
        *,
        cluster: "JsonObject | str | os.PathLike[str] | Model | XComArg",
        name: str | None = None,
        namespace: str | None = None,
        kubernetes_conn_id: str | None = DEFAULT_CONNECTION_ID,
        deferrable: bool = conf.getboolean("operators", "default_deferrable", fallback=False),
        wait_until_ready: bool = True,
        ready_timeout: timedelta = timedelta(minutes=10),
        delete_on_kill: bool = True,
        if_exists: str = REPLACE_ENDED,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_booleans(deferrable=deferrable, wait_until_ready=wait_until_ready, delete_on_kill=delete_on_kill)
        if cluster is None:
            raise TypeError("cluster is required: give the SparkCluster to create")
        self.cluster = checked_application(cluster, _NOUN)
        self.name = name
        self.namespace = namespace
        self.kubernetes_conn_id = kubernetes_conn_id
        self.deferrable = deferrable
        self.wait_until_ready = wait_until_ready
        self.ready_timeout = ready_timeout
        self.delete_on_kill = delete_on_kill
        check_if_exists(if_exists)
        self.if_exists = if_exists
        check_unless_template(name, _name_problem)
        check_unless_template(namespace, namespace_problem)
        self._engagement: Engagement | None = None
        self._unreadable: AirflowFailException | None = None

    def render_template(
        self,
        content: Any,
        context: "Context",
        jinja_env: "jinja2.Environment | None" = None,
        seen_oids: set[int] | None = None,
    ) -> Any:
        """Render `content`; where it is the path of the cluster's file, the file. See `SparkApplicationOperator`."""
        context = with_placeholders(context, jinja_env.globals if jinja_env else ())
        if content is self.cluster and documents.may_be_file(content):
            environment = jinja_env or self.get_template_env()
            path = super().render_template(content, context, environment, set())
            if isinstance(path, str) and documents.is_file_name(path):
                try:
                    content = documents.read_source(path, environment, _NOUN)
                except AirflowFailException as error:
                    self._unreadable = error
                    return path
        return super().render_template(content, context, jinja_env, seen_oids)

    def execute(self, context: "Context") -> str:
        """Create, or take over, and wait; see the class."""
        with fail_if_invalid(_NOUN):
            return self._run(context)

    def _run(self, context: "Context") -> str:
        from airflow_provider_spark_operator.operators import requests
        from airflow_provider_spark_operator.triggers.loop import LoopThread

        deadline = datetime.now(UTC) + min(self.ready_timeout, self.execution_timeout or self.ready_timeout)
        document = self._document(context)
        engagement = self._engage(context, document["metadata"].get("namespace"), document.get("apiVersion"))
        try:
            with LoopThread() as loop:
                submission = requests.submit(loop, engagement, document, self.if_exists, _NOUN)
                if engagement.stop_requested:  # the signal came before there was anything to delete
                    self.on_kill()
                self._push(context, submission)
                if not self.wait_until_ready:
                    requests.acknowledge(loop, engagement, submission.reference)
                    return submission.reference.name
                trigger = self._trigger(submission, engagement, deadline)
                if self.deferrable:
                    timeout = deadline - datetime.now(UTC) + _DEFERRAL_SLACK
                    self.defer(trigger=trigger, method_name="execute_complete", timeout=timeout)
                event = loop.run(trigger.wait(engagement.access))
        except AirflowTaskTimeout as error:
            sentence = engagement.unended("be ready", "the cluster")
            raise self._given_up(engagement, sentence, SparkApplicationTimedOut) from error
        return self._conclude(engagement, event)

    def execute_complete(self, context: "Context", event: Mapping[str, Any] | None = None) -> str:
        """End as the cluster came out, once the trigger has fired."""
        from airflow_provider_spark_operator.triggers.event import ApplicationEvent

        told = ApplicationEvent.from_payload(event or {})
        return self._conclude(self._engage(context, told.namespace or None, told.api_version), told)

    def resume_execution(self, next_method: str, next_kwargs: dict[str, Any] | None, context: "Context") -> Any:
        """Resume after the deferral; where Airflow itself has ended it, because no trigger did, delete."""
        from airflow_provider_spark_operator.operators import results
        from airflow_provider_spark_operator.triggers.task_instance import stamp_of

        try:
            return super().resume_execution(next_method, next_kwargs, context)
        except TaskDeferralTimeout as error:
            engagement = self._engage(context, self.namespace, None)
            raise self._given_up(
                engagement, engagement.unended("be ready", "the cluster"), SparkApplicationTimedOut
            ) from error
        except TaskDeferralError as error:
            follows = results.successor(stamp_of(context["ti"]).has_retry_left)
            raise SparkApplicationError(
                f"the trigger failed (see the triggerer's log); the cluster may be there, and {follows}"
            ) from error

    def on_kill(self) -> None:
        """Delete the cluster if a person has killed the task; leave it if the worker is only drained."""
        if self._engagement is not None and self.delete_on_kill:
            self._engagement.stop()

    def _document(self, context: "Context") -> "JsonObject":
        """The cluster as it is to be created.

        Raises:
            AirflowFailException: Its file cannot be read.
            InvalidResource: It is not a SparkCluster.
        """
        from airflow_provider_spark_operator.triggers.task_instance import stamp_of

        if self._unreadable is not None:
            raise self._unreadable
        document = documents.parse(self.cluster, _NOUN)
        if document.get("kind") != "SparkCluster":
            raise InvalidResource([Problem("kind", f"must be SparkCluster, not {document.get('kind')!r}")])
        document = override_metadata(document, name=self.name, namespace=self.namespace, identity=CLUSTER_IDENTITY)
        metadata = document["metadata"]
        return document | {"metadata": {"name": stamp_of(context["ti"]).cluster_name(), **metadata}}

    def _engage(self, context: "Context", namespace: str | None, api_version: object) -> "Engagement":
        from airflow_provider_spark_operator.kube.resources import SPARK_CLUSTERS
        from airflow_provider_spark_operator.operators.kill import engage

        self._engagement = engage(self.kubernetes_conn_id, context["ti"], namespace, api_version, SPARK_CLUSTERS)
        return self._engagement

    def _trigger(self, submission: "Submission", engagement: "Engagement", deadline: datetime) -> "SparkClusterTrigger":
        from airflow_provider_spark_operator.triggers.spark_cluster import SparkClusterTrigger

        return SparkClusterTrigger(
            name=submission.reference.name,
            namespace=submission.reference.namespace,
            uid=submission.reference.uid,
            kubernetes_conn_id=self.kubernetes_conn_id,
            connection_required=engagement.connection_exists,
            api_version=submission.reference.resource.api_version,
            stamp=asdict(engagement.stamp),
            deadline=deadline.isoformat(),
            delete_on_kill=self.delete_on_kill,
        )

    def _conclude(self, engagement: "Engagement", event: "ApplicationEvent") -> str:
        from airflow_provider_spark_operator.kube.resources import SPARK_CLUSTERS
        from airflow_provider_spark_operator.operators import requests, results
        from airflow_provider_spark_operator.triggers.event import EventKind
        from airflow_provider_spark_operator.triggers.loop import LoopThread

        if event.kind is EventKind.REACHED:
            self.log.info("%s", event.sentence)
            # From now on other tasks may use the cluster: it must survive when this task alone is cleared.
            with LoopThread() as loop:
                requests.acknowledge(loop, engagement, results.reference_of(event, SPARK_CLUSTERS))
            return event.name
        if event.kind is EventKind.TIMED_OUT:
            raise self._given_up(engagement, event.sentence, SparkApplicationTimedOut)
        if event.kind is EventKind.ENDED:
            raise self._given_up(engagement, event.sentence, SparkSchedulingFailed)
        if event.kind is EventKind.DELETED:
            raise cluster_deletion(event.sentence, policy=self.retry_policy)
        raise SparkApplicationError(event.sentence)

    def _given_up(
        self, engagement: "Engagement", sentence: str, error: type[SparkApplicationError]
    ) -> SparkApplicationError:
        """Delete the cluster, for which no teardown will come, and say so."""
        from airflow_provider_spark_operator.operators.kill import LONG_CANCEL_SECONDS, cancellation_sentence

        if error is SparkApplicationTimedOut:
            sentence = f"{sentence} within {min(self.ready_timeout, self.execution_timeout or self.ready_timeout)}"
        if not self.delete_on_kill:
            return error(f"{sentence}; it is left, as delete_on_kill is off")
        try:
            outcomes = engagement.cancel(LONG_CANCEL_SECONDS)
        except Exception as problem:
            # Whatever it is, the task fails for its own reason; what is still there must be said with it.
            return error(f"{sentence}; deleting it failed, it may still be there: {problem}")
        return error(f"{sentence}; {cancellation_sentence(outcomes).replace('cancelled', 'deleted')}")

    def _push(self, context: "Context", submission: "Submission") -> None:
        if self.do_xcom_push:
            where = submission.reference
            url = master_url(f"{where.namespace}/{where.name}")
            for key, value in {"namespace": where.namespace, "uid": where.uid, "master_url": url}.items():
                context["ti"].xcom_push(key=key, value=value)


class DeleteSparkClusterOperator(BaseOperator):
    """Delete a SparkCluster, and wait until it is gone.

    Make it the teardown of the task that creates the cluster:
    `DeleteSparkClusterOperator(task_id="delete", cluster=create).as_teardown(setups=create)`.

    Args:
        cluster: The task that creates the cluster, a `SparkClusterOperator`. Its XComs give `name` and `namespace`, and
            its connection is used, unless you give others.
        name: Name of the cluster, if you do not give `cluster`. The output of the task that creates the cluster
            (`name=create.output`) counts as `cluster`.
        namespace: Namespace of the cluster; by default that of `cluster`, else that of the connection.
        kubernetes_conn_id: A connection of type `kubernetes`; None for the default cluster. By default that of
            `cluster`, else `kubernetes_default`.
        only_own: Delete only what a task of the same DAG run has created; False for anybody's cluster.
        ignore_missing: Succeed if the cluster does not exist. By default the task fails, because the cluster may still
            run in another namespace.
        wait_until_gone: False ends the task as soon as the deletion has begun.
        gone_timeout: How long the cluster may take to go.
        **kwargs: Airflow's own arguments for every task.

    Raises:
        TypeError: `cluster` creates no SparkCluster, or a switch is not a boolean.
        ValueError: A name is no Kubernetes name, or it is not clear which cluster is meant.
    """

    template_fields: Sequence[str] = ("name", "namespace", "kubernetes_conn_id")
    ui_color = "#f6e3c5"

    def __init__(
        self,
        *,
        cluster: SparkClusterOperator | None = None,
        name: "str | XComArg | None" = None,
        namespace: "str | XComArg | None" = None,
        kubernetes_conn_id: str | None = _INHERITED,
        only_own: bool = True,
        ignore_missing: bool = False,
        wait_until_gone: bool = True,
        gone_timeout: timedelta = timedelta(minutes=5),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_booleans(only_own=only_own, ignore_missing=ignore_missing, wait_until_gone=wait_until_gone)
        creator = _creator(cluster, name)
        self.name = creator.output if creator and name is None else name
        self.namespace = XComArg(creator, key="namespace") if creator and namespace is None else namespace
        inherited = creator.kubernetes_conn_id if creator else DEFAULT_CONNECTION_ID
        self.kubernetes_conn_id = inherited if kubernetes_conn_id == _INHERITED else kubernetes_conn_id
        self.only_own = only_own
        self.ignore_missing = ignore_missing
        self.wait_until_gone = wait_until_gone
        self.gone_timeout = gone_timeout
        check_unless_template(name, _name_problem)
        check_unless_template(namespace, namespace_problem)

    def execute(self, context: "Context") -> None:
        """Delete, and wait; see the class."""
        from airflow_provider_spark_operator.follow.errors import DeletionStuck, NameTaken
        from airflow_provider_spark_operator.hooks.spark import access_from_connection
        from airflow_provider_spark_operator.kube.errors import ConfigurationError, KubeError
        from airflow_provider_spark_operator.triggers.loop import LoopThread
        from airflow_provider_spark_operator.triggers.task_instance import stamp_of

        if not isinstance(self.name, str) or not self.name:
            raise AirflowFailException(f"name must be that of a SparkCluster, not {self.name!r}")
        access = access_from_connection(self.kubernetes_conn_id)
        stamp = stamp_of(context["ti"]) if self.only_own else None
        try:
            with LoopThread() as loop:
                deleted = loop.run(self._delete(access, self.name, stamp))
                if deleted is None:
                    self._report_missing(context, access, self.name)
                    return
                self._note_deletion(context, deleted.name)
                if self.wait_until_gone:
                    loop.run(self._wait(access, deleted))
        except NameTaken as error:
            raise AirflowFailException(
                f"{error.reference} belongs to {error.owner}, not to this DAG run, and is left; "
                "only_own=False deletes it all the same"
            ) from None
        except (ConfigurationError, DeletionStuck, KubeError) as error:
            raise SparkApplicationError(f"the cluster {self.name} was not deleted: {error}") from None
        logger.info("%s is deleted", deleted)

    async def _delete(
        self, access: "ClusterAccess", name: str, stamp: "TaskStamp | None"
    ) -> "ApplicationReference | None":
        from airflow_provider_spark_operator.follow.delete_cluster import delete_cluster
        from airflow_provider_spark_operator.kube.connection import open_client

        async with await open_client(access) as client:
            return await delete_cluster(client, name, self._namespace(), stamp)

    async def _wait(self, access: "ClusterAccess", deleted: "ApplicationReference") -> None:
        from airflow_provider_spark_operator.follow.delete_cluster import wait_until_gone
        from airflow_provider_spark_operator.kube.connection import open_client

        async with await open_client(access) as client:
            await wait_until_gone(client, deleted, self.gone_timeout.total_seconds())

    def _report_missing(self, context: "Context", access: "ClusterAccess", name: str) -> None:
        """Fail, unless that is no surprise.

        Raises:
            AirflowFailException: Nobody knows what became of the cluster.
        """
        store = context.get("task_state_store")
        namespace = self._namespace() or access.namespace
        shown = f"SparkCluster {namespace}/{name}" if namespace else f"SparkCluster {name}"
        if store is not None and store.get(_DELETION_KEY) == name:
            logger.info("%s is deleted, as an earlier try of this task has asked for", shown)
        elif self.ignore_missing:
            logger.warning("%s does not exist; ignore_missing=True", shown)
        else:
            raise AirflowFailException(
                f"could not delete {shown}: it does not exist. Check the namespace and the connection; if the cluster "
                "may be missing, set ignore_missing=True"
            )

    def _note_deletion(self, context: "Context", name: str) -> None:
        """Let a later try know that a missing cluster is what this task has asked for."""
        store = context.get("task_state_store")
        if store is not None:
            store.set(_DELETION_KEY, name)

    def _namespace(self) -> str | None:
        return self.namespace if isinstance(self.namespace, str) else None


def _creator(cluster: object, name: "str | XComArg | None") -> SparkClusterOperator | None:
    """The task whose output tells which cluster is meant; None if `name` says it.

    Raises:
        TypeError: `cluster` creates no SparkCluster.
        ValueError: Both are given, or none, or the task does not tell.
    """
    if (cluster is None) == (name is None):
        raise ValueError("give either cluster, the task that creates the SparkCluster, or name")
    creator = getattr(name, "operator", None) if isinstance(name, XComArg) else cluster
    if cluster is not None and not isinstance(creator, SparkClusterOperator):
        raise TypeError(f"cluster must be a SparkClusterOperator, not {type(cluster).__name__}; or give name")
    if not isinstance(creator, SparkClusterOperator):
        return None
    if not creator.do_xcom_push:
        raise ValueError(f"task {creator.task_id} has do_xcom_push=False: give name and namespace as text")
    return creator


def _name_problem(name: object) -> Problem | None:
    return name_problem(name, CLUSTER_IDENTITY)
