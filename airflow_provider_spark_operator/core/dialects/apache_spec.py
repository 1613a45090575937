"""Read and write the spec of a `spark.apache.org` SparkApplication."""

from collections.abc import Mapping, Sequence
from typing import Final

from ..driver.configuration.inputs import PYTHON_RUNNER
from ..kubernetes.json_object import JsonObject, copy_list, copy_object, is_integer
from ..kubernetes.names import (
    ANNOTATION_TTL_AFTER_SUCCESS,
    DEFAULT_API_VERSION,
    DRIVER_CONTAINER,
    EXECUTOR_CONTAINER,
    FILES_DIRECTORY,
    ROLE_DRIVER,
    ROLE_EXECUTOR,
    build_master_url,
)
from ..kubernetes.pods import get_object
from ..kubernetes.problems import Problem
from ..parameters.parameters import MEMORY_KEYS, Parameters, find_version_in_tag, split_list
from ..parameters.pod_template import extend_template
from ..parameters.ttl import DEFAULT_TTL_SECONDS, KEEP, TTL_AFTER_SUCCESS_SECONDS
from ..spark.spark_conf import IMAGE_KEY, TEMPLATE_CONTAINER_KEYS
from .apache_pods import write_conf, write_lifecycle, write_pods
from .spark_properties import select_properties

# Earlier versions lack some fields, for example those of retention and the time to live.
_NEWEST: Final = DEFAULT_API_VERSION
_FILES_VOLUME: Final = "airflow-task"
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


def find_unsupported(parameters: Parameters) -> list[Problem]:  # noqa: ARG001 - the signature of every dialect
    """Return an empty list: applications of this group support every parameter."""
    return []


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


def read_restart_config(document: Mapping[str, object]) -> Mapping[str, object]:
    """Return the restartConfig of an application; empty if it has none."""
    tolerations = get_object(get_object(document.get("spec")).get("applicationTolerations"))
    return get_object(tolerations.get("restartConfig"))


def disable_restarts(document: JsonObject) -> JsonObject:
    """Return `document` with its own restarts disabled."""
    config = read_restart_config(document)
    return _write_tolerations(document, {"restartConfig": {**config, "restartPolicy": "Never"}}) if config else document


def read_ttl(document: Mapping[str, object]) -> float | None:
    """Return the seconds after which the operator deletes a terminated application; None if it keeps it."""
    tolerations = get_object(get_object(document.get("spec")).get("applicationTolerations"))
    millis = tolerations.get("ttlAfterStopMillis")
    return float(millis) / 1000 if is_integer(millis) and millis >= 0 else None


def write_ttl(document: JsonObject, seconds: float | None) -> JsonObject:
    """Return `document` with its time to live.

    Args:
        document: The application. It stays unchanged. Its spec is an object.
        seconds: The time after the end, in seconds; `KEEP` for no deletion. None sets the default, which is shorter
            after a success, unless the document has a time to live.
    """
    tolerations = document["spec"].get("applicationTolerations") or {}
    if not isinstance(tolerations, dict):
        return document  # the validation before the submission reports the problem
    if seconds is not None:
        return _write_tolerations(document, {"ttlAfterStopMillis": KEEP if seconds == KEEP else round(1000 * seconds)})
    if tolerations.get("ttlAfterStopMillis") is not None or document.get("apiVersion") != _NEWEST:
        return document
    metadata = document.get("metadata") or {}
    annotations = {**(metadata.get("annotations") or {}), ANNOTATION_TTL_AFTER_SUCCESS: str(TTL_AFTER_SUCCESS_SECONDS)}
    document = document | {"metadata": metadata | {"annotations": annotations}}
    return _write_tolerations(document, {"ttlAfterStopMillis": 1000 * DEFAULT_TTL_SECONDS})


def patch_ttl(seconds: int) -> JsonObject:
    """Return the merge patch that changes the time to live of a terminated application."""
    return {"spec": {"applicationTolerations": {"ttlAfterStopMillis": 1000 * seconds}}}


def keep_failed_driver(document: JsonObject, seconds: float) -> JsonObject:
    """Return `document` with a retain policy for failed drivers, unless it sets a retention field itself.

    Versions before v1 have no field for a duration, so the pod would be retained as long as the application.
    """
    tolerations = document["spec"].get("applicationTolerations") or {}
    if document.get("apiVersion") != _NEWEST or not isinstance(tolerations, Mapping):
        return document
    retention = {"resourceRetainPolicy": "OnFailure", "resourceRetainDurationMillis": round(1000 * seconds)}
    if any(tolerations.get(field) is not None for field in retention):
        return document
    return _write_tolerations(document, retention)


def keep_driver(document: JsonObject, seconds: float) -> JsonObject:
    """Return `document` with a retain policy for every driver. Retention fields of the document are kept."""
    tolerations = document["spec"].get("applicationTolerations") or {}
    retention = {"resourceRetainPolicy": "Always", "resourceRetainDurationMillis": round(1000 * seconds)}
    return _write_tolerations(document, {**retention, **tolerations})


def read_memory(document: Mapping[str, object]) -> dict[str, str]:
    """Return the memory that an application requests, by Spark property."""
    conf = select_properties(get_object(document.get("spec")))
    return {key: value for key in MEMORY_KEYS if isinstance(value := conf.get(key), str)}


def mount_files(document: JsonObject, name: str, files: Mapping[str, str], *, executors: bool) -> JsonObject:
    """Return `document` with a ConfigMap of files, mounted into the driver and, if needed, into the executors.

    Args:
        document: The application. It stays unchanged. Its spec is an object.
        name: Name of the ConfigMap.
        files: Contents by file name.
        executors: Whether executors need the files, too.

    Raises:
        InvalidResource: A part of the document that must be extended is not an object or list.
    """
    spec = dict(document["spec"])
    conf = get_object(spec.get("sparkConf"))
    config_maps = copy_list(spec, "configMapSpecs", "spec.configMapSpecs")
    spec["configMapSpecs"] = [*config_maps, {"name": name, "data": dict(files)}]
    roles = {ROLE_DRIVER: DRIVER_CONTAINER} | ({ROLE_EXECUTOR: EXECUTOR_CONTAINER} if executors else {})
    for role, container in roles.items():
        chosen = conf.get(TEMPLATE_CONTAINER_KEYS[role])
        spec[f"{role}Spec"] = _mount_config_map(spec, f"{role}Spec", name, str(chosen or container))
    return document | {"spec": spec}


def is_suspended(document: Mapping[str, object]) -> bool:
    """Return whether an application requests to be suspended."""
    return get_object(document.get("spec")).get("suspend") is True


def read_ui_url(document: Mapping[str, object]) -> str:
    """Return the URL of the first host of the application's ingresses or HTTP routes; empty if it has none."""
    spec = document.get("spec")
    for ingress in _list_objects(spec, "driverServiceIngressList"):
        details = ingress.get("ingressSpec")
        scheme = "https" if _list_objects(details, "tls") else "http"
        for rule in _list_objects(details, "rules"):
            if isinstance(rule.get("host"), str):
                return f"{scheme}://{rule['host']}/"
    for route in _list_objects(spec, "driverHttpRouteList"):
        hosts = get_object(route.get("httpRouteSpec")).get("hostnames")
        if isinstance(hosts, list) and hosts:
            return f"http://{hosts[0]}/"
    return ""


def _mount_config_map(spec: JsonObject, role: str, name: str, container_name: str) -> JsonObject:
    path = f"spec.{role}.podTemplateSpec"
    holder = copy_object(spec, role, f"spec.{role}")
    mount = {"name": _FILES_VOLUME, "mountPath": FILES_DIRECTORY, "readOnly": True}
    template = extend_template(
        copy_object(holder, "podTemplateSpec", path),
        path,
        container_name,
        pod={"volumes": [{"name": _FILES_VOLUME, "configMap": {"name": name}}]},
        container={"volumeMounts": [mount]},
    )
    return holder | {"podTemplateSpec": template}


def _list_objects(holder: object, key: str) -> list[Mapping[str, object]]:
    value = get_object(holder).get(key)
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list) else []


def _write_tolerations(document: JsonObject, fields: Mapping[str, object]) -> JsonObject:
    spec = document["spec"]
    tolerations = {**(spec.get("applicationTolerations") or {}), **fields}
    return document | {"spec": spec | {"applicationTolerations": tolerations}}


def _join_lists(*lists: Sequence[str] | str | None) -> str:
    """Join the entries of all `lists` with commas, without duplicates."""
    return ",".join(dict.fromkeys(entry for each in lists for entry in split_list(each)))
