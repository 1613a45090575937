"""The runtime of `SparkApplicationOperator`: submit, adopt, wait, cancel, report the result.

DAG files do not import this module: it loads the Kubernetes client.
"""

import logging
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from airflow.sdk import Context

from ..airflow_compat import AirflowFailException, AirflowTaskTimeout, TaskDeferralError, TaskDeferralTimeout
from ..core.compose.application import TaskSettings, apply_parameters
from ..core.compose.files import LocalFile
from ..core.compose.restarts import describe_restarts, get_backoff
from ..core.dialects.dialect import dialect_of
from ..core.kubernetes.json_object import JsonObject
from ..core.kubernetes.problems import InvalidResource, Problem
from ..core.parameters.arguments import RESTARTS_BY_CLUSTER, OnFailedCheck
from ..core.parameters.parameter_types import read_seconds
from ..core.parameters.parameters import Parameters
from ..core.states.capacity_wait import CapacityWait
from ..exceptions import SparkApplicationError, SparkSchedulingFailed
from ..follow.submission.composition import Composition
from ..follow.submission.document import read_document
from ..follow.submission.sql import ROWS
from ..follow.submission.stamp import TaskStamp
from ..follow.submission.submit import Submission
from ..hooks.errors import fail_if_invalid
from ..hooks.loop import LoopThread
from ..hooks.manifest import compose_in_airflow
from ..links.link_target import build_link_target
from ..links.spark_application import LINKS
from ..links.spark_view import push_view_link
from ..links.url import push_links, push_xcoms
from ..retry_policy import build_capacity_wait
from ..triggers.event import ApplicationEvent, EventKind
from ..triggers.lifecycle import DEFERRAL_SLACK
from ..triggers.run_record import require_prices
from ..triggers.spark_application import SparkApplicationTrigger
from . import lost_failure, requests, results, run_record, tries
from .checks import NEEDS_NAME
from .current_try import TRIGGER_FAILED, TaskTry, begin_try, is_deferral_of_earlier_try
from .run_record import emit_metrics
from .source import list_folders
from .start import build_budget, build_streaming

if TYPE_CHECKING:
    from .spark_application import SparkApplicationOperator

logger = logging.getLogger(__name__)

_Error = TypeVar("_Error", bound=Exception | None)


class Program(Protocol):
    """A program that the task creates when it runs, in place of a file or class of the user."""

    def render_files(self, stamp: TaskStamp) -> tuple[LocalFile, ...]:
        """Return the files to ship.

        Args:
            stamp: The try that submits.
        """
        ...

    def build_arguments(self, stamp: TaskStamp) -> list[str]:
        """Return the arguments of the program.

        Args:
            stamp: The try that submits.
        """
        ...

    def keep_driver(self, document: JsonObject) -> JsonObject:
        """Return `document` with the retention of the driver pod that the program needs."""
        ...

    def read_result(self, subject: str, driver_message: str | None, stamp: TaskStamp) -> Any:
        """Return the result of the task.

        Args:
            subject: The application that succeeded, for messages.
            driver_message: Termination message of the driver container; None if it was not read.
            stamp: The try that waited for the application.

        Raises:
            SparkApplicationError: The result does not exist.
        """
        ...


class ApplicationRun:
    """One try of a task, or its continuation after a deferral.

    Args:
        task: The operator, with rendered templates.
        parameters: The parameters that override the document.
        context: The context of the task.
        program: The program that the task makes; None if the parameters or the document name it.
    """

    def __init__(
        self, task: "SparkApplicationOperator", parameters: Parameters, context: Context, program: Program | None = None
    ) -> None:
        self._task = task
        self._parameters = parameters
        self._context = context
        self._program = program
        self._try: TaskTry | None = None

    def execute(self) -> Any:
        """Submit or adopt the application and wait for its end, here or in the triggerer.

        Raises:
            AirflowException: The application is not valid, could not be submitted, failed, or timed out.
            TaskDeferred: The triggerer waits.
        """
        with fail_if_invalid("application"):
            event = self._submit_and_wait(build_capacity_wait(self._task.retry_policy))
            return self._finish(event) if self._task.wait_for_completion else event.name

    def resume(self, payload: Mapping[str, Any]) -> Any:
        """Return the result of the application whose end the trigger reports.

        Args:
            payload: The payload of the trigger's event.

        Raises:
            AirflowException: The application did not succeed.
        """
        event = ApplicationEvent.from_payload(payload)
        self._begin_try(event.namespace, event.api_version, resumed=True)
        with fail_if_invalid("application"):
            return self._finish(event)

    def fail_deferral(self, error: TaskDeferralError | TaskDeferralTimeout) -> SparkApplicationError | None:
        """Return the exception for a deferral that Airflow ended before a trigger fired.

        None if an earlier try had deferred, so that this try must start anew.

        If the deferral timed out or no retry is left, delete the application, unless `delete_on_kill` is off.

        Args:
            error: The exception of Airflow.
        """
        document = self._read_known_document()
        task_try = self._begin_try(document["metadata"].get("namespace"), document.get("apiVersion"), resumed=True)
        if is_deferral_of_earlier_try(task_try):
            return None
        if not isinstance(error, TaskDeferralTimeout):
            sentence = f"could not follow the application any longer, {TRIGGER_FAILED}"
            return self._record(None, task_try.give_up(sentence))
        return self._record(None, task_try.time_out(task_try.describe_timeout()))

    def stop(self) -> None:
        """Delete the application if a user has stopped the task. Runs in a signal handler and never raises."""
        if self._try is not None:
            self._try.stop()

    def _finish(self, event: ApplicationEvent) -> Any:
        """Return the result of the task. As long as the task waits for capacity, submit the application again."""
        while True:
            try:
                return self._conclude(self._try or self._begin_try(event.namespace, event.api_version), event)
            except SparkSchedulingFailed:
                if event.capacity_wait is None:
                    raise
                wait = CapacityWait.from_arguments(event.capacity_wait)
            event = self._submit_and_wait(wait)  # not above, so that a later exception does not refer to this failure

    def _submit_and_wait(self, capacity_wait: CapacityWait | None) -> ApplicationEvent:
        """Submit or adopt the application, and wait for its end if the task waits for it.

        Args:
            capacity_wait: How long this try may wait for capacity. None if it does not wait.
        """
        task = self._task
        require_prices(task.max_cost)
        deadline = datetime.now(UTC) + task.execution_timeout if task.execution_timeout else None
        document = self._read_document()
        task_try = self._begin_try(document["metadata"].get("namespace"), document.get("apiVersion"))
        trigger: SparkApplicationTrigger | None = None
        try:
            with task_try.release_if_failed(), LoopThread() as loop:
                lost_failure.report_lost_failure(loop, task_try)
                composed = self._compose(document, task_try.stamp)
                submission = self._submit(loop, task_try, composed)
                if not task.wait_for_completion:
                    requests.acknowledge(loop, task_try, submission.reference)
                    place = submission.reference
                    return ApplicationEvent(EventKind.REACHED, place.namespace, place.name, place.uid)
                trigger = self._create_trigger(submission, task_try, deadline, composed, capacity_wait)
                if self._waits_in_triggerer() and not results.has_ended(submission):
                    timeout = task.execution_timeout + DEFERRAL_SLACK if task.execution_timeout else None
                    task.defer(trigger=trigger, method_name="execute_complete", timeout=timeout)
                push_links(LINKS, task.link_target, self._context["ti"])
                push_view_link(self._context["ti"])
                return loop.run(trigger.wait(task_try.access))
        except AirflowTaskTimeout as error:
            sentence = trigger.timeout_sentence if trigger is not None else "the application was not submitted"
            record = trigger.build_record() if trigger is not None else None
            raise self._record(record, task_try.time_out(sentence)) from error

    def _waits_in_triggerer(self) -> bool:
        task, map_index = self._task, self._context["ti"].map_index
        if task.start_from_trigger and map_index is not None and map_index >= 0:
            logger.warning(
                "start_from_trigger has no effect on a mapped task: this task submits on a worker, then waits in the "
                "triggerer, as with deferrable=True. To avoid this warning, set deferrable=True instead"
            )
        return task.deferrable or task.start_from_trigger

    def _read_document(self) -> JsonObject:
        """Return the document of the task, without its parameters.

        Raises:
            AirflowFailException: The file of the document could not be read.
            InvalidResource: The document is not an application, or that of streaming queries has no name.
        """
        task = self._task
        if task.source_error is not None:
            raise task.source_error
        document = read_document(task.application, task.api_version, name=task.name, namespace=task.namespace)
        if task.streaming is not None and not document["metadata"].get("name"):
            raise InvalidResource([Problem("metadata.name", NEEDS_NAME)])
        return document

    def _read_known_document(self) -> JsonObject:
        """Return the document, as far as it can be read when the task resumes: its file may have been deleted.

        Of the parameters, it has the restart policy, from which a failure takes the delay of a retry.
        """
        policy = self._parameters.restart_policy
        try:
            document = self._read_document()
            return apply_parameters(document, Parameters(restart_policy=policy)) if policy else document
        except (AirflowFailException, InvalidResource):
            return {"apiVersion": self._task.api_version, "metadata": {"namespace": self._task.namespace}}

    def _compose(self, document: JsonObject, stamp: TaskStamp) -> JsonObject:
        """Return the application that this try submits, and upload its files.

        Raises:
            InvalidResource: A parameter is not valid.
            AirflowException: A file is not valid, or could not be uploaded.
        """
        task, parameters, program = self._task, self._parameters, self._program
        if program:
            parameters = replace(parameters, arguments=program.build_arguments(stamp))
        growth = tries.read_growth(task.retry_policy, self._context)
        is_first_try = stamp.is_first_try(task.retries or 0)
        settings = TaskSettings(
            task.ttl,
            None if program else task.keep_failed_driver,
            keep_driver=task.keep_driver,
            restarts=task.restarts == RESTARTS_BY_CLUSTER or (task.restarts is None and is_first_try),
            memory=growth,
            metrics=bool(task.spark_metrics),
        )
        composition = Composition(
            document=document,
            parameters=parameters,
            settings=settings,
            folders=list_folders(task.get_template_env()),
            upload_to=task.upload_to,
            download_from=task.download_from,
            generated=program.render_files(stamp) if program else (),
            stamp=stamp,
            streams=task.streaming is not None,
            sql_output=ROWS if task.sql_result else "",
        )
        document = compose_in_airflow(composition)
        dialect = dialect_of(document.get("apiVersion"))
        tries.record_growth(dialect.read_memory(document), growth, task.retry_policy, self._context)
        notice = describe_restarts(document, task.retries or 0, task.restarts) if is_first_try else None
        if notice:
            logger.log(logging.INFO if task.restarts is None else logging.WARNING, "%s", notice)
        document = program.keep_driver(document) if program else document
        lineage = tries.create_lineage(
            dialect.read_properties(document),
            self._context,
            parent=task.openlineage_inject_parent_job_info,
            transport=task.openlineage_inject_transport_info,
        )
        return dialect.write_properties(document, lineage)

    def _submit(self, loop: LoopThread, task_try: TaskTry, document: JsonObject) -> Submission:
        streaming = self._task.streaming
        limit = read_seconds(streaming.stop_timeout) if streaming else None
        submission = requests.submit(loop, task_try, document, stop_seconds=limit)
        reference = submission.reference
        created = submission.resource["metadata"].get("creationTimestamp")
        self._task.link_target = build_link_target(
            document, reference, conn_id=self._task.kubernetes_conn_id, created=created
        )
        self._push(namespace=reference.namespace, uid=reference.uid)
        if task_try.stop_requested:  # the signal arrived during the push, when Airflow could not answer requests
            task_try.stop()
        return submission

    def _begin_try(self, namespace: str | None, api_version: object, *, resumed: bool = False) -> TaskTry:
        self._try = begin_try(self._task, self._context, namespace, api_version, resumed=resumed)
        return self._try

    def _create_trigger(
        self,
        submission: Submission,
        task_try: TaskTry,
        deadline: datetime | None,
        composed: JsonObject,
        capacity_wait: CapacityWait | None,
    ) -> SparkApplicationTrigger:
        return SparkApplicationTrigger(
            namespace=submission.reference.namespace,
            name=submission.reference.name,
            uid=submission.reference.uid,
            kubernetes_conn_id=self._task.kubernetes_conn_id,
            connection_required=bool(task_try.access.origin),
            api_version=submission.reference.resource.api_version,
            stamp=asdict(task_try.stamp),
            deadline=deadline.isoformat() if deadline else None,
            delete_on_kill=self._task.delete_on_kill,
            driver_log=self._task.get_logs and (self._task.driver_log_level or True),
            secret_places=requests.find_secret_places(submission, composed),
            record=self._task.do_xcom_push,
            budget=build_budget(self._task),
            metrics=bool(self._task.spark_metrics),
            capacity_wait=asdict(capacity_wait) if capacity_wait else None,
            streaming=build_streaming(self._task, replaces=submission.replaces),
        )

    def _conclude(self, task_try: TaskTry, event: ApplicationEvent) -> Any:
        """Push the XComs of the end and return the result of the task, or raise its failure."""
        task = self._task
        event = results.accept_failed_checks(event) if task.on_failed_check == OnFailedCheck.WARN else event
        if event.kind is EventKind.REPLACED and task.streaming is not None:  # by a new version
            event = replace(event, kind=EventKind.REACHED)
        document = self._read_known_document()
        task.link_target = results.build_link_target_from_event(
            event, document, self._parameters, task.kubernetes_conn_id
        )
        if event.kind is EventKind.TIMED_OUT:
            timeout = task_try.time_out(event.sentence)
            if task_try.has_deleted:  # otherwise a retry may adopt the application, and emit its metrics
                emit_metrics(self._context, event)
            raise self._record(event.record, timeout)
        emit_metrics(self._context, event)
        if event.kind is EventKind.LOST:
            raise self._record(event.record, task_try.give_up(event.sentence))
        if event.kind is EventKind.ENDED:
            self._push(**results.build_xcoms(event))
        error = results.build_error(event, get_backoff(document, event.failure_kind), task.retry_policy)
        is_over_budget = event.kind is EventKind.OVER_BUDGET
        self._record(event.record, None if event.kind is EventKind.ENDED else error, is_over_budget=is_over_budget)
        if error is None:
            results.record_on_assets(self._context, task.outlets, event)
            logger.info("%s", event.sentence)
        if event.kind in (EventKind.ENDED, EventKind.REACHED):
            with LoopThread() as loop:
                requests.acknowledge(loop, task_try, results.reference_of(event))
        if error is not None:
            raise error
        if self._program is None or event.kind is EventKind.REACHED:
            return event.name
        subject = f"SparkApplication {event.namespace}/{event.name}"
        return self._program.read_result(subject, event.driver_message, task_try.stamp)

    def _record(self, record: Mapping[str, Any] | None, error: _Error, *, is_over_budget: bool = False) -> _Error:
        """Store the record of the run, and return the failure. None if the record shows the end of the application."""
        if self._task.do_xcom_push:
            metrics, failure = self._task.spark_metrics, None if error is None else str(error)
            event_logs = metrics if isinstance(metrics, str) else None
            run_record.store_final_record(
                self._context, record, failure, is_over_budget=is_over_budget, event_logs=event_logs
            )
        return error

    def _push(self, **values: object) -> None:
        if self._task.do_xcom_push:
            push_xcoms(values, self._context["ti"])
