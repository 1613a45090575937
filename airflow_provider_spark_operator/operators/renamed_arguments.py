"""The arguments of other Spark operators: which parameter of SparkApplicationOperator replaces each of them.

DAG files import this module.
"""

import warnings
from collections.abc import Collection, Mapping
from typing import Any, Final

# Arguments with the same meaning under another name. They are accepted with a warning.
ALIASES: Final[Mapping[str, str]] = {
    "application_args": "arguments",
    "java_class": "main_class",
    "num_executors": "executor_instances",
    "service_account_name": "service_account",
}
_NOT_NEEDED: Final = "remove this argument: the task watches the application, and a retry adopts the application"
_CLUSTER: Final = "use kubernetes_conn_id, with a connection of the type sparkkubernetes"
_NO_YARN: Final = "remove this argument: the application does not run on YARN"
_KERBEROS: Final = (
    "use conf with spark.kubernetes.kerberos.krb5.configMapName and spark.kubernetes.kerberos.tokenSecret"
)
# Arguments with another meaning, or without an equivalent. Each has the advice for the error.
ADVICE: Final[Mapping[str, str]] = {
    "conn_id": _CLUSTER,
    "in_cluster": _CLUSTER,
    "cluster_context": _CLUSTER,
    "config_file": _CLUSTER,
    "application_file": "use the parameter application",
    "template_spec": "use the parameter application, with the value of `spark`",
    "code_path": "use py_file, or main_class with jars",
    "archives": "use conf with spark.archives",
    "driver_class_path": "use conf with spark.driver.extraClassPath",
    "total_executor_cores": "use executor_instances and executor_cores; with cluster=, set spark.cores.max in conf=",
    "properties_file": "use conf, or sparkConf in a manifest",
    "deploy_mode": "remove this argument: the driver always runs in the cluster",
    **dict.fromkeys(("keytab", "principal", "use_krb5ccache"), _KERBEROS),
    **dict.fromkeys(("yarn_queue", "yarn_track_via_rm_api", "yarn_rm_auth"), _NO_YARN),
    **dict.fromkeys(("spark_binary", "verbose"), "remove this argument: spark-submit does not run"),
    **dict.fromkeys(
        ("status_poll_interval", "poll_interval", "track_driver_via_k8s_api", "durable", "reconnect_on_retry"),
        _NOT_NEEDED,
    ),
    "reattach_on_restart": _NOT_NEEDED,
    "random_name_suffix": "remove this argument: if you set no name, the application of each try has its own name",
    "post_submit_commands": "use a downstream task",
    "startup_timeout_seconds": "use timeouts=Timeouts(driver_start=...)",
    "delete_on_termination": "use ttl",
    "retain": "use keep_driver, or keep_failed_driver for failed applications; to keep the application, use ttl",
    "volume_mounts": "use volumes: volumes=[Volume(...)] also sets the path in the pods",
    "history_server": "use event_log_dir",
    "success_run_history_limit": "use ttl",
    "cancel_on_kill": "use delete_on_kill",
    "asynchronous": "use wait_for_completion=False",
    # Arguments of KubernetesPodOperator.
    "node_selectors": "use node_selector",
    "priority_class_name": "use priority_class",
    **dict.fromkeys(("cmds", "entrypoint"), "use py_file, or main_class with jars"),
    "container_resources": "use driver_cores, driver_memory, executor_cores and executor_memory",
    **dict.fromkeys(
        (
            "affinity",
            "container_security_context",
            "dns_config",
            "dnspolicy",
            "full_pod_spec",
            "hostnetwork",
            "init_containers",
            "pod_template_dict",
            "pod_template_file",
            "security_context",
            "termination_grace_period",
        ),
        "use driver_template and executor_template",
    ),
    **dict.fromkeys(("configmaps", "env_from"), "use env_vars or secrets, or envFrom in driver_template"),
    **dict.fromkeys(("is_delete_operator_pod", "on_finish_action"), "use keep_driver, keep_failed_driver and ttl"),
    **dict.fromkeys(("schedulername", "scheduler_name"), "use scheduler"),
    **dict.fromkeys(("base_container_name", "ports", "startup_check_interval_seconds"), _NOT_NEEDED),
}


def take_renamed_arguments(arguments: dict[str, Any], given: Collection[str]) -> dict[str, Any]:
    """Remove the arguments of other operators from `arguments`, and return them under the names of this operator.

    Airflow applies `default_args` only to the parameters of a constructor. The aliases in them are applied here, unless
    the task sets the parameter. Arguments without an equivalent are ignored there: they belong to other operators.

    Args:
        arguments: The arguments of a task that the operator has no parameter for. It is changed.
        given: Names of the parameters that the task sets.

    Raises:
        TypeError: An argument has no equivalent, or the task also sets the equivalent.
    """
    found = [f"{name}: {advice}" for name, advice in ADVICE.items() if name in arguments]
    twice = [f"{old} and {new}: set only {new}" for old, new in ALIASES.items() if old in arguments and new in given]
    if found or twice:
        raise TypeError(f"SparkApplicationOperator does not accept these arguments: {'; '.join([*found, *twice])}")
    defaults = arguments.get("default_args") or {}
    renamed = {name: defaults[alias] for alias, name in ALIASES.items() if alias in defaults and name not in given}
    renamed |= {name: arguments.pop(alias) for alias, name in ALIASES.items() if alias in arguments}
    if renamed:
        names = ", ".join(f"{alias} is {name}" for alias, name in ALIASES.items() if name in renamed)
        # The caller is the constructor of the operator. Airflow wraps the constructor that the DAG file calls.
        warnings.warn(f"arguments have other names in SparkApplicationOperator: {names}. Rename them", stacklevel=4)
    return renamed
