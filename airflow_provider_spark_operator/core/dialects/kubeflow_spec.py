"""Write parameters into the spec of a `sparkoperator.k8s.io` SparkApplication, which has a field for most of them.

The operator writes some fields only with its webhook, which an installation can lack: environment variables, mounts,
node selectors, tolerations and the priority class. They are written as Spark properties and into pod templates instead.
"""

import math
from collections.abc import Mapping
from typing import Final

from ..kubernetes.json_object import JsonObject, copy_list, copy_object
from ..kubernetes.pods import get_object
from ..parameters.parameter_types import (
    VOLCANO,
    YUNIKORN,
    DynamicAllocation,
    RestartPolicy,
    build_value,
    read_flag,
    read_seconds,
)
from ..parameters.parameters import Parameters, find_version_in_tag, split_list
from ..parameters.pod_settings import (
    CONTAINERS,
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
from ..spark.spark_conf import DYNAMIC_ALLOCATION_KEY, uses_dynamic_allocation
from ..states.states import RESTART_ATTEMPTS, RESTART_BACKOFF_MILLIS
from .apache_spec import CONF_KEYS, IVY_DIRECTORY, IVY_KEY

# The path of the field for each parameter.
_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "image": ("image",),
    "main_class": ("mainClass",),
    "spark_version": ("sparkVersion",),
    "service_account": ("driver", "serviceAccount"),
    "driver_cores": ("driver", "cores"),
    "driver_memory": ("driver", "memory"),
    "executor_cores": ("executor", "cores"),
    "executor_memory": ("executor", "memory"),
    "executor_instances": ("executor", "instances"),
}
_NUMBERS: Final = ("driver_cores", "executor_cores", "executor_instances")
_JVM_TYPES: Final = ("Java", "Scala")
_RETRY_INTERVALS: Final = ("onFailureRetryInterval", "onSubmissionFailureRetryInterval")
_RETRY_SECONDS: Final = 5


def write_parameters(document: JsonObject, parameters: Parameters) -> JsonObject:
    """Return `document` with the fields that `parameters` override.

    Args:
        document: The application; it stays unchanged.
        parameters: Valid parameters, which Kubeflow's operator supports.

    Raises:
        InvalidResource: A part of the document that must be extended is not an object or list.
    """
    spec = copy_object(document, "spec", "spec")
    for name in ("driver", "executor", "deps"):
        spec[name] = copy_object(spec, name, f"spec.{name}")
    for name, path in _FIELDS.items():
        value = getattr(parameters, name)
        if value is not None:
            holder = spec if len(path) == 1 else spec[path[0]]
            holder[path[-1]] = _read_number(value) if name in _NUMBERS else str(value).strip()
    version = find_version_in_tag(parameters.image)
    if version:
        spec.setdefault("sparkVersion", version)
    _write_program(spec, parameters)
    conf = copy_object(spec, "sparkConf", "spec.sparkConf") | parameters.properties
    # The operator passes sparkConf to spark-submit after most fields, so these properties would override the fields.
    for name, key in CONF_KEYS.items():
        if getattr(parameters, name) is not None:
            conf.pop(key, None)
    write_dependencies(spec["deps"], conf, parameters)
    write_lifecycle(spec, conf, parameters)
    conf = write_pods(spec, conf, parameters)
    if conf or "sparkConf" in spec:
        spec["sparkConf"] = conf
    if not spec["deps"]:
        del spec["deps"]
    _write_defaults(spec, conf)
    return document | {"spec": spec}


def _write_program(spec: JsonObject, parameters: Parameters) -> None:
    deps = spec["deps"]
    py_files, jars = split_list(parameters.py_files), split_list(parameters.jars)
    script = parameters.py_file
    if script is None and py_files and parameters.main_class is None:
        script, *py_files = py_files
    if script is not None:
        spec |= {"type": "Python", "mainApplicationFile": script}
        spec.pop("mainClass", None)
    elif parameters.main_class is not None or (jars and spec.get("type") != "Python"):
        spec["type"] = spec["type"] if spec.get("type") in _JVM_TYPES else "Java"
        if jars:
            spec["mainApplicationFile"], *jars = jars
    if parameters.arguments is not None:
        spec["arguments"] = [str(argument) for argument in parameters.arguments]
    for key, more in (("pyFiles", py_files), ("jars", jars), ("files", split_list(parameters.files))):
        if more:
            deps[key] = [*(deps.get(key) or ()), *more] if key == "files" else more


def _write_defaults(spec: JsonObject, conf: Mapping[str, object]) -> None:
    """Write the defaults that the webhook of the operator writes (`api/v1beta2/defaults.go`), if it is installed.

    Without `mode`, the operator submits no application. Without the intervals, it does not restart one. Two fields are
    left out. The API requires `type`. Without a type of restart policy, the operator never restarts an application.

    Args:
        spec: The spec, which is changed. Its fields `driver` and `executor` are objects.
        conf: The Spark properties.
    """
    spec["mode"] = spec.get("mode") or "cluster"
    policy = copy_object(spec, "restartPolicy", "spec.restartPolicy")
    if policy.get("type") not in (None, "", "Never"):
        given = {interval: value for interval, value in policy.items() if value is not None}
        spec["restartPolicy"] = {**dict.fromkeys(_RETRY_INTERVALS, _RETRY_SECONDS), **given}
    for role in ROLES:
        for field, default in (("cores", 1), ("memory", "1g")):
            if f"spark.{role}.{field}" not in conf and spec[role].get(field) is None:
                spec[role][field] = default
    allocation = get_object(spec.get("dynamicAllocation"))
    if allocation.get("enabled") is True:
        tracking = allocation.get("shuffleTrackingEnabled")
        spec["dynamicAllocation"] = {**allocation, "shuffleTrackingEnabled": tracking is not False}
    elif not (conf.get("spark.executor.instances") or uses_dynamic_allocation(conf)):
        # With dynamic allocation in the properties, the webhook writes 1 as well: it misspells the property.
        instances = spec["executor"].get("instances")
        spec["executor"]["instances"] = 1 if instances is None else instances


def _read_number(value: object) -> object:
    written = str(value).strip()
    return int(written) if written.isdecimal() else value  # a template that is not rendered yet


def write_dependencies(deps: JsonObject, conf: dict[str, str], parameters: Parameters) -> None:
    """Write the Maven packages of the parameters.

    Args:
        deps: The dependencies, which are changed.
        conf: The Spark properties, which are changed.
        parameters: Valid parameters.
    """
    if parameters.packages is not None:
        present = merge_names(deps.get("packages"), conf.pop("spark.jars.packages", None))
        deps["packages"] = merge_packages(present, parameters.packages)
        conf.setdefault(IVY_KEY, IVY_DIRECTORY)
    names = {
        "excludePackages": ("spark.jars.excludes", parameters.exclude_packages),
        "repositories": ("spark.jars.repositories", parameters.repositories),
    }
    for field, (key, given) in names.items():
        if given is not None:
            deps[field] = merge_names(merge_names(deps.get(field), conf.pop(key, None)), given)


def write_lifecycle(spec: JsonObject, conf: dict[str, str], parameters: Parameters) -> None:
    """Write the user, the event logs, dynamic allocation, the image pull and the restart policy.

    Args:
        spec: The spec, which is changed.
        conf: The Spark properties, which are changed.
        parameters: Valid parameters.

    Raises:
        InvalidResource: A part of the spec that must be extended is not an object or list.
    """
    if parameters.proxy_user is not None:
        spec["proxyUser"] = parameters.proxy_user.strip()
    if parameters.image_pull_policy is not None:
        spec["imagePullPolicy"] = parameters.image_pull_policy
    if parameters.image_pull_secrets is not None:
        present = copy_list(spec, "imagePullSecrets", "spec.imagePullSecrets")
        named = split_list(conf.pop("spark.kubernetes.container.image.pullSecrets", None))
        given = split_list(parameters.image_pull_secrets)
        spec["imagePullSecrets"] = list(dict.fromkeys([*present, *named, *given]))
    if parameters.event_log_dir is not None:
        conf |= {"spark.eventLog.enabled": "true", "spark.eventLog.dir": parameters.event_log_dir}
    _write_allocation(spec, conf, parameters)
    _write_restart_policy(spec, parameters)
    _write_scheduler(spec, conf, parameters)


def write_pods(spec: JsonObject, conf: Mapping[str, str], parameters: Parameters) -> dict[str, str]:
    """Write the settings of the pods, and return the Spark properties with those of the pods.

    Args:
        spec: The spec, which is changed. Its fields `driver` and `executor` are objects.
        conf: The Spark properties; they stay unchanged.
        parameters: Valid parameters.

    Raises:
        InvalidResource: A part of the spec that must be extended is not an object or list.
    """
    written = write_executors(conf, parameters)
    for role in ROLES:
        settings = build_pod_settings(parameters, role)
        written = {**remove_replaced_properties(written, settings, role), **settings.properties}
        pod = dict(spec[role])
        for field, given in (("labels", parameters.labels), ("annotations", parameters.annotations)):
            if given:
                pod[field] = copy_object(pod, field, f"spec.{role}.{field}") | format_values(given)
        _remove_replaced_fields(pod, settings, parameters, f"spec.{role}")
        given_template = read_template(parameters, role)
        if given_template or settings.pod or settings.container:
            path = f"spec.{role}.template"
            template = merge_templates(copy_object(pod, "template", path), given_template)
            name = CONTAINERS[role]
            pod["template"] = extend_template(template, path, name, pod=settings.pod, container=settings.container)
        spec[role] = pod
    return written


def _write_scheduler(spec: JsonObject, conf: dict[str, str], parameters: Parameters) -> None:
    scheduler = build_scheduler(parameters)
    if scheduler is None:
        return
    if scheduler.name not in (VOLCANO, YUNIKORN):
        conf["spark.kubernetes.scheduler.name"] = scheduler.name
        return
    spec["batchScheduler"] = scheduler.name
    if scheduler.queue is not None:
        options = copy_object(spec, "batchSchedulerOptions", "spec.batchSchedulerOptions")
        spec["batchSchedulerOptions"] = options | {"queue": scheduler.queue}


def _remove_replaced_fields(pod: JsonObject, settings: PodSettings, parameters: Parameters, path: str) -> None:
    """Remove what the webhook would write over the parameters."""
    objects = {
        "envVars": settings.variables,
        "envSecretKeyRefs": settings.variables,
        "nodeSelector": frozenset(format_values(parameters.node_selector)),
    }
    for field, names in objects.items():
        if names and pod.get(field) is not None:
            present = copy_object(pod, field, f"{path}.{field}")
            pod[field] = {name: value for name, value in present.items() if name not in names}
    lists = {
        "env": settings.variables,
        "secrets": settings.secrets,
        "configMaps": settings.config_maps,
        "volumeMounts": settings.volumes,
    }
    for field, names in lists.items():
        if names and pod.get(field) is not None:
            entries = copy_list(pod, field, f"{path}.{field}")
            pod[field] = [entry for entry in entries if not (isinstance(entry, Mapping) and entry.get("name") in names)]
    if parameters.priority_class is not None:
        pod.pop("priorityClassName", None)


def _write_allocation(spec: JsonObject, conf: dict[str, str], parameters: Parameters) -> None:
    given = parameters.dynamic_allocation
    if given is None:
        return
    enabled = read_flag(given)
    written = copy_object(spec, "dynamicAllocation", "spec.dynamicAllocation") | {"enabled": enabled is not False}
    limits = build_value(DynamicAllocation, given) if enabled is None else DynamicAllocation()
    numbers = {"minExecutors": limits.min, "maxExecutors": limits.max, "initialExecutors": limits.initial}
    given_numbers = {field: int(number) for field, number in numbers.items() if number is not None}
    spec["dynamicAllocation"] = written | given_numbers
    for key in (DYNAMIC_ALLOCATION_KEY, *(f"spark.dynamicAllocation.{field}" for field in given_numbers)):
        conf.pop(key, None)


def _write_restart_policy(spec: JsonObject, parameters: Parameters) -> None:
    given = parameters.restart_policy
    if given is None:
        return
    policy = RestartPolicy(given) if isinstance(given, str) else build_value(RestartPolicy, given)
    written = copy_object(spec, "restartPolicy", "spec.restartPolicy") | {"type": policy.policy}
    seconds = read_seconds(policy.backoff)
    for retries, interval in (
        ("onFailureRetries", "onFailureRetryInterval"),
        ("onSubmissionFailureRetries", "onSubmissionFailureRetryInterval"),
    ):
        if policy.policy != "OnFailure":
            continue
        # Without these fields, the operator never restarts the application, or fails without its webhook.
        if policy.attempts is not None or written.get(retries) is None:
            written[retries] = RESTART_ATTEMPTS if policy.attempts is None else int(policy.attempts)
        if seconds is not None or written.get(interval) is None:
            written[interval] = max(1, math.ceil(RESTART_BACKOFF_MILLIS / 1000 if seconds is None else seconds))
    spec["restartPolicy"] = written
