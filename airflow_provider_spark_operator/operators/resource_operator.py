"""The base of the operators that create a resource in the cluster."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import jinja2
from airflow.sdk import BaseOperator, Context

from ..airflow_compat import (
    AirflowFailException,
    RetryPolicy,
    TaskDeferralError,
    TaskDeferralTimeout,
    is_of_earlier_try,
)
from ..core.compose.sql import SqlText
from ..core.parameters.parameter_types import with_placeholders
from ..exceptions import SparkApplicationError
from . import source
from .retries import ask_policy

if TYPE_CHECKING:
    from ..links.target import LinkTarget


class Run(Protocol):
    """One try of a task, or its continuation after a deferral."""

    def execute(self) -> Any:
        """Create or adopt the resource, wait for it, and return the result of the task."""
        ...

    def resume(self, payload: Mapping[str, Any]) -> Any:
        """Return the result of the task after the event of its trigger with this payload."""
        ...

    def fail_deferral(self, error: TaskDeferralError | TaskDeferralTimeout) -> SparkApplicationError | None:
        """Return the exception for a deferral that Airflow ended before a trigger fired.

        None if an earlier try had deferred, so that this try must start anew.
        """
        ...

    def stop(self) -> None:
        """Delete the resource if a user has stopped the task. Runs in a signal handler and never raises."""
        ...


class ResourceOperator(BaseOperator):
    """Creates or adopts a resource, and follows it, on a worker or in the triggerer.

    Attributes:
        source_error: Why a file of the task could not be read; None if there is no such problem.
        link_target: The resource of the task's links; None until it is created.
        resumed: Whether this process continues a try that deferred.
    """

    # Airflow's `__setattr__` is slow: these defaults need no assignment.
    name: str | None = None
    namespace: str | None = None
    kubernetes_conn_id: str | None = None
    deferrable: bool
    delete_on_kill: bool
    if_exists: str
    retry_policy: RetryPolicy | None = None
    source_error: AirflowFailException | None = None
    link_target: "LinkTarget | None" = None
    resumed = False
    _run: Run | None = None

    def render_template(
        self,
        content: Any,
        context: Context,
        jinja_env: jinja2.Environment | None = None,
        seen_oids: set[int] | None = None,
    ) -> Any:
        """Render `content`. If `content` is the path of a file of the task, render the file.

        Only this method can distinguish the path from a string in the manifest that looks like a path. If the file
        cannot be read, the path stays, and `execute` raises the error: Airflow also renders the templates before it
        resumes a task.
        """
        context = with_placeholders(context, jinja_env.globals if jinja_env else ())
        noun = self._find_noun(content)
        if noun and source.may_be_file(content):
            jinja_env = jinja_env or self.get_template_env()
            path = super().render_template(content, context, jinja_env, set())
            content, error = source.read_rendered(path, content, jinja_env, noun)
            if error:
                self.source_error = error
                return content
        rendered = super().render_template(content, context, jinja_env, seen_oids)
        return SqlText(rendered, content.file) if isinstance(content, SqlText) else rendered

    def execute(self, context: Context) -> Any:
        """Create or adopt the resource, and wait for it; see the class."""
        with ask_policy(self.retry_policy, context):
            return self._start_run(context).execute()

    def execute_complete(self, context: Context, event: Mapping[str, Any] | None = None) -> Any:
        """Return the result of the task after the event of its trigger."""
        return self._start_run(context).resume(event or {})

    def resume_execution(self, next_method: str, next_kwargs: dict[str, Any] | None, context: Context) -> Any:
        """Resume after the deferral, or start a retry that Airflow 3.0 resumes in place of starting it.

        If Airflow ended the deferral because no trigger fired, delete the resource.
        """
        if is_of_earlier_try(next_kwargs, context["ti"].try_number):
            return self.execute(context)
        self.resumed = True
        with ask_policy(self.retry_policy, context):
            try:
                return super().resume_execution(next_method, next_kwargs, context)
            except (TaskDeferralError, TaskDeferralTimeout) as error:
                failure = self._start_run(context).fail_deferral(error)
                if failure is not None:
                    raise failure from error
        self.resumed = False
        return self.execute(context)

    def on_kill(self) -> None:
        """Delete the resource if a user has stopped the task, but not if the worker is drained."""
        if self._run is not None and self.delete_on_kill:
            self._run.stop()

    def _start_run(self, context: Context) -> Run:
        self._run = self._create_run(context)
        return self._run

    @abstractmethod
    def _create_run(self, context: Context) -> Run: ...

    @abstractmethod
    def _find_noun(self, content: object) -> str | None:
        """Return what the file at the path `content` contains; None if `content` is not the path of a file."""
