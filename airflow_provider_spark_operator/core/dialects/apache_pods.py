"""Write the parameters of pods, packages and the lifecycle into a `spark.apache.org` SparkApplication."""

import json
from collections.abc import Mapping
from typing import Final

from ..driver.configuration.inputs import DRIVER_TEMPLATE_KEY
from ..driver.pod.volcano import POD_GROUP_JSON_KEY, POD_GROUP_TEMPLATE_KEY, VOLCANO_STEP
from ..kubernetes.json_object import InvalidResource, JsonObject, Problem, copy_object
from ..parameters.parameter_types import (
    VOLCANO,
    YUNIKORN,
    DynamicAllocation,
    RestartPolicy,
    Timeouts,
    build_value,
    read_flag,
    read_seconds,
)
from ..parameters.parameters import Parameters
from ..parameters.pod_settings import (
    CONTAINERS,
    DRIVER,
    EXECUTOR,
    ROLES,
    PodSettings,
    build_pod_settings,
    build_scheduler,
    format_values,
    merge_names,
    merge_packages,
    read_template,
    remove_replaced_properties,
    write_executors,
)
from ..parameters.pod_template import extend_template, merge_templates
from ..spark.spark_conf import DYNAMIC_ALLOCATION_KEY, SHUFFLE_TRACKING_KEY, TEMPLATE_CONTAINER_KEYS

_TEMPLATE_KEYS: Final = {DRIVER: DRIVER_TEMPLATE_KEY, EXECUTOR: "spark.kubernetes.executor.podTemplateFile"}
_LIMITS: Final = {"min": "minExecutors", "max": "maxExecutors", "initial": "initialExecutors"}
_TIMEOUTS: Final = {
    "driver_start": "driverStartTimeoutMillis",
    "driver_ready": "driverReadyTimeoutMillis",
    "executor_start": "executorStartTimeoutMillis",
    "termination": "forceTerminationGracePeriodMillis",
}
_YUNIKORN_APPLICATION: Final = "yunikorn.apache.org/app-id"
# Each version of YuniKorn reads this label.
_YUNIKORN_QUEUE: Final = "queue"
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
    return _write_scheduler(_write_allocation(written, parameters), parameters)


def write_pods(spec: JsonObject, conf: Mapping[str, str], parameters: Parameters) -> tuple[JsonObject, dict[str, str]]:
    """Return the spec and the Spark properties of an application with the settings of its pods.

    Args:
        spec: The spec; it stays unchanged.
        conf: The Spark properties; they stay unchanged.
        parameters: Valid parameters.

    Raises:
        InvalidResource: A part of a template is not an object or list, or a template would replace one in a file.
    """
    spec, written = dict(spec), write_executors(conf, parameters)
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
    parts = {"applicationTimeoutConfig": _build_timeouts(parameters), "restartConfig": build_restart_config(parameters)}
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


def _write_scheduler(conf: dict[str, str], parameters: Parameters) -> dict[str, str]:
    scheduler = build_scheduler(parameters)
    if scheduler is None:
        return conf
    written = conf | {"spark.kubernetes.scheduler.name": scheduler.name}
    for role in ROLES:
        # The property of a role wins.
        written.pop(f"spark.kubernetes.{role}.scheduler.name", None)
        if scheduler.name == VOLCANO:
            key = f"spark.kubernetes.{role}.pod.featureSteps"
            written[key] = ",".join(merge_names(conf.get(key), [VOLCANO_STEP]))
        if scheduler.name == YUNIKORN:
            written[f"spark.kubernetes.{role}.annotation.{_YUNIKORN_APPLICATION}"] = "{{APP_ID}}"
            if scheduler.queue is not None:
                written[f"spark.kubernetes.{role}.label.{_YUNIKORN_QUEUE}"] = scheduler.queue
    if scheduler.name == VOLCANO and scheduler.queue is not None:
        return _write_volcano_queue(written, scheduler.queue)
    return written


def _write_volcano_queue(conf: dict[str, str], queue: str) -> dict[str, str]:
    """Return the properties with the queue in the template of Volcano's PodGroup.

    Raises:
        InvalidResource: The template is in a file, or is not a JSON object.
    """
    if POD_GROUP_TEMPLATE_KEY in conf:
        message = f"queue cannot be set together with {POD_GROUP_TEMPLATE_KEY}: set the queue in that file"
        raise InvalidResource([Problem("scheduler", message)])
    try:
        template = json.loads(conf.get(POD_GROUP_JSON_KEY, "{}"))
    except (json.JSONDecodeError, RecursionError):
        template = None
    spec = template.get("spec", {}) if isinstance(template, dict) else None
    if not isinstance(spec, dict):
        raise InvalidResource([Problem(POD_GROUP_JSON_KEY, "must be a JSON object, and its spec must be an object")])
    return conf | {POD_GROUP_JSON_KEY: json.dumps({**template, "spec": {**spec, "queue": queue}})}


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
        names = "tolerations, priority_class, executors_on_spot, config_maps, or volumes with `source`"
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
    # 0 means no limit, so a short time is not rounded to it.
    return {field: max(1, round(1000 * value)) if value else 0 for field, value in seconds.items() if value is not None}
