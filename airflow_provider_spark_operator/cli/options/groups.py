"""Groups of options that several verbs have. Annotate a parameter of `run` with the alias of the group."""

from typing import Annotated, TypeAlias

from ...kube.connection import ClusterAccess
from .declaration import OptionGroup
from .options import Context, DagId, Kubeconfig, Namespace, RunId, TaskId
from .task_filter import TaskFilter


def _build_access(context: Context = None, kubeconfig: Kubeconfig = None, namespace: Namespace = None) -> ClusterAccess:
    return ClusterAccess(kubeconfig=kubeconfig, context=context, namespace=namespace)


def _build_filter(dag: DagId = None, task: TaskId = None, run: RunId = None) -> TaskFilter:
    return TaskFilter(dag, task, run)


ClusterOptions: TypeAlias = Annotated[ClusterAccess, OptionGroup(_build_access)]
"""The options that select a cluster and a namespace."""

TaskOptions: TypeAlias = Annotated[TaskFilter, OptionGroup(_build_filter)]
"""The options that select applications by the task that submitted them."""
