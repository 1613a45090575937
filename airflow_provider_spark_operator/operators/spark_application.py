"""Run a Spark application on Kubernetes, as a SparkApplication resource that an operator in the cluster manages."""

import os
from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import jinja2
from airflow.sdk import BaseOperator, BaseOperatorLink, Context, XComArg, conf
from airflow.sdk.exceptions import AirflowFailException, TaskDeferralError, TaskDeferralTimeout

from airflow_provider_spark_operator.core.arguments import DEFAULT_CONNECTION_ID, RESTARTS_BY_CLUSTER, check_booleans
from airflow_provider_spark_operator.core.compose.document import Model
from airflow_provider_spark_operator.core.compose.retention import KEEP_FAILED_DRIVER, retention_problem, ttl_problem
from airflow_provider_spark_operator.core.identity import APPLICATION_IDENTITY, name_problem, namespace_problem
from airflow_provider_spark_operator.core.json_object import JsonObject
from airflow_provider_spark_operator.core.parameters import NAMES as PARAMETERS
from airflow_provider_spark_operator.core.parameters import Parameters, folder_problem
from airflow_provider_spark_operator.core.placeholders import with_placeholders
from airflow_provider_spark_operator.links.spark_application import LINKS, LinkTarget
from airflow_provider_spark_operator.operators import checks, source

if TYPE_CHECKING:
    from airflow_provider_spark_operator.operators.spark_application_runtime import ApplicationRun, Program

_INJECT_PARENT = conf.getboolean("openlineage", "spark_inject_parent_job_info", fallback=False)
_INJECT_TRANSPORT = conf.getboolean("openlineage", "spark_inject_transport_info", fallback=False)


class SparkApplicationOperator(BaseOperator):
    """Submit a SparkApplication, wait for its end, and end as it did.

    An application that an earlier try of the same task left running is taken over instead of started again.
    The task's XComs: the name (as return value), `namespace`, `uid`, `application_id`, `state`, `attempts`
    and `seconds_per_state`.

    A file without a scheme lies beside the DAG (or at an absolute path) and is shipped to the driver; `local://`
    is one in the image, and any other URL is the driver's to read.

    Args:
        application: The resource: an object, a model, its YAML or JSON text, or the path of a file with it
            (absolute, or relative to the DAG's folder). Templates are rendered, in a file too. None where
            the other parameters say all; they are put over the document.
        py_file: The Python script to run.
        py_files: Python files and archives beside the script; without `py_file` the first is the script.
        main_class: The class to run, of `jars`.
        jars: The application's jar first, then those it depends on; of a script, those it depends on.
        files: Files that driver and executors find by `SparkFiles`.
        arguments: Of the program.
        conf: Spark properties, over the document's.
        image: The container image of driver and executors.
        spark_version: Of the image; needed where neither the document nor the image's tag tells it.
        service_account: Of the driver.
        driver_cores: See Spark's property of that name; so for the next ones.
        driver_memory: With its unit: `2g`.
        executor_cores: Of each executor.
        executor_memory: Of each executor, with its unit.
        executor_instances: Number of executors. 0 is allowed with spark.dynamicAllocation.enabled in `conf`.
        cluster: The name of a SparkCluster (or `<namespace>/<name>`) whose workers run the executors, in place of pods.
        upload_to: The URL of a folder (`s3://connection@bucket/jobs`) for local files that are too large for a
            config map, or no text.
        download_from: The same folder as the driver reads it, where that is not `upload_to` (with `s3a` for `s3`).
        api_version: apiVersion of an application whose document names none, or that has no document:
            `sparkoperator.k8s.io/v1beta2` for Kubeflow's operator. Without a document, None is `spark.apache.org/v1`.
        name: Over the document's. With neither, a name is made of the DAG's, the task's and the run's.
        namespace: Over the document's. With neither, that of the connection.
        kubernetes_conn_id: A connection of type `kubernetes`; None for the default cluster.
        deferrable: Wait in the triggerer, without a worker. The default is `[operators] default_deferrable`.
        wait_for_completion: False ends the task as soon as the application is submitted.
        delete_on_kill: Delete the application when the task is killed or its time is over.
        ttl: How long the application stays in the cluster after its end: seconds or a timedelta, -1 to keep it. None
            for what the document says; without that, 1 day after a success that the task has seen, else 7 days
            (7 days after any end with Kubeflow's operator).
        get_logs: Show the driver's log in the task's log while it runs.
        keep_failed_driver: How long the cluster keeps the driver pod of a failed application, so that its log and its
            status can be read: seconds or a timedelta. Written as `resourceRetainPolicy: OnFailure` with
            `resourceRetainDurationMillis`, unless the document has one of these fields. None leaves retention to the
            cluster.
        restarts: Who tries the application again: `cluster`, the operator there, by the application's restartConfig;
            `airflow`, the task: where the document is given as an object, its restartConfig becomes the task's
            `retries`, `retry_delay` and (unless one is given) `retry_policy`, and is switched off in the cluster.
        openlineage_inject_parent_job_info: Name the task as the job's parent in its Spark properties; the
            default is `[openlineage] spark_inject_parent_job_info`.
        openlineage_inject_transport_info: Put Airflow's OpenLineage transport into the Spark properties, its key
            in clear; the default is `[openlineage] spark_inject_transport_info`.
        start_from_trigger: Start in the triggerer at once, and see a worker only at the end.
        if_exists: What to do if the name is used by an application of another run of the same task: `replace_ended`
            deletes one that has ended, waits until it is gone, and fails if it has not ended; `fail` always fails.
            Applications of other owners are never deleted.
        **kwargs: Airflow's own arguments for every task.

    Raises:
        TypeError: `application` is of no type that can be one, or a switch is not a boolean.
        ValueError: A name is no Kubernetes name, or a parameter cannot be right.
    """

    template_fields: Sequence[str] = (
        "application",
        *PARAMETERS,
        "upload_to",
        "download_from",
        "name",
        "namespace",
        "kubernetes_conn_id",
    )
    template_fields_renderers: ClassVar[dict[str, str]] = {
        "application": "yaml",
        **dict.fromkeys(("arguments", "conf", "files", "jars", "py_files"), "json"),
    }
    # Airflow would take every string inside the document that ends in .yaml for a file: see `render_template`.
    template_ext: Sequence[str] = ()
    operator_extra_links: Sequence[BaseOperatorLink] = LINKS
    ui_color = "#fbe2d3"

    def __init__(
        self,
        *,
        application: JsonObject | str | os.PathLike[str] | Model | XComArg | None = None,
        py_file: str | os.PathLike[str] | None = None,
        py_files: Sequence[str] | str | None = None,
        main_class: str | None = None,
        jars: Sequence[str] | str | None = None,
        files: Sequence[str] | str | None = None,
        arguments: Sequence[object] | None = None,
        conf: Mapping[str, object] | None = None,
        image: str | None = None,
        spark_version: str | None = None,
        service_account: str | None = None,
        driver_cores: int | str | None = None,
        driver_memory: str | None = None,
        executor_cores: int | str | None = None,
        executor_memory: str | None = None,
        executor_instances: int | str | None = None,
        cluster: str | None = None,
        upload_to: str | None = None,
        download_from: str | None = None,
        api_version: str | None = None,
        name: str | None = None,
        namespace: str | None = None,
        kubernetes_conn_id: str | None = DEFAULT_CONNECTION_ID,
        deferrable: bool = conf.getboolean("operators", "default_deferrable", fallback=False),
        wait_for_completion: bool = True,
        delete_on_kill: bool = True,
        ttl: timedelta | float | None = None,
        get_logs: bool = True,
        keep_failed_driver: timedelta | float | None = KEEP_FAILED_DRIVER,
        restarts: str = RESTARTS_BY_CLUSTER,
        openlineage_inject_parent_job_info: bool = _INJECT_PARENT,
        openlineage_inject_transport_info: bool = _INJECT_TRANSPORT,
        start_from_trigger: bool = False,
        if_exists: str = checks.REPLACE_ENDED,
        **kwargs: Any,
    ) -> None:
        if restarts != RESTARTS_BY_CLUSTER:
            from airflow_provider_spark_operator.operators.dialect_checks import map_restarts

            kwargs = map_restarts(restarts, application, kwargs)
        super().__init__(**kwargs)
        check_booleans(
            deferrable=deferrable,
            wait_for_completion=wait_for_completion,
            delete_on_kill=delete_on_kill,
            get_logs=get_logs,
            openlineage_inject_parent_job_info=openlineage_inject_parent_job_info,
            openlineage_inject_transport_info=openlineage_inject_transport_info,
            start_from_trigger=start_from_trigger,
        )
        self.restarts = restarts
        self.openlineage_inject_parent_job_info = openlineage_inject_parent_job_info
        self.openlineage_inject_transport_info = openlineage_inject_transport_info
        self.application = checks.convert_application(application)
        self.py_file = checks.convert_path(py_file)
        self.py_files = py_files
        self.main_class = main_class
        self.jars = jars
        self.files = files
        self.arguments = arguments
        self.conf = conf
        self.image = image
        self.spark_version = spark_version
        self.service_account = service_account
        self.driver_cores = driver_cores
        self.driver_memory = driver_memory
        self.executor_cores = executor_cores
        self.executor_memory = executor_memory
        self.executor_instances = executor_instances
        self.cluster = cluster
        self.upload_to = upload_to
        self.download_from = download_from
        self.api_version = api_version
        self.name = name
        self.namespace = namespace
        self.kubernetes_conn_id = kubernetes_conn_id
        self.deferrable = deferrable
        self.wait_for_completion = wait_for_completion
        self.delete_on_kill = delete_on_kill
        self.ttl = ttl
        self.get_logs = get_logs
        self.keep_failed_driver = keep_failed_driver
        checks.check_if_exists(if_exists)
        self.if_exists = if_exists
        known = checks.select_known_parameters({name: getattr(self, name) for name in PARAMETERS})
        problems = [ttl_problem(ttl), retention_problem(keep_failed_driver)]
        checks.check_problems([*known.problems(alone=application is None), *problems])
        if api_version:
            from airflow_provider_spark_operator.operators.dialect_checks import check_api_version

            check_api_version(api_version)
        self.start_from_trigger = start_from_trigger
        if start_from_trigger:
            from airflow_provider_spark_operator.operators.start import build_start_arguments

            self.start_trigger_args = build_start_arguments(self, self._collect_parameters())
        checks.check_unless_template(name, partial(name_problem, identity=APPLICATION_IDENTITY))
        checks.check_unless_template(namespace, namespace_problem)
        checks.check_unless_template(upload_to, folder_problem)
        self.link_target: LinkTarget | None = None
        self.resumed = False
        self.source_error: AirflowFailException | None = None
        self._run: ApplicationRun | None = None

    def render_template(
        self,
        content: Any,
        context: Context,
        jinja_env: jinja2.Environment | None = None,
        seen_oids: set[int] | None = None,
    ) -> Any:
        """Render `content`; where it is the path of the application's file, the file.

        Only here can the path be told from a string inside the document that merely looks like one. A file
        that cannot be read stays a path, until `execute` asks for it: Airflow renders before it resumes, too.
        """
        context = with_placeholders(context, jinja_env.globals if jinja_env else ())
        if content is self.application and source.may_be_file(content):
            environment = jinja_env or self.get_template_env()
            path = super().render_template(content, context, environment, set())
            if isinstance(path, str) and source.is_file_name(path):
                try:
                    content = source.read_source(path, environment)
                except AirflowFailException as error:
                    self.source_error = error
                    return path
        return super().render_template(content, context, jinja_env, seen_oids)

    def execute(self, context: Context) -> Any:
        """Submit or adopt the application, and wait for its end; see the class."""
        self._run = self._create_run(context)
        return self._run.execute()

    def execute_complete(self, context: Context, event: Mapping[str, Any] | None = None) -> Any:
        """Return the result of the application whose end the trigger reports."""
        self._run = self._create_run(context)
        return self._run.resume(event or {})

    def resume_execution(self, next_method: str, next_kwargs: dict[str, Any] | None, context: Context) -> Any:
        """Resume after the deferral. If Airflow ended the deferral because no trigger fired, cancel the application."""
        self.resumed = True
        try:
            return super().resume_execution(next_method, next_kwargs, context)
        except (TaskDeferralError, TaskDeferralTimeout) as error:
            self._run = self._create_run(context)
            raise self._run.fail_deferral(error) from error

    def on_kill(self) -> None:
        """Delete the application if a person has killed the task, but not if the worker is drained."""
        if self._run is not None and self.delete_on_kill:
            self._run.stop()

    def _create_run(self, context: Context) -> "ApplicationRun":
        from airflow_provider_spark_operator.operators.spark_application_runtime import ApplicationRun

        return ApplicationRun(self, self._collect_parameters(), context, self._create_program(context))

    def _create_program(self, context: Context) -> "Program | None":  # noqa: ARG002 - for the task of a function
        """Return the program that the task makes when it runs; None if the parameters or the document name it."""
        return None

    def _collect_parameters(self) -> Parameters:
        return Parameters(**{name: getattr(self, name) for name in PARAMETERS})
