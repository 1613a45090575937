"""An operator's parameters in the fields of Kubeflow's SparkApplication, which has one of its own for most of them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow.sdk.exceptions import AirflowFailException

from airflow_provider_spark_operator.operators.document import JsonObject

if TYPE_CHECKING:
    from airflow_provider_spark_operator.operators.parameters import Parameters

# Where each parameter goes that is one field.
_FIELDS: Mapping[str, tuple[str, ...]] = {
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
_NUMBERS = ("driver_cores", "executor_cores", "executor_instances")
_JVM_TYPES = ("Java", "Scala")
_MEMORY_FIELDS = {"memory": "memory", "memoryOverhead": "memoryOverhead"}


def is_kubeflow(document: Mapping[str, Any]) -> bool:
    """Whether the document is one of Kubeflow's."""
    from airflow_provider_spark_operator.core.dialects.dialect import KUBEFLOW, dialect_of

    return dialect_of(document.get("apiVersion")) is KUBEFLOW


def with_parameters(document: JsonObject, parameters: "Parameters", version_of_image: str | None) -> JsonObject:
    """`document` with the parameters put over what it says; they are checked before.

    Args:
        document: Kubeflow's; unchanged.
        parameters: What the operator was given.
        version_of_image: Spark's version as the tag of the image tells it, where `parameters` gives an image.

    Raises:
        AirflowFailException: A part of the document that has to be extended is no object.
    """
    spec = _object(document, "spec", "spec")
    for name in ("driver", "executor", "deps"):
        spec[name] = _object(spec, name, f"spec.{name}")
    for name, path in _FIELDS.items():
        value = getattr(parameters, name)
        if value is not None:
            holder = spec if len(path) == 1 else spec[path[0]]
            holder[path[-1]] = _number(value) if name in _NUMBERS else str(value).strip()
    if version_of_image:
        spec.setdefault("sparkVersion", version_of_image)
    _set_program(spec, parameters)
    if parameters.conf:
        conf = _object(spec, "sparkConf", "spec.sparkConf")
        spec["sparkConf"] = conf | {
            key: str(value).lower() if isinstance(value, bool) else str(value)
            for key, value in parameters.conf.items()
            if value is not None
        }
    if not spec["deps"]:
        del spec["deps"]
    return document | {"spec": spec}


def sizes_as_properties(spec: Mapping[str, Any]) -> dict[str, str]:
    """The memory that the document asks for, under the names of Spark's properties."""
    found = {}
    for role in ("driver", "executor"):
        holder = spec.get(role)
        for field in _MEMORY_FIELDS:
            value = holder.get(field) if isinstance(holder, Mapping) else None
            if isinstance(value, str):
                found[f"spark.{role}.{field}"] = value
    return found


def with_sizes(document: JsonObject, properties: Mapping[str, str]) -> JsonObject:
    """`document` with the memory that these properties of Spark ask for, in its own fields."""
    spec = dict(document["spec"])
    for key, value in properties.items():
        _, role, field = key.split(".")
        spec[role] = {**(spec.get(role) or {}), _MEMORY_FIELDS[field]: value}
    return document | {"spec": spec}


def restart_config(document: Mapping[str, Any]) -> dict[str, Any]:
    """The restartPolicy of Kubeflow's document in the words of a restartConfig; empty where there is none."""
    spec = document.get("spec")
    policy = spec.get("restartPolicy") if isinstance(spec, Mapping) else None
    if not isinstance(policy, Mapping) or not isinstance(policy.get("type"), str):
        return {}
    retries = [policy.get(key) or 0 for key in ("onFailureRetries", "onSubmissionFailureRetries")]
    config: dict[str, Any] = {"restartPolicy": policy["type"]}
    config["maxRestartAttempts"] = sum(number for number in retries if isinstance(number, int))
    intervals = {
        "restartBackoffMillisForFailure": policy.get("onFailureRetryInterval"),
        "restartBackoffMillisForSchedulingFailure": policy.get("onSubmissionFailureRetryInterval"),
    }
    millis = {key: 1000 * value for key, value in intervals.items() if isinstance(value, int)}
    if "restartBackoffMillisForFailure" in millis:
        config["restartBackoffMillis"] = millis["restartBackoffMillisForFailure"]
    return config | millis


def without_restarts(document: JsonObject) -> JsonObject:
    """`document` with its own restarts switched off."""
    return document | {"spec": document["spec"] | {"restartPolicy": {"type": "Never"}}}


def driver_pod(document: Mapping[str, Any], name: str) -> str:
    """The name of the driver pod of the application `name`."""
    from airflow_provider_spark_operator.core.dialects import kubeflow

    return kubeflow.driver_pod_name(document, name)


def _set_program(spec: JsonObject, parameters: "Parameters") -> None:
    from airflow_provider_spark_operator.operators.parameters import listed

    deps = spec["deps"]
    beside, jars = listed(parameters.py_files), listed(parameters.jars)
    script = parameters.py_file
    if script is None and beside and parameters.main_class is None:
        script, *beside = beside
    if script is not None:
        spec |= {"type": "Python", "mainApplicationFile": script}
        spec.pop("mainClass", None)
    elif parameters.main_class is not None or (jars and spec.get("type") != "Python"):
        spec["type"] = spec["type"] if spec.get("type") in _JVM_TYPES else "Java"
        if jars:
            spec["mainApplicationFile"], *jars = jars
    if parameters.arguments is not None:
        spec["arguments"] = [str(argument) for argument in parameters.arguments]
    for key, more in (("pyFiles", beside), ("jars", jars), ("files", listed(parameters.files))):
        if more:
            deps[key] = [*(deps.get(key) or ()), *more] if key == "files" else more


def _number(value: object) -> object:
    written = str(value).strip()
    return int(written) if written.isdecimal() else value  # a template, as yet


def _object(holder: Mapping[str, Any], key: str, path: str) -> JsonObject:
    value = holder.get(key)
    if value is not None and not isinstance(value, dict):
        raise AirflowFailException(f"{path}: must be an object")
    return dict(value or {})
