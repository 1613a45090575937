"""Write the parameters of pods, packages and the lifecycle into a `sparkoperator.k8s.io` SparkApplication.

The operator writes some fields only with its webhook, which an installation can lack: environment variables, mounts,
node selectors, tolerations and the priority class. They are written as Spark properties and into pod templates instead.
"""

import math
from collections.abc import Mapping

from ..kubernetes.json_object import JsonObject, copy_list, copy_object
from ..parameters.parameter_types import (
    VOLCANO,
    YUNIKORN,
    DynamicAllocation,
    RestartPolicy,
    build_value,
    read_flag,
    read_seconds,
)
from ..parameters.parameters import Parameters, split_list
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
from ..spark.spark_conf import DYNAMIC_ALLOCATION_KEY
from ..states.backoff import RESTART_ATTEMPTS, RESTART_BACKOFF_MILLIS
from .apache_pods import IVY_DIRECTORY, IVY_KEY


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
