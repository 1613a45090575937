"""Write the parameters of pods, packages and the lifecycle into a `spark.apache.org` SparkApplication."""

from collections.abc import Mapping
from typing import Final

from airflow_provider_spark_operator.core.driver.inputs import DRIVER_TEMPLATE_KEY
from airflow_provider_spark_operator.core.json_object import JsonObject, copy_object
from airflow_provider_spark_operator.core.parameter_types import DynamicAllocation, RestartPolicy, Timeouts
from airflow_provider_spark_operator.core.parameter_values import build_value, read_flag, read_seconds
from airflow_provider_spark_operator.core.parameters import Parameters
from airflow_provider_spark_operator.core.pod_settings import (
    CONTAINERS,
    DRIVER,
    EXECUTOR,
    ROLES,
    PodSettings,
    build_pod_settings,
    format_values,
    merge_names,
    merge_packages,
    read_template,
    remove_replaced_properties,
)
from airflow_provider_spark_operator.core.pod_template import extend_template, merge_templates
from airflow_provider_spark_operator.core.problems import InvalidResource, Problem
from airflow_provider_spark_operator.core.spark_conf import (
    DYNAMIC_ALLOCATION_KEY,
    SHUFFLE_TRACKING_KEY,
    TEMPLATE_CONTAINER_KEYS,
)

_TEMPLATE_KEYS: Final = {DRIVER: DRIVER_TEMPLATE_KEY, EXECUTOR: "spark.kubernetes.executor.podTemplateFile"}
_LIMITS: Final = {"min": "minExecutors", "max": "maxExecutors", "initial": "initialExecutors"}
_TIMEOUTS: Final = {
    "driver_start": "driverStartTimeoutMillis",
    "driver_ready": "driverReadyTimeoutMillis",
    "executor_start": "executorStartTimeoutMillis",
    "termination": "forceTerminationGracePeriodMillis",
}
# The user of Spark's images has no home directory, which contains Ivy's cache by default.
IVY_KEY: Final = "spark.jars.ivy"
IVY_DIRECTORY: Final = "/tmp/.ivy2"  # noqa: S108 - a path in the driver pod


def write_conf(conf: Mapping[str, str], parameters: Parameters) -> dict[str, str]:
    """Return the Spark properties of an application, with the properties of the parameters.

    Args:
        conf: The Spark properties; they stay unchanged.
        parameters: Valid parameters.
    """
    written = dict(conf)
    lists = {
        "spark.kubernetes.container.image.pullSecrets": parameters.image_pull_secrets,
        "spark.jars.excludes": parameters.exclude_packages,
        "spark.jars.repositories": parameters.repositories,
    }
    for key, given in lists.items():
        if given is not None:
            written[key] = ",".join(merge_names(conf.get(key), given))
    if parameters.packages is not None:
        written["spark.jars.packages"] = ",".join(merge_packages(conf.get("spark.jars.packages"), parameters.packages))
        written.setdefault(IVY_KEY, IVY_DIRECTORY)
    if parameters.event_log_dir is not None:
        written |= {"spark.eventLog.enabled": "true", "spark.eventLog.dir": parameters.event_log_dir}
    return _write_allocation(written, parameters)


def write_pods(spec: JsonObject, conf: Mapping[str, str], parameters: Parameters) -> tuple[JsonObject, dict[str, str]]:
    """Return the spec and the Spark properties of an application with the settings of its pods.

    Args:
        spec: The spec; it stays unchanged.
        conf: The Spark properties; they stay unchanged.
        parameters: Valid parameters.

    Raises:
        InvalidResource: A part of a template is not an object or list, or a template would replace one in a file.
    """
    spec, written = dict(spec), dict(conf)
    for role in ROLES:
        settings = build_pod_settings(parameters, role)
        written = {**remove_replaced_properties(written, settings, role), **settings.properties}
        for noun, given in (("label", parameters.labels), ("annotation", parameters.annotations)):
            for name, value in format_values(given).items():
                written[f"spark.kubernetes.{role}.{noun}.{name}"] = value
        _write_template(spec, written, parameters, role, settings)
    return spec, written


def write_lifecycle(spec: JsonObject, parameters: Parameters) -> JsonObject:
    """Return the spec of an application with its user, timeouts and restart policy.

    Args:
        spec: The spec; it stays unchanged.
        parameters: Valid parameters.

    Raises:
        InvalidResource: A part of `applicationTolerations` is not an object.
    """
    written = dict(spec)
    if parameters.proxy_user is not None:
        written["proxyUser"] = parameters.proxy_user.strip()
    parts = {
        "applicationTimeoutConfig": _build_timeouts(parameters),
        "restartConfig": build_restart_config(parameters),
    }
    path = "spec.applicationTolerations"
    for name, fields in parts.items():
        if fields:
            tolerations = copy_object(written, "applicationTolerations", path)
            own = copy_object(tolerations, name, f"{path}.{name}")
            written["applicationTolerations"] = tolerations | {name: own | fields}
    return written


def build_restart_config(parameters: Parameters) -> JsonObject:
    """Return the fields of a restartConfig that the parameters set."""
    given = parameters.restart_policy
    if given is None:
        return {}
    policy = RestartPolicy(given) if isinstance(given, str) else build_value(RestartPolicy, given)
    config: JsonObject = {"restartPolicy": policy.policy}
    if policy.attempts is not None:
        config["maxRestartAttempts"] = int(policy.attempts)
    seconds = read_seconds(policy.backoff)
    if seconds is not None:
        config["restartBackoffMillis"] = round(1000 * seconds)
    return config


def _write_allocation(conf: dict[str, str], parameters: Parameters) -> dict[str, str]:
    given = parameters.dynamic_allocation
    if given is None:
        return conf
    enabled = read_flag(given)
    conf = conf | {DYNAMIC_ALLOCATION_KEY: "false" if enabled is False else "true"}
    if enabled is not False:
        # Kubernetes has no external shuffle service.
        conf.setdefault(SHUFFLE_TRACKING_KEY, "true")
    limits = build_value(DynamicAllocation, given) if enabled is None else DynamicAllocation()
    for name, field in _LIMITS.items():
        number = getattr(limits, name)
        if number is not None:
            conf[f"spark.dynamicAllocation.{field}"] = str(number).strip()
    return conf


def _write_template(
    spec: JsonObject, conf: Mapping[str, str], parameters: Parameters, role: str, settings: PodSettings
) -> None:
    given = read_template(parameters, role)
    if not (given or settings.pod or settings.container):
        return
    field = f"{role}Spec"
    path = f"spec.{field}.podTemplateSpec"
    holder = copy_object(spec, field, f"spec.{field}")
    key = _TEMPLATE_KEYS[role]
    if holder.get("podTemplateSpec") is None and not given and key in conf:
        names = "tolerations, priority_class, config_maps, or volumes with `source`"
        advice = f"Pass the content of the file as {role}_template, and remove this property"
        message = f"cannot be combined with {names}. {advice}"
        raise InvalidResource([Problem(key, message)])
    template = merge_templates(copy_object(holder, "podTemplateSpec", path), given)
    name = str(conf.get(TEMPLATE_CONTAINER_KEYS[role]) or CONTAINERS[role])
    template = extend_template(template, path, name, pod=settings.pod, container=settings.container)
    spec[field] = holder | {"podTemplateSpec": template}


def _build_timeouts(parameters: Parameters) -> JsonObject:
    if parameters.timeouts is None:
        return {}
    timeouts = build_value(Timeouts, parameters.timeouts)
    seconds = {field: read_seconds(getattr(timeouts, name)) for name, field in _TIMEOUTS.items()}
    return {field: round(1000 * value) for field, value in seconds.items() if value is not None}
