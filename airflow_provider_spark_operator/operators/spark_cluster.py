"""Manage a SparkCluster for the length of a DAG run: one task creates the cluster, another task deletes it."""

import os
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

from airflow.sdk import BaseOperator, BaseOperatorLink, Context, XComArg

from ..airflow_compat import RetryPolicy, build_retry_arguments, conf, take_retry_policy
from ..core.compose.document import PydanticModel
from ..core.kubernetes.json_object import JsonObject
from ..core.kubernetes.names import CLUSTER_IDENTITY, find_name_problem, find_namespace_problem
from ..core.kubernetes.problems import Problem
from ..core.parameters.arguments import (
    DEFAULT_CONNECTION_ID,
    IfExists,
    check_booleans,
    check_choice,
    check_connection_id,
)
from ..core.parameters.parameter_problems import find_problems
from ..links.spark_cluster import CLUSTER_LINKS
from . import checks
from .resource_operator import ResourceOperator

if TYPE_CHECKING:
    from .spark_cluster_runtime import ClusterCreation, SharedDeletion

__all__ = ["DeleteSparkClusterOperator", "SparkClusterOperator"]

_NOUN = "cluster"
INHERITED: Final = ""
"""Stands for the connection of the task that creates the cluster. None stands for the default cluster."""

_Creator = TypeVar("_Creator", bound=BaseOperator)


class SparkClusterOperator(ResourceOperator):
    """Create a SparkCluster, and wait until applications can run on it.

    If an earlier try of the same task created a cluster, the task adopts it. A cluster that has failed is replaced. If
    the task fails or is stopped, it deletes the cluster, because Airflow does not run the teardown after that. The
    XComs of the task are the name of the cluster (the return value), `namespace`, `uid` and `master_url`.

    Args:
        cluster: The manifest: a dict, a Pydantic model, YAML or JSON text, or the path of a file. A path is absolute
            or relative to the folder of the DAG. Templates are rendered, even in a file.
        name: Name of the cluster, of at most 45 characters. Overrides `metadata.name`. If neither is set, the name is
            derived from the DAG id, the task id and the run id.
        namespace: Namespace of the cluster. Overrides `metadata.namespace`. If neither is set, the namespace of the
            connection is used.
        kueue_queue: Name of a LocalQueue of Kueue. The operator in the cluster creates the pods when Kueue admits the
            SparkCluster to the queue. The time in the queue does not count against `ready_timeout`. If None, the label
            of the manifest is used. By default, the SparkCluster does not wait for Kueue.
        kueue_priority: Name of a WorkloadPriorityClass of Kueue: the priority of the SparkCluster in its queue. By
            default, the priority is that of the PriorityClass of the pods.
        kubernetes_conn_id: Id of a connection to a Kubernetes cluster. If None, the default Kubernetes cluster is
            used: the one in which Airflow runs, or that of the local kubeconfig. The default is `kubernetes_default`.
        deferrable: Wait in the triggerer, so that the task does not occupy a worker. The default is `[operators]
            default_deferrable` of Airflow's configuration.
        wait_until_ready: Wait until the master and the workers are ready. If False, the task succeeds when the cluster
            is created.
        ready_timeout: How long to wait for the master and the workers, as a timedelta, without the time in a queue. The
            default is 10 minutes.
        delete_on_kill: Delete the cluster if a user stops the task, or if the task fails. If False, the cluster
            continues to run.
        if_exists: What to do if a cluster of another run of the same task has the same name. "replace_ended" (the
            default): if that cluster has failed, the task deletes it and waits until it no longer exists; otherwise,
            the task fails. "fail": the task always fails. Clusters of other owners are never deleted.
        retry_policy: Policy that decides after a failure whether the task is retried, for example `SparkRetryPolicy()`.
            If None, `retries` alone decides.
        **kwargs: Arguments that Airflow accepts for all operators, for example `task_id`, `retries` and `pool`.

    Raises:
        TypeError: `cluster` has an unsupported type, or a switch is not a boolean.
        ValueError: A name is not a valid Kubernetes name.
    """

    template_fields: Sequence[str] = (
        "cluster",
        "name",
        "namespace",
        "kueue_queue",
        "kueue_priority",
        "kubernetes_conn_id",
    )
    template_fields_renderers: ClassVar[dict[str, str]] = {"cluster": "yaml"}
    # Airflow would read each string in the document that ends in .yaml as a file: see `render_template`.
    template_ext: Sequence[str] = ()
    operator_extra_links: Sequence[BaseOperatorLink] = CLUSTER_LINKS
    ui_color = "#f6e3c5"

    def __init__(
        self,
        *,
        cluster: JsonObject | str | os.PathLike[str] | PydanticModel | XComArg,
        name: str | None = None,
        namespace: str | None = None,
        kueue_queue: str | None = None,
        kueue_priority: str | None = None,
        kubernetes_conn_id: str | None = DEFAULT_CONNECTION_ID,
        deferrable: bool = conf.getboolean("operators", "default_deferrable", fallback=False),
        wait_until_ready: bool = True,
        ready_timeout: timedelta = timedelta(minutes=10),
        delete_on_kill: bool = True,
        if_exists: str = IfExists.REPLACE_ENDED.value,
        retry_policy: RetryPolicy | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs, **build_retry_arguments(retry_policy))
        checks.check_retry_policy(retry_policy)
        self.retry_policy = retry_policy
        check_booleans(deferrable=deferrable, wait_until_ready=wait_until_ready, delete_on_kill=delete_on_kill)
        if cluster is None:
            raise TypeError("cluster is required: set it to the SparkCluster to create")
        self.cluster = checks.convert_application(cluster, _NOUN)
        self.name = name
        self.namespace = namespace
        self.kueue_queue = kueue_queue
        self.kueue_priority = kueue_priority
        self.kubernetes_conn_id = kubernetes_conn_id
        self.deferrable = deferrable
        self.wait_until_ready = wait_until_ready
        self.ready_timeout = ready_timeout
        self.delete_on_kill = delete_on_kill
        check_choice("if_exists", if_exists, IfExists)
        self.if_exists = if_exists
        checks.check_unless_template(name, _find_name_problem)
        checks.check_unless_template(namespace, find_namespace_problem)
        queue = {"kueue_queue": kueue_queue, "kueue_priority": kueue_priority}
        checks.check_problems(find_problems(checks.select_known_parameters(queue)))
        check_connection_id(kubernetes_conn_id)

    def _create_run(self, context: Context) -> "ClusterCreation":
        from .spark_cluster_runtime import ClusterCreation

        return ClusterCreation(self, context)

    def _find_noun(self, content: object) -> str | None:
        return _NOUN if content is self.cluster else None


class DeleteSparkClusterOperator(BaseOperator):
    """Delete a SparkCluster, and wait until it no longer exists.

    Make it the teardown of the task that creates the cluster: `DeleteSparkClusterOperator(task_id="delete",
    cluster=create).as_teardown(setups=create)`.

    Args:
        cluster: The task that creates the cluster, a `SparkClusterOperator`. Its XComs provide the name and the
            namespace, and its connection is used, unless you set `namespace` or `kubernetes_conn_id` here.
        name: Name of the cluster, for example "analytics". Set either `name` or `cluster`. The output of the task that
            creates the cluster (`name=create.output`) has the same effect as `cluster=create`.
        namespace: Namespace of the cluster. If None, the namespace of `cluster` is used. Without `cluster`, the
            namespace of the connection is used.
        kubernetes_conn_id: Id of a connection to a Kubernetes cluster. If None, the default Kubernetes cluster is
            used. If not set, the connection of `cluster` is used. Without `cluster`, `kubernetes_default` is used.
        only_own: Delete the cluster only if a task of the same DAG run created it. If False, delete the cluster of any
            owner.
        ignore_missing: Succeed if the cluster does not exist. By default the task fails, because the cluster may still
            run in another namespace.
        wait_until_gone: Wait until the cluster no longer exists. If False, the task succeeds when the deletion
            has started.
        gone_timeout: How long to wait for the end of the deletion, as a timedelta. The default is 5 minutes.
        **kwargs: Arguments that Airflow accepts for all operators, for example `task_id` and `retries`.

    Raises:
        TypeError: `cluster` is not a `SparkClusterOperator`, or a switch is not a boolean.
        ValueError: A name is not a valid Kubernetes name, or not exactly one of `cluster` and `name` is set.
    """

    template_fields: Sequence[str] = ("name", "namespace", "kubernetes_conn_id")
    ui_color = "#f6e3c5"

    def __init__(
        self,
        *,
        cluster: SparkClusterOperator | None = None,
        name: str | XComArg | None = None,
        namespace: str | XComArg | None = None,
        kubernetes_conn_id: str | None = INHERITED,
        only_own: bool = True,
        ignore_missing: bool = False,
        wait_until_gone: bool = True,
        gone_timeout: timedelta = timedelta(minutes=5),
        **kwargs: Any,
    ) -> None:
        super().__init__(**take_retry_policy(kwargs))
        check_booleans(only_own=only_own, ignore_missing=ignore_missing, wait_until_gone=wait_until_gone)
        creator = find_creator(cluster, name, SparkClusterOperator, "cluster")
        self.name = creator.output if creator and name is None else name
        self.namespace = XComArg(creator, key="namespace") if creator and namespace is None else namespace
        inherited = creator.kubernetes_conn_id if creator else DEFAULT_CONNECTION_ID
        self.kubernetes_conn_id = inherited if kubernetes_conn_id == INHERITED else kubernetes_conn_id
        self.only_own = only_own
        self.ignore_missing = ignore_missing
        self.wait_until_gone = wait_until_gone
        self.gone_timeout = gone_timeout
        checks.check_unless_template(name, _find_name_problem)
        checks.check_unless_template(namespace, find_namespace_problem)
        check_connection_id(self.kubernetes_conn_id)

    def execute(self, context: Context) -> None:
        """Delete the cluster, and wait until it no longer exists; see the class."""
        self._create_run(context).execute()

    def _create_run(self, context: Context) -> "SharedDeletion":
        from .spark_cluster_runtime import SharedDeletion

        return SharedDeletion(self, context)


def find_creator(creator: object, name: str | XComArg | None, kind: type[_Creator], parameter: str) -> _Creator | None:
    """Return the task that creates a shared resource; None if `name` is the text of a name.

    Args:
        creator: The task.
        name: The name of the resource, or the output of the task.
        kind: The class of the task.
        parameter: The parameter that contains the task, for messages.

    Raises:
        TypeError: `creator` has another class.
        ValueError: Not exactly one of the arguments is given, or the task pushes no XComs.
    """
    if (creator is None) == (name is None):
        resource = "SparkCluster" if parameter == "cluster" else "Spark Connect server"
        raise ValueError(f"set exactly one of `{parameter}` (the task that creates the {resource}) and `name`")
    found = getattr(name, "operator", None) if isinstance(name, XComArg) else creator
    if creator is not None and not isinstance(found, kind):
        raise TypeError(
            f"`{parameter}` must be a {kind.__name__}, not {type(creator).__name__}. "
            f"To give the name of a {parameter}, set the parameter `name` instead"
        )
    if not isinstance(found, kind):
        return None
    if not found.do_xcom_push:
        raise ValueError(
            f"could not read the name of the {parameter}: task {found.task_id} has do_xcom_push=False. "
            "Set do_xcom_push=True in that task, or pass name and namespace as strings instead"
        )
    return found


def _find_name_problem(name: object) -> Problem | None:
    return find_name_problem(name, CLUSTER_IDENTITY)
