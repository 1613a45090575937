"""Run a Spark application on Kubernetes, as a SparkApplication resource that an operator in the cluster manages."""

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.sdk import BaseOperatorLink, Context, XComArg

from ..airflow_compat import STARTS_IN_TRIGGERER, RetryPolicy, build_retry_arguments, conf, is_unmapped, warn_too_old
from ..core.compose.document import PydanticModel
from ..core.kubernetes.json_object import JsonObject
from ..core.kubernetes.names import APPLICATION_IDENTITY, find_name_problem, find_namespace_problem
from ..core.kubernetes.problems import Problem
from ..core.parameters import parameter_types
from ..core.parameters.arguments import (
    DEFAULT_CONNECTION_ID,
    KEEP_FAILED_DRIVER,
    RESTARTS_BY_CLUSTER,
    IfExists,
    OnBudgetExceeded,
    OnFailedCheck,
    check_booleans,
    check_budget,
    check_choice,
    check_connection_id,
    check_log_level,
    check_metrics,
    find_retention_problem,
    find_ttl_problem,
)
from ..core.parameters.parameter_problems import find_problems
from ..core.parameters.parameters import NAMES as PARAMETERS
from ..core.parameters.parameters import STRUCTURED as STRUCTURED_PARAMETERS
from ..core.parameters.parameters import Form, Parameters, find_folder_problem, select_names
from ..links.spark_application import LINKS
from ..links.spark_view import VIEW_LINK
from . import checks, source
from .renamed_arguments import ALIASES, take_renamed_arguments
from .resource_operator import ResourceOperator

if TYPE_CHECKING:
    from .spark_application_runtime import ApplicationRun, Program

__all__ = ["SparkApplicationOperator"]

_CONVERTERS = {
    **dict.fromkeys(("py_file", *select_names(Form.FILE)), checks.convert_path),
    **dict.fromkeys(select_names(Form.GROUP, Form.GROUPS), parameter_types.convert_to_plain),
    "streaming": checks.convert_streaming,
    "sql": checks.convert_paths,
}
_SWITCHES = (
    *("deferrable", "wait_for_completion", "delete_on_kill", "get_logs"),
    *("openlineage_inject_parent_job_info", "openlineage_inject_transport_info", "start_from_trigger", "sql_result"),
)
_TEXT_CHECKS: Mapping[str, Callable[[object], Problem | None]] = {
    "name": partial(find_name_problem, identity=APPLICATION_IDENTITY),
    "namespace": find_namespace_problem,
    "upload_to": partial(find_folder_problem, "upload_to"),
    "download_from": partial(find_folder_problem, "download_from"),
}
_DEFERRABLE = conf.getboolean("operators", "default_deferrable", fallback=False)
_INJECT_PARENT = conf.getboolean("openlineage", "spark_inject_parent_job_info", fallback=False)
_INJECT_TRANSPORT = conf.getboolean("openlineage", "spark_inject_transport_info", fallback=False)


class SparkApplicationOperator(ResourceOperator):
    """Submit a SparkApplication, wait for its end, and succeed or fail as the application did.

    If an earlier try of the same task left its application running, the task adopts that application instead of
    submitting another one. The XComs of the task are the name of the application (the return value), `namespace`,
    `uid`, `application_id`, `state`, `attempts`, `seconds_per_state` and `spark_run`, the record of the run.

    Paths of files: a path without a scheme is a local file, absolute or relative to the folder of the DAG. The task
    ships it to the driver. A `local://` URL is a file in the image. The driver reads any other URL itself.

    If a parameter that describes the application is None, the value of the manifest is used. If the manifest contains
    no value, the default of Spark or of the operator in the cluster is used.

    Args:
        application: The manifest: a dict, a Pydantic model, YAML or JSON text, or the path of a file. A path is
            absolute or relative to the folder of the DAG. Templates are rendered, even in a file. The other parameters
            override the manifest. Leave it out if the other parameters describe the application completely.
        py_file: Path or URL of the Python script to run, for example "jobs/report.py".
        py_files: Paths or URLs of Python files and archives that the script imports. Without `py_file`, the first one
            is the script.
        sql: The statements to run, for example "DROP TABLE old; SELECT 1", the path of a `.sql` file, or a list of
            both. Semicolons separate statements. Templates are rendered, even in a file.
        sql_parameters: Values of the markers in the statements: {"day": "2026-01-31"} for `:day`, or a list for `?`.
            Spark binds them to the statements, so that a value cannot change a statement.
        sql_result: Return the rows of the last statement, at most 1,000, as a list of dicts. If they have more than
            4 KiB as JSON, `upload_to` is required. The limit is then 1 MiB.
        main_class: Name of the class to run, for example "org.apache.spark.examples.SparkPi". `jars` must contain it.
        jars: Paths or URLs of jars. With `main_class`, the first one is the jar of the application and the others are
            its dependencies. With a script, all of them are dependencies.
        files: Paths or URLs of files for the driver and the executors, which find them with `SparkFiles.get`.
        arguments: Arguments of the program, for example ["--day", "2026-01-31"]. Each argument is converted to text.
        conf: Spark properties, for example {"spark.eventLog.enabled": True}. They override the manifest.
        image: Container image of the driver and the executors, for example "spark:4.3.0".
        spark_version: Spark version of the image, for example "4.3.0". Required if neither the manifest nor the tag of
            the image contains it.
        service_account: Name of the service account of the driver pod, for example "spark". It needs the permission to
            create executor pods. If neither this parameter nor the manifest sets it, the service account `default` of
            the namespace is used.
        driver_cores: Number of CPU cores of the driver. Overrides spark.driver.cores. Spark's default is 1.
        driver_memory: Memory of the driver, for example "2g". Overrides spark.driver.memory. Spark's default is "1g".
        executor_cores: Number of CPU cores of each executor. Overrides spark.executor.cores. Spark's default is 1.
        executor_memory: Memory of each executor, for example "4g". Overrides spark.executor.memory. Spark's default is
            "1g".
        executor_instances: Number of executors. Overrides spark.executor.instances. The default is 2, or 1
            with Kubeflow's operator. 0 is valid only with `dynamic_allocation` (or spark.dynamicAllocation.enabled in
            `conf`).
        executors_on_spot: Run the executors on spot nodes, and the driver on other nodes. Lost executors are
            decommissioned: they migrate their data. `aks`, `eks`, `gke` or `karpenter` names the label of the spot
            nodes. Any other label is an object, for example {"example.com/spot": "true"}.
        executor_recovery: True lets each executor run one task at a time, so that the task has all the memory. False
            prevents that. By default, Spark does so after an executor ran out of memory. Requires Spark 4.2.
        executor_resize: How often Spark compares the memory that executors use with their limit, in seconds or as a
            timedelta. Above 90 % it raises the limit of the pod by 10 %, without a restart. Requires Spark 4.2,
            metrics-server, and permissions of the driver. By default, Spark does not raise it.
        cluster: Name of a SparkCluster, or "<namespace>/<name>". Its workers run the executors, so that no executor
            pods are created.
        labels: Labels of the application, the driver pod and the executor pods, for example {"team": "sales"}. They are
            added to those of the manifest.
        annotations: Annotations of the application, the driver pod and the executor pods, for example
            {"example.com/owner": "ann"}. They are added to those of the manifest.
        env_vars: Environment variables of the driver and the executors, for example {"STAGE": "test"}. Everyone who can
            read the application can read them: use `secrets` for credentials.
        secrets: Secrets of the namespace, as environment variables or files of the pods. A list of `Secret`.
        config_maps: ConfigMaps of the namespace, as files of the pods. A list of `ConfigMap`.
        volumes: Volumes of the pods: claims, scratch space, or any other source. A list of `Volume`.
        node_selector: Labels that the nodes of the pods must have, for example {"pool": "spark"}.
        tolerations: Tolerations of the pods, as Kubernetes defines them, for example
            [{"key": "spot", "operator": "Exists"}].
        priority_class: Name of the PriorityClass of the pods, for example "batch". The PriorityClass must exist.
        image_pull_policy: When a node pulls the image: "Always", "IfNotPresent" or "Never". Spark's default is
            "IfNotPresent".
        image_pull_secrets: Names of Secrets with credentials of image registries, for example ["registry"]. The Secrets
            must exist in the namespace of the application.
        packages: Maven packages that the driver resolves, for example ["org.postgresql:postgresql:42.7.7"]. They are
            added to those of the manifest.
        exclude_packages: Dependencies of `packages` to leave out, for example ["org.slf4j:slf4j-api"]. Each has the
            format "<group>:<artifact>".
        repositories: URLs of Maven repositories, for example ["https://maven.example.com"]. Spark searches them in
            addition to Maven Central.
        driver_template: Pod template of the driver: an object with `metadata` and `spec`, YAML text, or the path of a
            YAML file, for example {"spec": {"hostNetwork": True}}. It is merged into the template of the manifest.
        executor_template: Pod template of the executors, in the same form as `driver_template`.
        dynamic_allocation: True or a `DynamicAllocation` with limits to let Spark choose the number of executors. False
            to disable that. Spark's default is False.
        event_log_dir: URL of the folder in which Spark writes event logs for a history server, for example
            "s3a://logs/spark-events". By default, Spark writes no event logs.
        timeouts: `Timeouts` of the start and the end of the driver and the executors. Not for Kubeflow's operator.
        restart_policy: When the operator in the cluster restarts the application: "Never", "OnFailure",
            "OnInfrastructureFailure" or "Always", or a `RestartPolicy` with the number of restarts and the delay. The
            default of the operator is "Never".
        proxy_user: Name of the user that Spark impersonates when it reads and writes data, for example "ann". By
            default, Spark impersonates no user.
        kueue_queue: Name of a LocalQueue of Kueue. The operator in the cluster starts the application when Kueue admits
            it to the queue. Airflow's own argument `queue` selects the workers of the task. By default, the application
            does not wait for Kueue.
        kueue_priority: Name of a WorkloadPriorityClass of Kueue: the priority of the application in its queue. By
            default, the priority is that of the PriorityClass of the pods.
        scheduler: Scheduler of the pods: `volcano`, `yunikorn`, or another name. `Scheduler` also sets the queue of
            Volcano or YuniKorn, for example `Scheduler("yunikorn", queue="root.data")`. By default, the scheduler of
            Kubernetes is used.
        upload_to: URL of a folder for local files that are too large for a ConfigMap, or not text, for example
            "s3://connection@bucket/jobs". If None, the task uploads nothing.
        download_from: URL of the same folder, as the driver reads it. If None, it is `upload_to` without the connection
            id, and `s3a` replaces `s3`.
        api_version: apiVersion of an application without a manifest, or whose manifest does not contain it. For
            Kubeflow's operator, "sparkoperator.k8s.io/v1beta2". If None, the apiVersion of the manifest is used.
            Without a manifest, it is `spark.apache.org/v1`.
        name: Name of the application. Overrides `metadata.name`. If neither is set, the name is derived from the DAG
            id, the task id and the run id. Without a manifest, the executor pods are named after the application,
            unless `conf` sets spark.kubernetes.executor.podNamePrefix.
        namespace: Namespace of the application. Overrides `metadata.namespace`. If neither is set, the namespace of the
            connection is used.
        kubernetes_conn_id: Id of a connection to a Kubernetes cluster. If None, the default cluster is used: the one
            in which Airflow runs, or that of the local kubeconfig. The default is `kubernetes_default`.
        deferrable: Wait in the triggerer, so that the task does not occupy a worker. The default is `[operators]
            default_deferrable` of Airflow's configuration.
        wait_for_completion: Wait for the end of the application. If False, the task succeeds when the application is
            submitted.
        delete_on_kill: Delete the application if a user stops the task, or if the task times out. Also delete it if the
            task fails for another reason before the application ends, unless a retry follows. If False, the application
            continues.
        ttl: How long the application stays in the cluster after its end, in seconds or as a timedelta. -1 keeps it. If
            None, the value of the manifest is used. If the manifest has none, the default is 1 day after a success that
            the task has seen, and 7 days otherwise. With Kubeflow's operator, the default is 7 days after every end.
        get_logs: Show the log of the driver in the task log while the driver runs.
        driver_log_level: Lowest level of Spark's own lines that the task log shows: "DEBUG", "INFO", "WARNING" or
            "ERROR". The output of the program is always shown. If None, all lines are shown.
        spark_metrics: Read what Spark does from the Spark UI of the driver while the application runs: the progress,
            and the time and memory of tasks. Airflow needs the permission `get` on `pods/proxy`. The URL of the folder
            with event logs, as the worker reads it, for example "s3://connection@bucket/events", also reads the final
            figures there. The default is False.
        keep_failed_driver: How long the cluster keeps the driver pod of a failed application, in seconds or as a
            timedelta. It is written as `resourceRetainPolicy: OnFailure` and `resourceRetainDurationMillis`, unless the
            manifest contains one of these fields. If None, the cluster decides. The default is 5 minutes.
        keep_driver: How long the cluster keeps the driver pod after any end, a success included, in seconds or as a
            timedelta. Like `keep_failed_driver`, it does not override the fields of the manifest. If None,
            `keep_failed_driver` alone decides.
        restarts: Who restarts a failed application. None (the default): the operator in the cluster, but only in the
            first try of the task. In each retry, the application runs without restarts. "cluster": the operator, in
            each try. Restarts and retries then multiply. "airflow": only the retries of the task. Restarts by the
            operator are disabled. With "airflow", a restart policy that is known when the DAG is parsed becomes
            `retries`, `retry_delay` and `retry_policy` of the task. Arguments of the task itself take precedence, and
            so does a `retry_policy` in `default_args`. `retries` and `retry_delay` in `default_args` do not.
        openlineage_inject_parent_job_info: Add Spark properties that make the task the OpenLineage parent of the job.
            The default is `[openlineage] spark_inject_parent_job_info` of Airflow's configuration.
        openlineage_inject_transport_info: Add the OpenLineage transport of Airflow to the Spark properties, with its
            key in plain text. The default is `[openlineage] spark_inject_transport_info` of Airflow's configuration.
        start_from_trigger: Start the task in the triggerer. A worker only processes the result. On Airflow before 3.3,
            a worker starts the task, and the task then defers.
        if_exists: What to do if an application of another run of the same task has the same name. "replace_ended" (the
            default): if that application has ended, the task deletes it and waits until it no longer exists; otherwise,
            the task fails. "fail": the task always fails. Applications of other owners are never deleted.
        max_core_hours: Core-hours that the application may request with all its attempts, for example 100. At 80 % of
            this limit, and above it, the task log has a warning. If None, there is no limit.
        max_cost: Cost of the application, in the currency of `[spark_operator] prices` in Airflow's configuration, for
            example 12.5. The task fails before the submission if no prices are configured. If None, there is no limit.
        on_budget_exceeded: What to do if the application has used more than `max_core_hours` or `max_cost`. "warn" (the
            default): the application continues. "fail": the task deletes the application and fails with
            `SparkBudgetExceeded`, without a retry.
        on_failed_check: What to do if the program succeeds, but has reported with `report.check` that a check failed.
            "fail" (the default): the task fails with `SparkCheckFailed`. "warn": the task logs a warning and succeeds.
        streaming: True or a `Streaming` if the application runs streaming queries, which are not expected to end. The
            task warns of stalled queries. If another run of the task has left an application with the same name
            running, the task asks it to stop, and replaces it. By default, the application is expected to end.
        retry_policy: Policy that decides after a failure whether the task is retried, for example `SparkRetryPolicy()`.
            If None, `retries` alone decides.
        **kwargs: Arguments that Airflow accepts for all operators, for example `task_id`, `retries` and `pool`.

    Raises:
        TypeError: `application` has an unsupported type, or a switch is not a boolean.
        ValueError: A name is not a valid Kubernetes name, or another parameter is not valid.
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
        "sql": "sql",
        **dict.fromkeys((*select_names(Form.FILES, Form.WORDS), *STRUCTURED_PARAMETERS), "json"),
        **dict.fromkeys(select_names(Form.FILE), "yaml"),
    }
    # Airflow would read each string in the document that ends in .yaml as a file: see `render_template`.
    template_ext: Sequence[str] = ()
    operator_extra_links: Sequence[BaseOperatorLink] = (*LINKS, VIEW_LINK)
    ui_color = "#fbe2d3"
    # Airflow's `__setattr__` is slow. The constructor sets only those of these attributes that the task sets.
    # `make docs` generates the attributes between the next two comments from the fields of `Parameters`.
    # Begin of the generated attributes.
    image: str | None = None
    spark_version: str | None = None
    py_file: str | None = None
    arguments: Sequence[object] | None = None
    sql: Sequence[str] | str | None = None
    sql_parameters: Mapping[str, object] | Sequence[object] | None = None
    main_class: str | None = None
    jars: Sequence[str] | str | None = None
    py_files: Sequence[str] | str | None = None
    files: Sequence[str] | str | None = None
    packages: Sequence[str] | str | None = None
    exclude_packages: Sequence[str] | str | None = None
    repositories: Sequence[str] | str | None = None
    driver_cores: int | str | None = None
    driver_memory: str | None = None
    executor_cores: int | str | None = None
    executor_memory: str | None = None
    executor_instances: int | str | None = None
    dynamic_allocation: parameter_types.DynamicAllocation | Mapping[str, object] | bool | str | None = None
    executors_on_spot: Mapping[str, object] | str | None = None
    executor_recovery: bool | str | None = None
    executor_resize: timedelta | float | str | None = None
    cluster: str | None = None
    conf: Mapping[str, object] | None = None
    event_log_dir: str | None = None
    proxy_user: str | None = None
    service_account: str | None = None
    labels: Mapping[str, object] | None = None
    annotations: Mapping[str, object] | None = None
    env_vars: Mapping[str, object] | None = None
    secrets: Sequence[parameter_types.Secret | Mapping[str, object]] | None = None
    config_maps: Sequence[parameter_types.ConfigMap | Mapping[str, object]] | None = None
    volumes: Sequence[parameter_types.Volume | Mapping[str, object]] | None = None
    node_selector: Mapping[str, object] | None = None
    tolerations: Sequence[Mapping[str, object]] | None = None
    priority_class: str | None = None
    image_pull_policy: str | None = None
    image_pull_secrets: Sequence[str] | str | None = None
    driver_template: Mapping[str, object] | str | None = None
    executor_template: Mapping[str, object] | str | None = None
    restart_policy: parameter_types.RestartPolicy | Mapping[str, object] | str | None = None
    timeouts: parameter_types.Timeouts | Mapping[str, object] | None = None
    kueue_queue: str | None = None
    kueue_priority: str | None = None
    scheduler: parameter_types.Scheduler | Mapping[str, object] | str | None = None
    # End of the generated attributes.
    application: Any = None
    upload_to: str | None = None
    download_from: str | None = None
    api_version: str | None = None
    wait_for_completion: bool
    sql_result: bool = False
    get_logs: bool
    driver_log_level: str | None = None
    spark_metrics: bool | str = False
    openlineage_inject_parent_job_info: bool
    openlineage_inject_transport_info: bool
    keep_failed_driver: timedelta | float | None = None
    ttl: timedelta | float | None = None
    keep_driver: timedelta | float | None = None
    max_core_hours: float | None = None
    max_cost: float | None = None
    on_budget_exceeded: str = OnBudgetExceeded.WARN.value
    on_failed_check: str = OnFailedCheck.FAIL.value
    streaming: parameter_types.Streaming | None = None
    restarts: str | None = None

    def __init__(
        self,
        *,
        application: JsonObject | str | os.PathLike[str] | PydanticModel | XComArg | None = None,
        py_file: str | os.PathLike[str] | None = None,
        py_files: Sequence[str] | str | None = None,
        sql: Sequence[str | os.PathLike[str]] | str | os.PathLike[str] | None = None,
        sql_parameters: Mapping[str, object] | Sequence[object] | None = None,
        sql_result: bool = False,
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
        executors_on_spot: Mapping[str, object] | str | None = None,
        executor_recovery: bool | str | None = None,
        executor_resize: timedelta | float | str | None = None,
        cluster: str | None = None,
        labels: Mapping[str, object] | None = None,
        annotations: Mapping[str, object] | None = None,
        env_vars: Mapping[str, object] | None = None,
        secrets: Sequence[parameter_types.Secret | Mapping[str, object]] | None = None,
        config_maps: Sequence[parameter_types.ConfigMap | Mapping[str, object]] | None = None,
        volumes: Sequence[parameter_types.Volume | Mapping[str, object]] | None = None,
        node_selector: Mapping[str, object] | None = None,
        tolerations: Sequence[Mapping[str, object]] | None = None,
        priority_class: str | None = None,
        image_pull_policy: str | None = None,
        image_pull_secrets: Sequence[str] | str | None = None,
        packages: Sequence[str] | str | None = None,
        exclude_packages: Sequence[str] | str | None = None,
        repositories: Sequence[str] | str | None = None,
        driver_template: Mapping[str, object] | str | os.PathLike[str] | None = None,
        executor_template: Mapping[str, object] | str | os.PathLike[str] | None = None,
        dynamic_allocation: parameter_types.DynamicAllocation | Mapping[str, object] | bool | str | None = None,
        event_log_dir: str | None = None,
        timeouts: parameter_types.Timeouts | Mapping[str, object] | None = None,
        restart_policy: parameter_types.RestartPolicy | Mapping[str, object] | str | None = None,
        proxy_user: str | None = None,
        kueue_queue: str | None = None,
        kueue_priority: str | None = None,
        scheduler: parameter_types.Scheduler | Mapping[str, object] | str | None = None,
        upload_to: str | None = None,
        download_from: str | None = None,
        api_version: str | None = None,
        name: str | None = None,
        namespace: str | None = None,
        kubernetes_conn_id: str | None = DEFAULT_CONNECTION_ID,
        deferrable: bool = _DEFERRABLE,
        wait_for_completion: bool = True,
        delete_on_kill: bool = True,
        ttl: timedelta | float | None = None,
        get_logs: bool = True,
        driver_log_level: str | None = None,
        spark_metrics: bool | str = False,
        keep_failed_driver: timedelta | float | None = KEEP_FAILED_DRIVER,
        keep_driver: timedelta | float | None = None,
        restarts: str | None = None,
        openlineage_inject_parent_job_info: bool = _INJECT_PARENT,
        openlineage_inject_transport_info: bool = _INJECT_TRANSPORT,
        start_from_trigger: bool = False,
        if_exists: str = IfExists.REPLACE_ENDED.value,
        max_core_hours: float | None = None,
        max_cost: float | None = None,
        on_budget_exceeded: str = OnBudgetExceeded.WARN.value,
        on_failed_check: str = OnFailedCheck.FAIL.value,
        streaming: parameter_types.Streaming | bool | None = None,
        retry_policy: RetryPolicy | None = None,
        **kwargs: Any,
    ) -> None:
        # All arguments. Nothing may be assigned above, because each local name counts as an argument here.
        values = {name: value for name, value in locals().items() if name not in ("self", "kwargs", "__class__")}
        if restarts not in (None, RESTARTS_BY_CLUSTER):
            from .dialect_checks import map_restarts

            kwargs = {**kwargs, "retry_policy": retry_policy}
            kwargs = map_restarts(restarts, application, restart_policy, api_version, kwargs)
            retry_policy = kwargs.pop("retry_policy")
        renamed = take_renamed_arguments(kwargs, [name for name in ALIASES.values() if values[name] is not None])
        super().__init__(**kwargs, **build_retry_arguments(retry_policy))
        checks.check_retry_policy(retry_policy)
        check_booleans(**{name: values[name] for name in _SWITCHES})
        check_connection_id(kubernetes_conn_id)
        values |= {"application": checks.convert_application(application), "retry_policy": retry_policy, **renamed}
        values |= {name: _CONVERTERS[name](values[name]) for name in _CONVERTERS}
        for argument, value in values.items():
            if value is not None:
                setattr(self, argument, value)
        check_choice("if_exists", if_exists, IfExists)
        check_choice("on_failed_check", on_failed_check, OnFailedCheck)
        check_log_level(driver_log_level)
        check_metrics(spark_metrics)
        checks.check_sql_result(sql, sql_result=sql_result, wait_for_completion=wait_for_completion)
        check_budget(max_core_hours, max_cost, on_budget_exceeded, wait_for_completion=wait_for_completion)
        known = checks.select_known_parameters({name: values[name] for name in PARAMETERS})
        problems = [find_ttl_problem(ttl), find_retention_problem("keep_driver", keep_driver)]
        problems.append(find_retention_problem("keep_failed_driver", keep_failed_driver))
        checks.check_problems([*find_problems(known, alone=application is None), *problems])
        if api_version or checks.names_other_dialect(self.application):
            from .dialect_checks import check_dialect

            check_dialect(api_version, self.application, known)
        self.start_from_trigger = start_from_trigger and STARTS_IN_TRIGGERER
        checks.check_streaming(
            self.streaming,
            waits_on_worker=wait_for_completion and not start_from_trigger,
            is_named=name is not None or application is not None,
            runs_sql=sql is not None,
        )
        if start_from_trigger:
            self._prepare_start()
        for argument, find_problem in _TEXT_CHECKS.items():
            checks.check_unless_template(values[argument], find_problem)
        if download_from is not None and upload_to is None:
            raise ValueError("download_from: has no effect without upload_to: set upload_to")

    def _prepare_start(self) -> None:
        """Let the triggerer start the task. On an older Airflow, a worker starts the task, which then defers.

        Older versions of Airflow make the same checks, so that the DAG file is valid after an upgrade of Airflow.
        """
        if not is_unmapped(self):  # elements of a mapped task start on a worker
            from .start import build_start_arguments, warn_if_too_many

            start_arguments = build_start_arguments(self, self._collect_parameters())
            if STARTS_IN_TRIGGERER:
                self.start_trigger_args = start_arguments
                warn_if_too_many(self.get_dag())
        if not STARTS_IN_TRIGGERER:
            effect = "a worker submits the application, and then the task defers"
            warn_too_old("start_from_trigger", effect, self.task_id)
            self.deferrable = True

    def _create_run(self, context: Context) -> "ApplicationRun":
        from .spark_application_runtime import ApplicationRun

        return ApplicationRun(self, self._collect_parameters(), context, self._create_program(context))

    def _create_program(self, context: Context) -> "Program | None":  # noqa: ARG002 - subclasses use the context
        """Return the program that the task creates; None if the parameters or the manifest name the program."""
        if not self.sql_result:
            return None
        from .driver_result import create_rows_result

        return create_rows_result(self.upload_to, self.download_from)

    def _find_noun(self, content: object) -> str | None:
        """Return what the file at the path `content` contains; None if `content` is not the path of a file."""
        if content is self.application:
            return "application"
        if content is self.driver_template or content is self.executor_template:
            return "pod template"
        if content is self.sql or (isinstance(self.sql, list) and any(content is one for one in self.sql)):
            return source.SQL
        return None

    def _collect_parameters(self) -> Parameters:
        return Parameters(**{name: getattr(self, name) for name in PARAMETERS})
