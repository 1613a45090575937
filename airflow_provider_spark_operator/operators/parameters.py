"""The parameters of an operator that stand for fields of its application, checked and put over the document."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from airflow.sdk.exceptions import AirflowFailException

from airflow_provider_spark_operator.operators import kubeflow
from airflow_provider_spark_operator.operators.document import JsonObject

_MEMORY = re.compile(r"[1-9][0-9]*(k|m|g|t|p|kb|mb|gb|tb|pb)\Z", re.IGNORECASE)
_NUMBER = re.compile(r"(0|[1-9][0-9]*)\Z")
_VERSION_IN_TAG = re.compile(r":v?([0-9]+\.[0-9]+\.[0-9]+)[^/:@]*(?:@[^/]*)?\Z")
_CLUSTER = re.compile(r"([a-z0-9][-a-z0-9]{0,62}/)?[a-z][-a-z0-9]{0,44}\Z")
_FOLDER = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://[^ ]")
_IMAGE = "spark.kubernetes.container.image"

# Each is one key of `spec.sparkConf`.
_CONF_KEYS = {
    "image": _IMAGE,
    "service_account": "spark.kubernetes.authenticate.driver.serviceAccountName",
    "driver_cores": "spark.driver.cores",
    "driver_memory": "spark.driver.memory",
    "executor_cores": "spark.executor.cores",
    "executor_memory": "spark.executor.memory",
    "executor_instances": "spark.executor.instances",
}
_POSITIVE_NUMBERS = ("driver_cores", "executor_cores")
_DYNAMIC_KEY = "spark.dynamicAllocation.enabled"
_MEMORIES = ("driver_memory", "executor_memory")
_LISTS = ("jars", "py_files", "files", "arguments")
_TEXTS = ("image", "main_class", "py_file", "spark_version", "service_account")


@dataclass(frozen=True)
class Parameters:
    """What the operator was given; None (or nothing in it) leaves the document as it is.

    Files are URIs here: those that were local are shipped before.
    """

    image: str | None = None
    main_class: str | None = None
    py_file: str | None = None
    jars: Sequence[str] | str | None = None
    py_files: Sequence[str] | str | None = None
    files: Sequence[str] | str | None = None
    arguments: Sequence[object] | None = None
    conf: Mapping[str, object] | None = None
    spark_version: str | None = None
    service_account: str | None = None
    driver_cores: int | str | None = None
    driver_memory: str | None = None
    executor_cores: int | str | None = None
    executor_memory: str | None = None
    executor_instances: int | str | None = None
    cluster: str | None = None

    def problems(self, *, alone: bool = False) -> list[str]:
        """What is wrong, as far as it can be told before templates are rendered.

        Args:
            alone: There is no document to put them over.
        """
        found = [_text_problem(name, getattr(self, name)) for name in _TEXTS]
        found += [_number_problem(name, getattr(self, name), 1) for name in _POSITIVE_NUMBERS]
        found.append(_number_problem("executor_instances", self.executor_instances, 0))
        found += [_memory_problem(name, getattr(self, name)) for name in _MEMORIES]
        found += [_list_problem(name, getattr(self, name)) for name in _LISTS]
        found.append(self._script_problem())
        found.append(cluster_problem(self.cluster))
        found.append(_conf_problem(self.conf))
        if alone and self.py_file is None and self.py_files is None and self.main_class is None:
            found.append("say what to run: an application, or py_file, or main_class with jars")
        elif alone and not any(found):
            found += [self._version_problem(), self._instances_problem()]
        return [problem for problem in found if problem]

    def over(self, document: JsonObject) -> JsonObject:
        """`document` with these parameters put over what it says.

        Raises:
            AirflowFailException: A parameter has come out wrong, or the document's spec is no object.
        """
        problems = self.problems()
        if problems:
            raise AirflowFailException("; ".join(problems))
        if kubeflow.is_kubeflow(document):
            if self.cluster is not None:
                raise AirflowFailException("cluster: Kubeflow's operator runs no application on a SparkCluster")
            if self._has_no_instances():
                raise AirflowFailException("executor_instances must be at least 1 for Kubeflow's operator")
            tagged = _VERSION_IN_TAG.search(self.image or "")
            return kubeflow.with_parameters(document, self, tagged[1] if tagged else None)
        spec = _object(document, "spec", "spec")
        conf = _object(spec, "sparkConf", "spec.sparkConf")
        conf |= {key: _property(value) for key, value in (self.conf or {}).items() if value is not None}
        for name, key in _CONF_KEYS.items():
            value = getattr(self, name)
            if value is not None:
                conf[key] = str(value).strip()
        if self.cluster is not None:
            conf |= {"spark.master": master_url(self.cluster)}
            # Kubernetes' executors get a secret from the driver; master and workers of a cluster have none.
            conf.setdefault("spark.authenticate", "false")
        self._set_program(spec, conf)
        _set_python_runner(spec, conf)
        self._set_version(spec, conf)
        return document | {"spec": spec | ({"sparkConf": conf} if conf else {})}

    def _script_problem(self) -> str | None:
        both = self.py_file is not None and self.main_class is not None
        return "py_file and main_class exclude each other: an application runs a script or a class" if both else None

    def _version_problem(self) -> str | None:
        if self.spark_version is not None or not isinstance(self.conf, Mapping | None):
            return None
        image = (self.conf or {}).get(_IMAGE) if self.image is None else self.image
        if image is not None and (_is_pending(image) or _VERSION_IN_TAG.search(str(image))):
            return None
        told = f"the tag of {image} does not tell it" if image else "no image tells it by its tag"
        return f"spark_version must be given: {told}, as spark:4.3.0 does"

    def _has_no_instances(self) -> bool:
        return self.executor_instances is not None and str(self.executor_instances).strip() == "0"

    def _instances_problem(self) -> str | None:
        """Spark refuses to start without executors, unless it may request some itself."""
        if not self._has_no_instances() or not isinstance(self.conf, Mapping | None):
            return None
        enabled = (self.conf or {}).get(_DYNAMIC_KEY, False)
        if is_template(enabled) or str(enabled).strip().lower() == "true":
            return None
        return f"executor_instances must be at least 1, or set {_DYNAMIC_KEY} in conf"

    def _set_program(self, spec: JsonObject, conf: dict[str, str]) -> None:
        if self.main_class is not None:
            spec["mainClass"] = self.main_class
            for other in ("pyFiles", "sparkRFiles") if self.py_files is None else ():
                spec.pop(other, None)
        if self.py_file is not None:
            self._set_script(spec, self.py_file)
        elif self.py_files is not None:
            spec["pyFiles"] = ",".join(listed(self.py_files))
        if self.arguments is not None:
            spec["driverArgs"] = [str(argument) for argument in self.arguments]
        files = listed(self.files)
        if files:
            conf["spark.files"] = _joined(conf.get("spark.files"), files)
        self._set_jars(spec, conf)

    def _set_script(self, spec: JsonObject, script: str) -> None:
        from airflow_provider_spark_operator.core.driver.inputs import PYTHON_RUNNER

        java = spec.get("mainClass") != PYTHON_RUNNER
        for other in ("mainClass", "jars", "sparkRFiles") if java else ():
            spec.pop(other, None)
        beside = listed(spec.get("pyFiles"))[1:] if self.py_files is None else listed(self.py_files)
        spec["pyFiles"] = ",".join([script, *beside])

    def _set_jars(self, spec: JsonObject, conf: dict[str, str]) -> None:
        jars = listed(self.jars)
        if not jars:
            return
        joined = _joined(conf.get("spark.jars"), jars)
        if spec.get("pyFiles") or spec.get("sparkRFiles"):
            spec.pop("jars", None)
            conf["spark.jars"] = joined
            return
        spec["jars"] = jars[0]
        if joined != jars[0]:  # the property hides the application's own jar, unless it names it as well
            conf["spark.jars"] = joined

    def _set_version(self, spec: JsonObject, conf: Mapping[str, str]) -> None:
        versions = _object(spec, "runtimeVersions", "spec.runtimeVersions")
        tagged = _VERSION_IN_TAG.search(str(conf.get(_IMAGE, "")))
        if self.spark_version is not None:
            versions["sparkVersion"] = self.spark_version
        elif tagged:
            versions.setdefault("sparkVersion", tagged[1])
        if versions:
            spec["runtimeVersions"] = versions


NAMES = tuple(one.name for one in fields(Parameters))


def listed(value: Sequence[str] | str | None) -> list[str]:
    """The entries of a list, or of its text with commas."""
    entries = value.split(",") if isinstance(value, str) else value or ()
    return [str(entry).strip() for entry in entries if str(entry).strip()]


def master_url(cluster: str) -> str:
    """Where applications reach the master of a SparkCluster, `<name>` or `<namespace>/<name>`."""
    namespace, _, name = cluster.strip().rpartition("/")
    return f"spark://{name}-master-svc{f'.{namespace}.svc' if namespace else ''}:7077"


def folder_problem(url: object) -> str | None:
    """What is wrong with the URL of a folder to upload to; None where nothing is, or nothing is known yet."""
    if _is_pending(url) or (isinstance(url, str) and _FOLDER.match(url)):
        return None
    return f"upload_to must be the URL of a folder, such as s3://bucket/jobs, not {url!r}"


def cluster_problem(cluster: object) -> str | None:
    """What is wrong with the name of a SparkCluster; None where nothing is, or nothing is known yet."""
    if _is_pending(cluster) or (isinstance(cluster, str) and _CLUSTER.match(cluster.strip())):
        return None
    return f"cluster must be the name of a SparkCluster, or <namespace>/<name>, not {cluster!r}"


def is_template(value: object) -> bool:
    """Whether `value` holds a template expression, so that nothing can be said of it yet."""
    return isinstance(value, str) and ("{{" in value or "{%" in value)


def _is_pending(value: object) -> bool:
    from airflow.sdk import XComArg

    return value is None or is_template(value) or isinstance(value, XComArg)


def _number_problem(name: str, value: object, least: int) -> str | None:
    if _is_pending(value):
        return None
    written = str(value).strip()
    if not isinstance(value, (bool, float)) and _NUMBER.match(written) and int(written) >= least:
        return None
    return f"{name} must be a whole number of {least} or more, not {value!r}"


def _memory_problem(name: str, value: object) -> str | None:
    if _is_pending(value) or (isinstance(value, str) and _MEMORY.match(value.strip())):
        return None
    return f"{name} must be a size with its unit, such as 512m or 4g, not {value!r}"


def _text_problem(name: str, value: object) -> str | None:
    if _is_pending(value) or isinstance(value, str):
        return None
    return f"{name} must be text, not {value!r}"


def _conf_problem(conf: object) -> str | None:
    # Its values stay out of messages: some are secret.
    if _is_pending(conf):
        return None
    if not isinstance(conf, Mapping):
        return f"conf must be an object of Spark properties, not of type {type(conf).__name__}"
    wrong = [key for key, value in conf.items() if not (_is_pending(value) or isinstance(value, (str, int, float)))]
    if not wrong:
        return None
    return f"conf: {', '.join(map(str, wrong))} must be text, a number or true or false; a list is text with commas"


def _list_problem(name: str, value: object) -> str | None:
    if _is_pending(value) or isinstance(value, (list, tuple)):
        return None
    if isinstance(value, str) and name != "arguments":
        return None
    return f"{name} must be a list, not {value!r}"


def _set_python_runner(spec: JsonObject, conf: dict[str, str]) -> None:
    """Name the class that runs a Python script, and move its jars to the property.

    The Apache operator splits `pyFiles` only with this class. It takes the file in `jars` for the program.
    """
    from airflow_provider_spark_operator.core.driver.inputs import PYTHON_RUNNER

    jars, main_class = spec.get("jars"), spec.get("mainClass")
    if not spec.get("pyFiles") or main_class not in (None, PYTHON_RUNNER) or (jars and main_class is None):
        return
    spec["mainClass"] = PYTHON_RUNNER
    if jars:
        del spec["jars"]
        conf["spark.jars"] = _joined(conf.get("spark.jars"), jars)


def _joined(*lists: Sequence[str] | str | None) -> str:
    """The entries of all `lists` as a text with commas, each entry once."""
    return ",".join(dict.fromkeys(entry for each in lists for entry in listed(each)))


def _property(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _object(holder: JsonObject, key: str, path: str) -> JsonObject:
    value = holder.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise AirflowFailException(f"{path}: must be an object")
    return dict(value)
