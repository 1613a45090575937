"""The hook: submit, follow and manage SparkApplications from any Python code, such as a TaskFlow task."""

import weakref
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Mapping
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from ..airflow_compat import BaseHook
from ..core.kubernetes.json_object import JsonObject
from ..core.kubernetes.names import DEFAULT_API_VERSION
from ..core.parameters.arguments import (
    DEFAULT_CONNECTION_ID,
    KEEP_FAILED_DRIVER,
    LONGEST_LOG,
    MAX_APPLICATIONS,
    MAX_EVENTS,
)
from ..provider import CONNECTION_TYPE, HOOK_NAME, OLD_CONNECTION_TYPE, OLD_HOOK_NAME, build_form_behaviour
from .connection_form import build_widgets

if TYPE_CHECKING:
    from airflow.sdk.types import RuntimeTaskInstanceProtocol

    from ..follow.access.events import KubernetesEvent
    from ..follow.access.reference import ApplicationReference
    from .async_spark_application import AsyncSparkApplicationHook, Named
    from .manifest import Manifest
    from .spark_application_runtime import HookSession
    from .verdict import ApplicationVerdict

__all__ = ["SparkApplicationHook"]

_Result = TypeVar("_Result")


class SparkApplicationHook(BaseHook):
    """Submit, follow and manage SparkApplications.

    Use the hook in a `with` block, or call `close` at the end. The methods block: call them on a worker, and use
    `AsyncSparkApplicationHook` in an event loop.

    An argument `application` is the name of an application in the namespace of the hook, or the reference that `submit`
    returns. A reference also contains the namespace, the apiVersion and the uid of the application. It never leads to
    another application with the same name.

    Args:
        kubernetes_conn_id: Id of a connection to a Kubernetes cluster. If None, the default Kubernetes cluster is
            used: the one in which Airflow runs, or that of the local kubeconfig. The default is `kubernetes_default`.
        namespace: Namespace of the applications. If None, the namespace of the connection is used.
        api_version: apiVersion of applications that are given by their name, and of manifests that do not contain it,
            for example "sparkoperator.k8s.io/v1beta2" for Kubeflow's operator. The default is that of the Apache
            operator.
    """

    conn_name_attr = "kubernetes_conn_id"
    default_conn_name = DEFAULT_CONNECTION_ID
    conn_type = CONNECTION_TYPE
    hook_name = HOOK_NAME

    def __init__(
        self,
        kubernetes_conn_id: str | None = DEFAULT_CONNECTION_ID,
        *,
        namespace: str | None = None,
        api_version: str = DEFAULT_API_VERSION,
    ) -> None:
        super().__init__()
        self.kubernetes_conn_id = kubernetes_conn_id
        self.namespace = namespace
        self.api_version = api_version
        self._session: HookSession | None = None

    def __enter__(self) -> Self:
        """Return the hook. The first request connects to the cluster."""
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the hook."""
        self.close()

    def close(self) -> None:
        """Close the connections to the cluster. The next request opens them again."""
        session, self._session = self._session, None
        if session is not None:
            session.close()

    def submit(
        self,
        manifest: "Manifest" = None,
        *,
        name: str | None = None,
        namespace: str | None = None,
        ttl: timedelta | float | None = None,
        keep_failed_driver: timedelta | float | None = KEEP_FAILED_DRIVER,
        keep_driver: timedelta | float | None = None,
        upload_to: str | None = None,
        download_from: str | None = None,
        task_instance: "RuntimeTaskInstanceProtocol | None" = None,
        **parameters: Any,
    ) -> "ApplicationReference":
        """Submit an application, and return as soon as the cluster has stored it.

        With `task_instance`, a retry of the task does not submit the application again: it adopts the application of
        the earlier try, unless that application has failed. Without `task_instance`, no task owns the application.

        Args:
            manifest: The resource: a dict, a Pydantic model, YAML or JSON text, or the path of a file. Templates are
                not rendered. The other parameters override the resource. Leave it out if they describe the whole
                application.
            name: Name of the application. Overrides `metadata.name`. With `task_instance`, the default is a name from
                the DAG id, the task id and the run id. Without `task_instance`, `name` or `metadata.name` is required.
            namespace: Namespace of the application. If None, the first of these that is set is used: the
                namespace of the hook, `metadata.namespace`, the namespace of the connection.
            ttl: How long the application stays in the cluster after its end, in seconds or as a timedelta. -1 keeps it.
                If None, the value of the manifest is used. If the manifest has none, the default is 7 days.
            keep_failed_driver: How long the cluster keeps the driver pod of a failed application, in seconds or as a
                timedelta. It does not override the manifest. If None, the cluster decides. The default is 5 minutes.
            keep_driver: How long the cluster keeps the driver pod after any end, a success included, in seconds or as a
                timedelta. It does not override the manifest. If None, `keep_failed_driver` alone decides.
            upload_to: URL of a folder for local files that are too large for a ConfigMap, or not text, for example
                "s3://connection@bucket/jobs". If None, nothing is uploaded.
            download_from: URL of the same folder, as the driver reads it. If None, it is `upload_to` without the
                connection id, and `s3a` replaces `s3`.
            task_instance: The task instance that owns the application, `context["ti"]`. A task instance can own one
                application. If None, no task owns the application.
            **parameters: Parameters of `SparkApplicationOperator` that set fields of the application, for example
                `py_file`, `image`, `arguments` and `executor_memory`. Relative paths of local files begin at the
                working directory.

        Returns:
            The `ApplicationReference`, for the other methods.

        Raises:
            AirflowFailException: The application is not valid, or a file could not be read.
            SparkApplicationConflict: The name belongs to another application.
            SparkApplicationForbidden: The cluster does not permit the submission.
            SparkApplicationError: The cluster rejected the application or could not be reached.
            TypeError: A parameter does not exist.
        """
        return self._run(
            lambda hook: hook.submit(
                manifest,
                name=name,
                namespace=namespace,
                ttl=ttl,
                keep_failed_driver=keep_failed_driver,
                keep_driver=keep_driver,
                upload_to=upload_to,
                download_from=download_from,
                task_instance=task_instance,
                **parameters,
            )
        )

    def get(self, application: "Named") -> JsonObject:
        """Read an application.

        Args:
            application: Name or reference of the application.

        Returns:
            The whole resource, with its status, as a dict.

        Raises:
            SparkApplicationNotFound: The application does not exist, or another application now has its name.
            SparkApplicationError: The cluster rejected the request or could not be reached.
        """
        return self._run(lambda hook: hook.get(application))

    def list_applications(
        self, labels: Mapping[str, str] | str | None = None, *, most: int = MAX_APPLICATIONS
    ) -> list[JsonObject]:
        """List the applications in the namespace of the hook.

        Args:
            labels: The labels of the applications, for example {"team": "sales"}, or a selector of Kubernetes, such as
                "team in (a, b)". If None, all applications are included.
            most: The maximum number of applications. If there are more, a warning is logged. The default is 1000.

        Returns:
            The whole resources, with their status, as dicts.

        Raises:
            SparkApplicationError: The cluster rejected the request or could not be reached.
            ValueError: A label is not valid, or `most` is less than 1.
        """
        return self._run(lambda hook: hook.list_applications(labels, most=most))

    def wait(
        self, application: "Named", *, timeout: timedelta | float | None = None, get_logs: bool = True
    ) -> "ApplicationVerdict":
        """Wait until an application ends, and log its states.

        Args:
            application: Name or reference of the application.
            timeout: How long to wait, in seconds or as a timedelta. If None, there is no limit.
            get_logs: Whether to log the lines of the driver log while the driver runs. The default is True.

        Returns:
            The `ApplicationVerdict`. Call its `raise_for_failure` to fail the task with the application.

        Raises:
            SparkApplicationNotFound: The application does not exist.
            SparkApplicationDeleted: The application was deleted before it ended.
            SparkApplicationTimedOut: The application has not ended in time. It keeps running.
            SparkApplicationError: The cluster rejected a request, or was unreachable for too long.
            ValueError: `timeout` is not a duration.
        """
        return self._run(lambda hook: hook.wait(application, timeout=timeout, get_logs=get_logs))

    def get_verdict(self, application: "Named") -> "ApplicationVerdict":
        """Return whether an application has ended and how, without waiting.

        Args:
            application: Name or reference of the application.

        Returns:
            The `ApplicationVerdict`. Its `outcome` is "Waiting" if the application has not ended.

        Raises:
            SparkApplicationNotFound: The application does not exist.
            SparkApplicationError: The cluster rejected the request or could not be reached.
        """
        return self._run(lambda hook: hook.get_verdict(application))

    def delete(
        self, application: "Named", *, missing_ok: bool = False, timeout: timedelta | float | None = None
    ) -> None:
        """Delete an application, and with it its driver and executors.

        Args:
            application: Name or reference of the application.
            missing_ok: Whether to return normally if the application does not exist. By default, the method raises
                `SparkApplicationNotFound`.
            timeout: How long to wait until the application no longer exists, in seconds or as a timedelta. If None, the
                method returns as soon as the cluster has accepted the deletion.

        Raises:
            SparkApplicationNotFound: The application does not exist, or another application now has its name.
            SparkApplicationError: The cluster rejected the request, could not be reached, or the application still
                exists after `timeout`.
            ValueError: `timeout` is not a duration.
        """
        self._run(lambda hook: hook.delete(application, missing_ok=missing_ok, timeout=timeout))

    def suspend(self, application: "Named") -> None:
        """Suspend an application: its operator stops the driver, or does not start one.

        Args:
            application: Name or reference of the application.

        Raises:
            SparkApplicationNotFound: The application does not exist.
            SparkApplicationConflict: The application has ended.
            SparkApplicationError: The cluster does not define `spec.suspend`, rejected the request, or could not be
                reached.
        """
        self._run(lambda hook: hook.suspend(application))

    def resume(self, application: "Named") -> None:
        """Resume a suspended application: its operator starts another attempt.

        Args:
            application: Name or reference of the application.

        Raises:
            SparkApplicationNotFound: The application does not exist.
            SparkApplicationConflict: The application has ended.
            SparkApplicationError: The cluster does not define `spec.suspend`, rejected the request, or could not be
                reached.
        """
        self._run(lambda hook: hook.resume(application))

    def stream_driver_log(
        self, application: "Named", *, follow: bool = True, tail_lines: int | None = None, longest: int = LONGEST_LOG
    ) -> Iterator[str]:
        """Yield the lines of the log of the current driver, as they arrive. The log is never held as a whole.

        Args:
            application: Name or reference of the application.
            follow: Whether to wait for the driver, and to continue until the driver has ended. The default is True.
            tail_lines: Number of lines from the end of the log to return. If None, the whole log. Not supported with
                `follow`.
            longest: Maximum size of the log in bytes. If the log is longer, a last line reports that. The default is 64
                MiB.

        Raises:
            SparkApplicationNotFound: The application does not exist, or it has no driver pod.
            SparkApplicationError: The cluster rejected a request or could not be reached.
            ValueError: `follow` and `tail_lines` are both set.
        """
        return self._iterate(
            lambda hook: hook.stream_driver_log(application, follow=follow, tail_lines=tail_lines, longest=longest)
        )

    def list_executors(self, application: "Named") -> list[str]:
        """List the names of the executor pods of the current driver. By default, Spark deletes pods that have ended.

        Args:
            application: Name or reference of the application.

        Raises:
            SparkApplicationNotFound: The application does not exist.
            SparkApplicationError: The cluster rejected a request or could not be reached.
        """
        return self._run(lambda hook: hook.list_executors(application))

    def stream_executor_log(
        self,
        application: "Named",
        executor: str,
        *,
        follow: bool = False,
        tail_lines: int | None = None,
        longest: int = LONGEST_LOG,
    ) -> Iterator[str]:
        """Yield the lines of the log of one executor, as they arrive.

        Args:
            application: Name or reference of the application.
            executor: The name of the executor pod, see `list_executors`.
            follow: Whether to continue until the executor has ended. The default is False.
            tail_lines: Number of lines from the end of the log to return. If None, the whole log.
            longest: Maximum size of the log in bytes. If the log is longer, a last line reports that. The default is 64
                MiB.

        Raises:
            SparkApplicationNotFound: The application does not exist, or the current driver has no such executor pod.
            SparkApplicationError: The cluster rejected a request or could not be reached.
        """
        return self._iterate(
            lambda hook: hook.stream_executor_log(
                application, executor, follow=follow, tail_lines=tail_lines, longest=longest
            )
        )

    def list_events(self, application: "Named", *, most: int = MAX_EVENTS) -> "list[KubernetesEvent]":
        """List the Kubernetes Events of an application and of its driver pod, oldest first.

        Args:
            application: Name or reference of the application.
            most: The maximum number of Events of each of the two objects. The default is 500.

        Returns:
            A `KubernetesEvent` for each Event.

        Raises:
            SparkApplicationNotFound: The application does not exist.
            SparkApplicationError: The cluster rejected the request or could not be reached.
            ValueError: `most` is less than 1.
        """
        return self._run(lambda hook: hook.list_events(application, most=most))

    def test_connection(self) -> tuple[bool, str]:
        """Check the connection, the definitions and the permissions, for the Test button of Airflow.

        Returns:
            Whether all checks passed, and a message with one line for each failed check.
        """
        try:
            with self:
                return self._open().review_access()
        except Exception as error:  # Airflow shows the message; the connection may be invalid in any way
            return False, str(error) or type(error).__name__

    @classmethod
    def get_connection_form_widgets(cls) -> dict[str, Any]:
        """Return the fields of the form for Airflow 3.0 and 3.1. Newer versions read the metadata of the provider."""
        return build_widgets()

    @classmethod
    def get_ui_field_behaviour(cls) -> dict[str, Any]:
        """Return the hidden fields of the form for Airflow 3.0 and 3.1, see `get_connection_form_widgets`."""
        return {key.replace("-", "_"): value for key, value in build_form_behaviour().items()}

    def _run(self, call: "Callable[[AsyncSparkApplicationHook], Coroutine[Any, Any, _Result]]") -> _Result:
        return self._open().run(call)

    def _iterate(self, call: "Callable[[AsyncSparkApplicationHook], AsyncGenerator[str, None]]") -> Iterator[str]:
        yield from self._open().iterate(call)

    def _open(self) -> "HookSession":
        if self._session is None:
            from .spark_application_runtime import open_session

            self._session = open_session(self.kubernetes_conn_id, self.namespace, self.api_version)
            # For a hook that is not closed: the session ends with the hook, at the latest with the process.
            weakref.finalize(self, self._session.close)
        return self._session


class OldConnectionHook(SparkApplicationHook):
    """The hook for the connection type of the first releases. Airflow needs one class for each connection type."""

    conn_type = OLD_CONNECTION_TYPE
    hook_name = OLD_HOOK_NAME
