"""Run a Spark Connect server for the length of a DAG run: one task starts the server, another task deletes it."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from airflow.sdk import BaseOperator, Context, XComArg

from ..airflow_compat import take_retry_policy
from ..core.compose.connect import SERVER_CLASS
from ..core.parameters.arguments import DEFAULT_CONNECTION_ID, check_booleans, check_connection_id, check_existing_name
from .renamed_arguments import ALIASES
from .spark_application import SparkApplicationOperator
from .spark_cluster import INHERITED, find_creator

if TYPE_CHECKING:
    from .spark_cluster_runtime import SharedDeletion
    from .spark_connect_runtime import ServerRun

__all__ = ["DeleteSparkConnectOperator", "SparkConnectOperator"]

# The server is the program, and the task ends when the server is ready.
_NOT_FOR_SERVERS: Final = (
    *("py_file", "py_files", "main_class", "arguments", "sql", "sql_parameters", "sql_result", "streaming"),
    *("start_from_trigger", "wait_for_completion", "max_core_hours", "max_cost"),
)


class SparkConnectOperator(SparkApplicationOperator):
    """Start a Spark Connect server, and wait until it accepts sessions.

    The server is a SparkApplication. If an earlier try of the same task started it, the task adopts it. If the task
    fails or is stopped, it deletes the server, because Airflow does not run the teardown after that. The task creates
    the Secret `<name>-connect` with a random token, which clients must send. Kubernetes deletes it with the server.

    The XComs of the task are the URL inside the cluster, without the token (the return value), `name`, `namespace` and
    `uid`. Airflow needs the permissions `get`, `create` and `delete` on `secrets`.

    Args:
        authenticate: Whether clients must send the token. Needs Spark 4. If False, everyone who can reach the driver
            can run programs in it. The default is True.
        **kwargs: The parameters of `SparkApplicationOperator` except `py_file`, `py_files`, `main_class`, `arguments`,
            `sql`, `sql_parameters`, `sql_result`, `streaming`, `start_from_trigger`, `wait_for_completion`,
            `max_core_hours` and `max_cost`. If `name` and the manifest contain no name, all tries of the task use the
            same name.

    Raises:
        TypeError: A switch is not a boolean.
        ValueError: A parameter is not supported, or not valid.
    """

    def __init__(self, *, authenticate: bool = True, **kwargs: Any) -> None:
        aliases = [alias for alias, name in ALIASES.items() if name in _NOT_FOR_SERVERS]
        given = [name for name in (*_NOT_FOR_SERVERS, *aliases) if kwargs.get(name) is not None]
        if given:
            raise ValueError(f"{', '.join(given)}: not supported by SparkConnectOperator, which runs a server")
        check_booleans(authenticate=authenticate)
        super().__init__(main_class=SERVER_CLASS, **kwargs)
        self.authenticate = authenticate

    def execute_complete(self, context: Context, event: Mapping[str, Any] | None = None) -> str:
        """Return the URL of the server that the trigger reports as ready."""
        return str(super().execute_complete(context, event))

    def _create_run(self, context: Context) -> "ServerRun":
        from .spark_connect_runtime import ServerRun

        return ServerRun(self, self._collect_parameters(), context)


class DeleteSparkConnectOperator(BaseOperator):
    """Delete a Spark Connect server, and wait until the server and its driver pod no longer exist.

    Make it the teardown of the task that starts the server: `DeleteSparkConnectOperator(task_id="stop",
    server=start).as_teardown(setups=start)`.

    Args:
        server: The task that starts the server, a `SparkConnectOperator`. Its XComs provide the name and the namespace,
            and its connection is used, unless you set `namespace` or `kubernetes_conn_id` here.
        name: Name of the server, for example "analytics". Set either `name` or `server`.
        namespace: Namespace of the server. If None, the namespace of `server` is used. Without `server`, the namespace
            of the connection is used.
        kubernetes_conn_id: Id of a connection to a Kubernetes cluster. If None, the default Kubernetes cluster is
            used. If not set, the connection of `server` is used. Without `server`, `kubernetes_default` is used.
        only_own: Delete the server only if a task of the same DAG run started it. If False, delete the server of any
            owner.
        ignore_missing: Succeed if the server does not exist. By default the task fails, because the server may still
            run in another namespace.
        wait_until_gone: Wait until the server no longer exists. If False, the task succeeds when the deletion has
            started.
        gone_timeout: How long to wait for the end of the deletion, as a timedelta. The default is 5 minutes.
        **kwargs: Arguments that Airflow accepts for all operators, for example `task_id` and `retries`.

    Raises:
        TypeError: `server` is not a `SparkConnectOperator`, or a switch is not a boolean.
        ValueError: A name is not a valid Kubernetes name, or not exactly one of `server` and `name` is set.
    """

    template_fields: Sequence[str] = ("name", "namespace", "kubernetes_conn_id")
    ui_color = SparkApplicationOperator.ui_color

    def __init__(
        self,
        *,
        server: SparkConnectOperator | None = None,
        name: str | None = None,
        namespace: str | None = None,
        kubernetes_conn_id: str | None = INHERITED,
        only_own: bool = True,
        ignore_missing: bool = False,
        wait_until_gone: bool = True,
        gone_timeout: timedelta = timedelta(minutes=5),
        **kwargs: Any,
    ) -> None:
        super().__init__(**take_retry_policy(kwargs))
        check_booleans(only_own=only_own, ignore_missing=ignore_missing, wait_until_gone=wait_until_gone)
        self.name, self.namespace, self.kubernetes_conn_id = find_place(server, name, namespace, kubernetes_conn_id)
        self.only_own = only_own
        self.ignore_missing = ignore_missing
        self.wait_until_gone = wait_until_gone
        self.gone_timeout = gone_timeout

    def execute(self, context: Context) -> None:
        """Delete the server, and wait until it no longer exists; see the class."""
        self._create_run(context).execute()

    def _create_run(self, context: Context) -> "SharedDeletion":
        from ..kube.resources import SPARK_APPLICATIONS
        from .spark_cluster_runtime import SharedDeletion

        return SharedDeletion(self, context, SPARK_APPLICATIONS)


def find_place(
    server: object, name: str | None, namespace: str | None, conn_id: str | None
) -> tuple[str | XComArg | None, str | XComArg | None, str | None]:
    """Return the name, the namespace and the connection of a server.

    Args:
        server: The task that starts the server.
        name: The name of the server.
        namespace: The namespace. If None, that of the server.
        conn_id: Id of the connection. `INHERITED` stands for that of the server.

    Raises:
        TypeError: `server` is not a SparkConnectOperator.
        ValueError: A name is not valid, not exactly one of `server` and `name` is set, or the task pushes no XComs.
    """
    creator = find_creator(server, name, SparkConnectOperator, "server")
    check_existing_name(name, namespace)
    inherited = creator.kubernetes_conn_id if creator else DEFAULT_CONNECTION_ID
    conn_id = inherited if conn_id == INHERITED else conn_id
    check_connection_id(conn_id)
    if creator is None:
        return name, namespace, conn_id
    return XComArg(creator, key="name"), namespace or XComArg(creator, key="namespace"), conn_id
