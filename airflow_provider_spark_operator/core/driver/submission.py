"""From spark-submit's command line and surroundings to a driver's inputs, before the first step."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from airflow_provider_spark_operator.core.driver.command_line import FLAG_KEYS, CommandLine
from airflow_provider_spark_operator.core.driver.configuration import Configuration
from airflow_provider_spark_operator.core.driver.errors import DriverBuildError
from airflow_provider_spark_operator.core.driver.inputs import (
    NO_RESOURCE,
    PYTHON_RUNNER,
    R_RUNNER,
    ApplicationKind,
    SubmissionInputs,
)
from airflow_provider_spark_operator.core.driver.memory import is_positive_size

_NAMESPACE_KEY = "spark.kubernetes.namespace"
_MASTER = re.compile(r"k8s://(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://)?(?P<rest>.+)")
_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,10}", re.ASCII)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_ENVIRONMENT_KEYS = {
    "spark.driver.memory": "SPARK_DRIVER_MEMORY",
    "spark.executor.memory": "SPARK_EXECUTOR_MEMORY",
    "spark.executor.cores": "SPARK_EXECUTOR_CORES",
}
_PATH_LIST_KEYS = ("spark.jars", "spark.files", "spark.archives", "spark.submit.pyFiles")
_RUNNERS = {ApplicationKind.PYTHON: PYTHON_RUNNER, ApplicationKind.R: R_RUNNER}

_SHELLS = dict.fromkeys(("spark-shell", "pyspark-shell", "sparkr-shell"), "a shell")
_SESSIONS = {
    "org.apache.spark.sql.connect.service.SparkConnectServer": "a Spark Connect server",
    "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2": "a Thrift server",
    "org.apache.spark.sql.hive.thriftserver.SparkSQLCLIDriver": "the SQL shell",
}


@dataclass(frozen=True)
class Surroundings:
    """What spark-submit reads beside its arguments.

    Attributes:
        user: the name of the user who submits; SPARK_USER wins over it.
        submit_time: milliseconds since 1970.
        environment: environment variables.
        properties: entries of the properties files, those of `--properties-file` winning.
        directory: the working directory, absolute.
        expand: the files that a glob of the local disk matches.
        main_class: what the manifest of the jar at a path of the local disk names as its main class, if anything.
    """

    user: str
    submit_time: int
    environment: Mapping[str, str] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)
    directory: str = "/"
    expand: Callable[[str], Sequence[str]] = lambda pattern: (pattern,)
    main_class: Callable[[str], str | None] = lambda path: None


def submission_inputs(command: CommandLine, surroundings: Surroundings) -> SubmissionInputs:
    """The inputs as spark-submit makes them; files and templates are for the caller to add.

    Raises:
        DriverBuildError: where spark-submit refuses before it talks to Kubernetes.
    """
    conf = _configuration(command, surroundings)
    resource = _resolved(command.main_resource, surroundings)
    kind = _kind(command.main_resource)
    main_class = _RUNNERS.get(kind) or command.options.get("--class") or _class_in_jar(resource, surroundings)
    _check_is_no_session(command)
    total = command.options.get("--total-executor-cores", "1")
    if not _WHOLE_NUMBER.fullmatch(total) or int(total) <= 0:
        raise DriverBuildError("--total-executor-cores", f"must be a whole number greater than 0, but is {total!r}")
    conf.setdefault("spark.app.name", command.options.get("--class") or command.main_resource.rsplit("/", 1)[-1])
    conf["spark.master"] = _master(command.options.get("--master") or conf.get("spark.master"))
    conf["spark.submit.deployMode"] = _deploy_mode(command, conf)
    conf.setdefault("spark.app.submitTime", str(surroundings.submit_time))
    conf.setdefault("spark.submit.pyFiles", "")
    if kind is ApplicationKind.JAVA:
        main_jar = [] if resource == NO_RESOURCE else [resource]
        conf["spark.jars"] = ",".join([*_entries(conf.get("spark.jars", "")), *main_jar])
    conf.pop("spark.driver.host", None)
    proxy_user = command.options.get("--proxy-user")
    if proxy_user and "spark.kerberos.principal" in conf:
        raise DriverBuildError("--proxy-user", "excludes spark.kerberos.principal: remove one of them")
    inputs = SubmissionInputs(
        kind=kind,
        namespace="default",
        conf=conf,
        main_class=main_class,
        main_resource=None if resource == NO_RESOURCE else resource,
        arguments=command.arguments,
        proxy_user=proxy_user,
        user=surroundings.environment.get("SPARK_USER") or surroundings.user,
        environment=surroundings.environment,
    )
    return _checked(inputs)


def _configuration(command: CommandLine, surroundings: Surroundings) -> dict[str, str]:
    """All sources, weakest first; keys that are not Spark's are dropped."""
    conf = {key: value.strip() for key, value in surroundings.properties.items()}
    conf |= command.conf
    conf |= {FLAG_KEYS[flag]: value for flag, value in command.options.items() if flag in FLAG_KEYS}
    for key, name in _ENVIRONMENT_KEYS.items():
        if name in surroundings.environment:
            conf.setdefault(key, surroundings.environment[name])
    for key in _PATH_LIST_KEYS:
        if key in conf:
            conf[key] = ",".join(each for entry in _entries(conf[key]) for each in _expanded(entry, surroundings))
    return {key: value for key, value in conf.items() if key.startswith("spark.")}


def _entries(value: str) -> list[str]:
    return [entry.strip() for entry in value.split(",") if entry.strip()]


def _expanded(entry: str, surroundings: Surroundings) -> list[str]:
    resolved = _resolved(entry, surroundings)
    path = resolved.removeprefix("file:")
    if path == resolved or not re.search(r"[*?\[{]", path):
        return [resolved]
    return [f"file:{match}" for match in surroundings.expand("/" + path.lstrip("/"))]


def _resolved(entry: str, surroundings: Surroundings) -> str:
    """The entry as a URI: a path becomes `file:/absolute/path`."""
    if entry == NO_RESOURCE or _SCHEME.match(entry):
        return entry
    return f"file:{entry}" if entry.startswith("/") else f"file:{surroundings.directory.rstrip('/')}/{entry}"


def _kind(resource: str) -> ApplicationKind:
    if resource.endswith(".py"):
        return ApplicationKind.PYTHON
    return ApplicationKind.R if resource.lower().endswith(".r") else ApplicationKind.JAVA


def _class_in_jar(resource: str, surroundings: Surroundings) -> str:
    """The class to run, where no `--class` names it: that of the manifest of a jar on the local disk."""
    path = resource.removeprefix("file:")
    named = surroundings.main_class("/" + path.lstrip("/")) if path != resource else None
    if not named:
        raise DriverBuildError("--class", "is required: name the class to run, or give a local jar that names it")
    return named


def _master(master: str | None) -> str:
    match = _MASTER.fullmatch(master or "")
    if not match:
        raise DriverBuildError("spark.master", f"must be k8s:// and the API's address, but is {master!r}")
    scheme = match["scheme"] or "https"
    if scheme not in ("http", "https"):
        raise DriverBuildError("spark.master", f"must have an http or https address, but is {master!r}")
    return f"k8s://{scheme}://{match['rest']}"


def _deploy_mode(command: CommandLine, conf: Mapping[str, str]) -> str:
    mode = command.options.get("--deploy-mode") or conf.get("spark.submit.deployMode") or "client"
    if mode not in ("client", "cluster"):
        raise DriverBuildError("--deploy-mode", f"must be client or cluster, but is {mode!r}")
    if mode == "client":
        raise DriverBuildError(
            "--deploy-mode", "client runs the driver where it is submitted and makes no resources: use cluster"
        )
    return mode


def _check_is_no_session(command: CommandLine) -> None:
    """Raise DriverBuildError for what spark-submit runs only where it is called."""
    what = _SHELLS.get(command.main_resource) or _SESSIONS.get(command.options.get("--class", ""))
    if what:
        raise DriverBuildError("--deploy-mode", f"{what} is not submitted in cluster mode: use a SparkApplication")


def _check_client(conf: Configuration) -> None:
    """Raise DriverBuildError for settings of spark-submit's own client that it refuses."""
    prefix = "spark.kubernetes.authenticate.submission."
    if conf.text(f"{prefix}oauthToken") is not None and conf.text(f"{prefix}oauthTokenFile") is not None:
        raise DriverBuildError(f"{prefix}oauthTokenFile", f"excludes {prefix}oauthToken: remove one of them")
    for key in ("submission.requestTimeout", "submission.connectionTimeout"):
        conf.integer(f"spark.kubernetes.{key}", default=0)
    for key in ("trust.certificates", "submission.waitAppCompletion"):
        conf.boolean(f"spark.kubernetes.{key}")


def _checked(inputs: SubmissionInputs) -> SubmissionInputs:
    """The inputs in their namespace, with everything checked that spark-submit checks itself.

    It checks these values as they are written: one that refers to another is refused.
    """
    conf = Configuration(inputs.conf, inputs.environment)
    for key in ("spark.driver.memory", "spark.executor.memory"):
        memory = inputs.conf.get(key)
        if memory is not None and not is_positive_size(key, memory):
            raise DriverBuildError(key, "must be greater than 0")
    _check_client(conf)
    positive = ["spark.driver.cores", "spark.executor.cores"]
    if inputs.conf.get("spark.dynamicAllocation.enabled", "").lower() != "true":
        positive.append("spark.executor.instances")
    for key in positive:
        number = inputs.conf.get(key, "1")
        if not _WHOLE_NUMBER.fullmatch(number) or int(number) <= 0:
            raise DriverBuildError(key, f"must be a whole number greater than 0, but is {number!r}")
    if inputs.kind is ApplicationKind.R:
        for entry in _entries(inputs.conf.get("spark.jars", "")):
            if not entry.startswith("file:"):
                raise DriverBuildError("spark.jars", f"{entry}: spark-submit takes only files for an R application")
    namespace = conf.text(_NAMESPACE_KEY)
    if namespace == "":
        raise DriverBuildError(_NAMESPACE_KEY, "is empty: name a namespace, or remove it")
    return replace(inputs, namespace=namespace or "default")
