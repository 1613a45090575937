"""Manage a SparkCluster for the length of a DAG run: one task creates it, another one deletes it."""

import os
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Final

import jinja2
from airflow.sdk import BaseOperator, Context, XComArg, conf
from airflow.sdk.exceptions import AirflowFailException, TaskDeferralError, TaskDeferralTimeout

from airflow_provider_spark_operator.core.arguments import DEFAULT_CONNECTION_ID, check_booleans
from airflow_provider_spark_operator.core.compose.document import Model
from airflow_provider_spark_operator.core.identity import CLUSTER_IDENTITY, name_problem, namespace_problem
from airflow_provider_spark_operator.core.json_object import JsonObject
from airflow_provider_spark_operator.core.placeholders import with_placeholders
from airflow_provider_spark_operator.core.problems import Problem
from airflow_provider_spark_operator.operators import source
from airflow_provider_spark_operator.operators.checks import (
    REPLACE_ENDED,
    check_if_exists,
    check_unless_template,
    convert_application,
)

if TYPE_CHECKING:
    from airflow_provider_spark_operator.operators.spark_cluster_runtime import ClusterCreation, ClusterDeletion

_NOUN = "cluster"
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
        cluster: JsonObject | str | os.PathLike[str] | Model | XComArg,
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
        self.cluster = convert_application(cluster, _NOUN)
        self.name = name
        self.namespace = namespace
        self.kubernetes_conn_id = kubernetes_conn_id
        self.deferrable = deferrable
        self.wait_until_ready = wait_until_ready
        self.ready_timeout = ready_timeout
        self.delete_on_kill = delete_on_kill
        check_if_exists(if_exists)
        self.if_exists = if_exists
        check_unless_template(name, _find_name_problem)
        check_unless_template(namespace, namespace_problem)
        self.source_error: AirflowFailException | None = None
        self._creation: ClusterCreation | None = None

    def render_template(
        self,
        content: Any,
        context: Context,
        jinja_env: jinja2.Environment | None = None,
        seen_oids: set[int] | None = None,
    ) -> Any:
        """Render `content`; where it is the path of the cluster's file, the file. See `SparkApplicationOperator`."""
        context = with_placeholders(context, jinja_env.globals if jinja_env else ())
        if content is self.cluster and source.may_be_file(content):
            environment = jinja_env or self.get_template_env()
            path = super().render_template(content, context, environment, set())
            if isinstance(path, str) and source.is_file_name(path):
                try:
                    content = source.read_source(path, environment, _NOUN)
                except AirflowFailException as error:
                    self.source_error = error
                    return path
        return super().render_template(content, context, jinja_env, seen_oids)

    def execute(self, context: Context) -> str:
        """Create or adopt the cluster, and wait until it is ready; see the class."""
        self._creation = self._create_run(context)
        return self._creation.execute()

    def execute_complete(self, context: Context, event: Mapping[str, Any] | None = None) -> str:
        """Return the name of the cluster that the trigger reports as ready."""
        self._creation = self._create_run(context)
        return self._creation.resume(event or {})

    def resume_execution(self, next_method: str, next_kwargs: dict[str, Any] | None, context: Context) -> Any:
        """Resume after the deferral. If Airflow ended the deferral because no trigger fired, delete the cluster."""
        try:
            return super().resume_execution(next_method, next_kwargs, context)
        except (TaskDeferralError, TaskDeferralTimeout) as error:
            self._creation = self._create_run(context)
            raise self._creation.fail_deferral(error) from error

    def on_kill(self) -> None:
        """Delete the cluster if a person has killed the task, but not if the worker is drained."""
        if self._creation is not None and self.delete_on_kill:
            self._creation.stop()

    def _create_run(self, context: Context) -> "ClusterCreation":
        from airflow_provider_spark_operator.operators.spark_cluster_runtime import ClusterCreation

        return ClusterCreation(self, context)


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
        name: str | XComArg | None = None,
        namespace: str | XComArg | None = None,
        kubernetes_conn_id: str | None = _INHERITED,
        only_own: bool = True,
        ignore_missing: bool = False,
        wait_until_gone: bool = True,
        gone_timeout: timedelta = timedelta(minutes=5),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_booleans(only_own=only_own, ignore_missing=ignore_missing, wait_until_gone=wait_until_gone)
        creator = _find_creator(cluster, name)
        self.name = creator.output if creator and name is None else name
        self.namespace = XComArg(creator, key="namespace") if creator and namespace is None else namespace
        inherited = creator.kubernetes_conn_id if creator else DEFAULT_CONNECTION_ID
        self.kubernetes_conn_id = inherited if kubernetes_conn_id == _INHERITED else kubernetes_conn_id
        self.only_own = only_own
        self.ignore_missing = ignore_missing
        self.wait_until_gone = wait_until_gone
        self.gone_timeout = gone_timeout
        check_unless_template(name, _find_name_problem)
        check_unless_template(namespace, namespace_problem)

    def execute(self, context: Context) -> None:
        """Delete the cluster, and wait until it does not exist any more; see the class."""
        self._create_run(context).execute()

    def _create_run(self, context: Context) -> "ClusterDeletion":
        from airflow_provider_spark_operator.operators.spark_cluster_runtime import ClusterDeletion

        return ClusterDeletion(self, context)


def _find_creator(cluster: object, name: str | XComArg | None) -> SparkClusterOperator | None:
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


def _find_name_problem(name: object) -> Problem | None:
    return name_problem(name, CLUSTER_IDENTITY)
