"""Write parameters into the spec of a `spark.apache.org` SparkApplication."""

from collections.abc import Mapping, Sequence
from typing import Final

from ..driver.configuration.inputs import PYTHON_RUNNER
from ..kubernetes.json_object import JsonObject, copy_object
from ..kubernetes.names import build_master_url
from ..parameters.parameters import Parameters, find_version_in_tag, split_list
from ..spark.spark_conf import IMAGE_KEY
from .apache_pods import write_conf, write_lifecycle, write_pods

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
