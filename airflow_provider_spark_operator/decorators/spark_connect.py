"""The decorator `@task.spark_connect`, which gives a function a session with a Spark Connect server."""

import inspect
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from airflow.sdk import Context
from airflow.sdk.bases.decorator import DecoratedOperator, TaskDecorator, task_decorator_factory

from ..airflow_compat import bind_output_handler
from ..core.parameters.arguments import check_booleans
from ..operators.spark_cluster import INHERITED
from ..operators.spark_connect import SparkConnectOperator, find_place

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession

__all__ = ["SparkConnectDecoratedOperator"]

# Airflow kills the process of a task 5 s after the signal.
_INTERRUPT_SECONDS: Final = 3.0


class SparkConnectDecoratedOperator(DecoratedOperator):
    """Run a Python function on the worker, with a session of a Spark Connect server as its parameter `spark`.

    The worker sends queries to the server, and receives results. Functions that Spark runs on executors (UDFs) need the
    same version of Python on the worker and in the image. If the server is lost, the task fails with
    `SparkInfrastructureFailed`. Install `airflow-provider-spark-operator[connect]` on the workers.

    Args:
        python_callable: The function. The decorator sets this parameter.
        op_args: Positional arguments of the function. The call of the decorated function sets them.
        op_kwargs: Keyword arguments of the function. The call of the decorated function sets them.
        server: The task that starts the server, a `SparkConnectOperator`. Its XComs provide the name and the namespace,
            and its connection is used, unless you set `namespace` or `kubernetes_conn_id` here.
        name: Name of the server, for example "analytics". Set either `name` or `server`.
        namespace: Namespace of the server. If None, the namespace of `server` is used. Without `server`, the namespace
            of the connection is used.
        kubernetes_conn_id: Id of a connection to a Kubernetes cluster. If None, the default Kubernetes cluster is
            used. If not set, the connection of `server` is used. Without `server`, `kubernetes_default` is used.
        forward: Whether to forward the port of the server through the API of Kubernetes, which needs the permissions
            `get` and `create` on `pods/portforward`. If None, the port is forwarded if the worker cannot resolve the
            name of the server, because the worker runs outside of the cluster.
        **kwargs: Arguments that Airflow accepts for all tasks, for example `task_id`, `retries` and `pool`.

    Raises:
        TypeError: `server` is not a `SparkConnectOperator`, or `forward` is neither a boolean nor None.
        ValueError: A name is not a valid Kubernetes name, or not exactly one of `server` and `name` is set.
    """

    custom_operator_name = "@task.spark_connect"
    template_fields: Sequence[str] = ("op_args", "op_kwargs", "name", "namespace", "kubernetes_conn_id")
    template_fields_renderers: ClassVar[dict[str, str]] = DecoratedOperator.template_fields_renderers
    ui_color = SparkConnectOperator.ui_color

    def __init__(
        self,
        *,
        python_callable: Callable[..., Any],
        op_args: Collection[Any] | None = None,
        op_kwargs: Mapping[str, Any] | None = None,
        server: SparkConnectOperator | None = None,
        name: str | None = None,
        namespace: str | None = None,
        kubernetes_conn_id: str | None = INHERITED,
        forward: bool | None = None,
        **kwargs: Any,
    ) -> None:
        place = find_place(server, name, namespace, kubernetes_conn_id)
        self._wants_spark = "spark" in inspect.signature(python_callable).parameters
        if self._wants_spark:
            op_kwargs = {"spark": None, **(op_kwargs or {})}  # the task passes the session
        super().__init__(python_callable=python_callable, op_args=op_args, op_kwargs=op_kwargs, **kwargs)
        self.name, self.namespace, self.kubernetes_conn_id = place
        if forward is not None:
            check_booleans(forward=forward)
        self.forward = forward
        self._session: SparkSession | None = None

    def execute(self, context: Context) -> Any:
        """Open a session, and call the function; see the class."""
        from ..operators.spark_connect_runtime import open_session
        from .spark_application_runtime import add_context

        task_instance = context["ti"]
        user = f"{task_instance.dag_id}.{task_instance.task_id}"
        name, namespace = str(self.name), str(self.namespace) if self.namespace else None
        with open_session(self.kubernetes_conn_id, name, namespace, user, forward=self.forward) as spark:
            self._session = spark
            given = {**self.op_kwargs, **({"spark": spark} if self._wants_spark else {})}
            keywords = add_context(self.python_callable, self.op_args, given, context)
            result = self.python_callable(*self.op_args, **keywords)
        return bind_output_handler(self._handle_output, context)(result)

    def on_kill(self) -> None:
        """Interrupt the queries of the session, which the server would continue for an hour."""
        if self._session is not None:
            # In another thread, because the signal may have interrupted the client in the middle of a request.
            thread = threading.Thread(target=self._session.interruptAll, daemon=True)
            thread.start()
            thread.join(_INTERRUPT_SECONDS)


def spark_connect_task(
    python_callable: Callable[..., Any] | None = None, multiple_outputs: bool | None = None, **kwargs: Any
) -> TaskDecorator:
    """Turn a function into a task that gets a session with a Spark Connect server as its parameter `spark`.

    Args:
        python_callable: The function.
        multiple_outputs: Push each key of the returned dict as a separate XCom.
        **kwargs: See `SparkConnectDecoratedOperator`.
    """
    if (server := kwargs.pop("server", None)) is not None:  # a mapped task could not serialize it
        place = find_place(
            server, kwargs.get("name"), kwargs.get("namespace"), kwargs.get("kubernetes_conn_id", INHERITED)
        )
        kwargs |= dict(zip(("name", "namespace", "kubernetes_conn_id"), place, strict=True))
    return task_decorator_factory(
        python_callable=python_callable,
        multiple_outputs=multiple_outputs,
        decorated_operator_class=SparkConnectDecoratedOperator,
        **kwargs,
    )
