"""Write parameters into the spec of a `spark.apache.org` SparkApplication."""

import json
from collections.abc import Mapping, Sequence
from typing import Final

from ..driver.configuration.inputs import DRIVER_TEMPLATE_KEY, PYTHON_RUNNER
from ..driver.pod.volcano import POD_GROUP_JSON_KEY, POD_GROUP_TEMPLATE_KEY, VOLCANO_STEP
from ..kubernetes.json_object import JsonObject, copy_object
from ..kubernetes.names import build_master_url
from ..kubernetes.problems import InvalidResource, Problem
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
from ..parameters.parameters import Parameters, find_version_in_tag, split_list
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
from ..spark.spark_conf import DYNAMIC_ALLOCATION_KEY, IMAGE_KEY, SHUFFLE_TRACKING_KEY, TEMPLATE_CONTAINER_KEYS

# The key of `spec.sparkConf` for each parameter.
CONF_KEYS: Final = {
    "image": IMAGE_KEY,
    "service_account": "spark.kubernetes.authenticate.driver.serviceAccountName",
    "driver_cores": "spark.driver.cores",
    "driver_memory": "spark.driver.memory",
    "executor_cores": "spark.executor.cores",
    "executor_memory": "spark.executor.memory",
    "executor_instances": "spark.executor.instances",
    "image_pull_policy": "spark.kubernetes.container.image.pullPolicy",
}
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


def write_parameters(document: JsonObject, parameters: Parameters) -> JsonObject:
    """Return `document` with the fields that `parameters` override.

    Args:
        document: The application; it stays unchanged.
        parameters: Valid parameters.

    Raises:
        InvalidResource: A part of the document that must be extended is not an object or list, or a parameter
            conflicts with a property.
    """
    spec = copy_object(document, "spec", "spec")
    conf = copy_object(spec, "sparkConf", "spec.sparkConf") | parameters.properties
    for name, key in CONF_KEYS.items():
        value = getattr(parameters, name)
        if value is not None:
            conf[key] = str(value).strip()
    if parameters.cluster is not None:
        conf |= {"spark.master": build_master_url(parameters.cluster)}
        # On Kubernetes, executors get a secret from the driver. The master and workers of a SparkCluster have none.
        conf.setdefault("spark.authenticate", "false")
    spec, conf = write_pods(spec, write_conf(conf, parameters), parameters)
    spec = write_lifecycle(spec, parameters)
    _write_program(spec, conf, parameters)
    _write_python_runner(spec, conf)
    _write_version(spec, conf, parameters)
    return document | {"spec": spec | ({"sparkConf": conf} if conf or "sparkConf" in spec else {})}


def _write_program(spec: JsonObject, conf: dict[str, str], parameters: Parameters) -> None:
    if parameters.main_class is not None:
        spec["mainClass"] = parameters.main_class
        for other in ("pyFiles", "sparkRFiles") if parameters.py_files is None else ():
            spec.pop(other, None)
    if parameters.py_file is not None:
        _write_script(spec, parameters.py_file, parameters.py_files)
    elif parameters.py_files is not None:
        spec["pyFiles"] = ",".join(split_list(parameters.py_files))
    if parameters.arguments is not None:
        spec["driverArgs"] = [str(argument) for argument in parameters.arguments]
    files = split_list(parameters.files)
    if files:
        conf["spark.files"] = _join_lists(conf.get("spark.files"), files)
    _write_jars(spec, conf, split_list(parameters.jars))


def _write_script(spec: JsonObject, script: str, py_files: Sequence[str] | str | None) -> None:
    java = spec.get("mainClass") != PYTHON_RUNNER
    for other in ("mainClass", "jars", "sparkRFiles") if java else ():
        spec.pop(other, None)
    others = split_list(spec.get("pyFiles"))[1:] if py_files is None else split_list(py_files)
    spec["pyFiles"] = ",".join([script, *others])


def _write_jars(spec: JsonObject, conf: dict[str, str], jars: list[str]) -> None:
    if not jars:
        return
    joined = _join_lists(conf.get("spark.jars"), jars)
    if spec.get("pyFiles") or spec.get("sparkRFiles"):
        spec.pop("jars", None)
        conf["spark.jars"] = joined
        return
    spec["jars"] = jars[0]
    if joined != jars[0]:  # the property replaces the application's own jar unless it lists that jar, too
        conf["spark.jars"] = joined


def _write_python_runner(spec: JsonObject, conf: dict[str, str]) -> None:
    """Name the class that runs a Python script, and move its jars to the property.

    The Apache operator splits `pyFiles` only with this class. It takes the file in `jars` for the program.
    """
    jars, main_class = spec.get("jars"), spec.get("mainClass")
    if not spec.get("pyFiles") or main_class not in (None, PYTHON_RUNNER) or (jars and main_class is None):
        return
    spec["mainClass"] = PYTHON_RUNNER
    if jars:
        del spec["jars"]
        conf["spark.jars"] = _join_lists(conf.get("spark.jars"), jars)


def _write_version(spec: JsonObject, conf: Mapping[str, str], parameters: Parameters) -> None:
    versions = copy_object(spec, "runtimeVersions", "spec.runtimeVersions")
    version = find_version_in_tag(str(conf.get(IMAGE_KEY, "")))
    if parameters.spark_version is not None:
        versions["sparkVersion"] = parameters.spark_version
    elif version:
        versions.setdefault("sparkVersion", version)
    if versions:
        spec["runtimeVersions"] = versions


def _join_lists(*lists: Sequence[str] | str | None) -> str:
    """Join the entries of all `lists` with commas, without duplicates."""
    return ",".join(dict.fromkeys(entry for each in lists for entry in split_list(each)))


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
