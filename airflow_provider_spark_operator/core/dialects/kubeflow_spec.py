"""Write parameters into the spec of a `sparkoperator.k8s.io` SparkApplication, which has a field for most of them."""

from collections.abc import Mapping
from typing import Final

from ..kubernetes.json_object import JsonObject, copy_object
from ..kubernetes.pods import get_object
from ..parameters.parameters import Parameters, find_version_in_tag, split_list
from ..parameters.pod_settings import ROLES
from ..spark.spark_conf import uses_dynamic_allocation
from .apache_spec import CONF_KEYS
from .kubeflow_pods import write_dependencies, write_lifecycle, write_pods

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
