"""The runtime of `SparkConnectOperator`, and the session of a task with its server.

DAG files do not import this module: it loads the Kubernetes client.
"""

import asyncio
import logging
import socket
from contextlib import ExitStack, contextmanager
from datetime import datetime
from threading import Event
from typing import TYPE_CHECKING, cast

from ..airflow_compat import AirflowFailException
from ..core.compose.application import apply_parameters
from ..core.compose.connect import READY_STATE, build_server_host, compose_server, get_server_port
from ..core.kubernetes.json_object import JsonObject
from ..core.parameters.parameters import Parameters
from ..core.states.capacity_wait import CapacityWait
from ..exceptions import SparkInfrastructureFailed
from ..follow.access.connect import (
    ConnectServer,
    create_token,
    find_loss,
    find_missing_packages,
    find_server,
    forward_server,
)
from ..follow.access.reference import PodMissing
from ..follow.submission.stamp import TaskStamp
from ..follow.submission.submit import Submission
from ..hooks.connection import read_access
from ..hooks.errors import translate_errors
from ..hooks.loop import LoopThread
from ..hooks.task_stamp import stamp_of
from ..kube.client import KubeClient
from ..kube.connection import open_client
from ..kube.errors import ConfigurationError, KubeError
from ..kube.port_forward import LOOPBACK
from ..links.spark_application import LINKS
from ..links.url import push_links
from ..triggers.event import ApplicationEvent, EventKind
from ..triggers.spark_application import SparkApplicationTrigger
from . import requests, results
from .current_try import TaskTry
from .spark_application_runtime import ApplicationRun

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql.connect.session import SparkSession

    from .spark_connect import SparkConnectOperator

logger = logging.getLogger(__name__)


class ServerRun(ApplicationRun):
    """One try of a task that starts a Spark Connect server, or its continuation after a deferral."""

    def _read_document(self) -> JsonObject:
        document = super()._read_document()
        name = stamp_of(self._context["ti"]).build_cluster_name()
        return document | {"metadata": {"name": name, **document["metadata"]}}

    def _compose(self, document: JsonObject, stamp: TaskStamp) -> JsonObject:
        authenticate = cast("SparkConnectOperator", self._task).authenticate
        return compose_server(super()._compose(document, stamp), authenticate=authenticate)

    def _submit(self, loop: LoopThread, task_try: TaskTry, document: JsonObject) -> Submission:
        submission = super()._submit(loop, task_try, document)
        self._push(name=submission.reference.name)

        async def send() -> None:
            async with await task_try.open_client() as client:
                await create_token(client, submission.resource, submission.reference)

        with translate_errors("create the token of the Spark Connect server"):
            loop.run(send())
        return submission

    def _create_trigger(
        self,
        submission: Submission,
        task_try: TaskTry,
        deadline: datetime | None,
        composed: JsonObject,
        capacity_wait: CapacityWait | None,
    ) -> SparkApplicationTrigger:
        trigger = super()._create_trigger(submission, task_try, deadline, composed, capacity_wait)
        trigger.expects, trigger.record = [READY_STATE], False
        return trigger

    def _conclude(self, task_try: TaskTry, event: ApplicationEvent) -> str:
        if event.kind is not EventKind.REACHED:
            super()._conclude(task_try, event)  # raises unless the program of the server succeeded
            raise SparkInfrastructureFailed(f"{event.sentence}; it must run until it is deleted")
        task, document = self._task, self._read_known_document()
        task.link_target = results.build_link_target_from_event(
            event, document, self._parameters, task.kubernetes_conn_id
        )
        push_links(LINKS, task.link_target, self._context["ti"])
        logger.info("Spark Connect server %s/%s accepts sessions", event.namespace, event.name)
        # From now on other tasks may use the server: it must remain if this task alone is cleared.
        with LoopThread() as loop:
            requests.acknowledge(loop, task_try, results.reference_of(event))
        port = get_server_port(apply_parameters(document, Parameters(conf=self._parameters.conf)))
        return f"sc://{build_server_host(event.driver_pod, event.namespace)}:{port}"


@contextmanager
def open_session(
    conn_id: str | None, name: str, namespace: str | None, user: str, *, forward: bool | None
) -> "Iterator[SparkSession]":
    """Open a session with a Spark Connect server. Report the loss of the server in place of the error that it caused.

    Args:
        conn_id: The id of the connection to the Kubernetes cluster. If None, the default cluster is used.
        name: The name of the server.
        namespace: The namespace of the server. If None, the namespace of the connection is used.
        user: The user that the server shows for the session.
        forward: Whether to forward the port of the server through the API. If None, only if the name of the server
            cannot be resolved here.

    Raises:
        AirflowFailException: A package is missing.
        SparkInfrastructureFailed: The server does not run, or was lost.
        SparkApplicationError: The API rejected a request or could not be reached.
    """
    if missing := find_missing_packages():
        raise AirflowFailException(
            f"could not open a Spark session: {', '.join(missing)} not installed. "
            "Install airflow-provider-spark-operator[connect] on the workers"
        )
    access = read_access(conn_id)
    with LoopThread() as loop, ExitStack() as stack:
        client = loop.run(open_client(access))
        stack.callback(lambda: loop.run(client.close()))
        closed = Event()
        stack.callback(closed.set)
        try:
            server = loop.run(find_server(client, name, namespace))
        except PodMissing as error:
            raise SparkInfrastructureFailed(f"could not open a Spark session: {error}") from None
        except (ConfigurationError, KubeError):
            with translate_errors("open a Spark session"):
                raise
        address = f"{server.host}:{server.port}"
        if forward or (forward is None and not _is_resolved(server)):
            address = f"{LOOPBACK}:{loop.run(_forward(client, server))}"
        logger.info("opening a session with %s at %s", server.reference, address)

        def find_loss_now() -> str | None:
            if closed.is_set():  # a thread of PySpark can still release results of the session
                return "the session has ended"
            try:
                return loop.run(find_loss(client, server))
            except KubeError as error:
                logger.warning("could not check whether %s was lost: %s", server.reference, error)
                return None

        try:
            from .connect_client import connect

            session = connect(address, server.token, user, lambda: find_loss_now() is None)
            stack.callback(lambda: find_loss_now() is None and session.stop())
            yield session
        except Exception as error:
            loss = find_loss_now()
            if loss is None:
                raise
            sentence = f"{server.reference} was lost during the task: {loss}. The session and its data no longer exist"
            raise SparkInfrastructureFailed(sentence) from error


def _is_resolved(server: ConnectServer) -> bool:
    try:
        return bool(socket.getaddrinfo(server.host, server.port))
    except OSError:
        return False


async def _forward(client: KubeClient, server: ConnectServer) -> int:
    """Forward the port of a server until the loop ends, and return the local port."""

    def report(error: Exception) -> None:
        logger.warning("could not forward a connection to %s: %s", server.reference, error)

    listener, port = await forward_server(client, server, report)
    asyncio.get_running_loop().create_task(listener.serve_forever())
    return port
