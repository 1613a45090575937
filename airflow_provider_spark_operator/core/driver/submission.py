"""From spark-submit's command line and surroundings to a driver's inputs, before the first step."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from airflow_provider_spark_operator.core.driver.command_line import FLAG_KEYS, CommandLine
from airflow_provider_spark_operator.core.driver.configuration import FORMER_KEYS, Configuration
from airflow_provider_spark_operator.core.driver.errors import DriverBuildError
from airflow_provider_spark_operator.core.driver.inputs import (
    NO_RESOURCE,
    PYTHON_RUNNER,
    R_RUNNER,
    ApplicationKind,
    SubmissionInputs,
)
from airflow_provider_spark_operator.core.driver.memory import is_positive_size
from airflow_provider_spark_operator.core.driver.packages import check_packages
from airflow_provider_spark_operator.core.driver.text import trimmed, trimmed_but_lines
from airflow_provider_spark_operator.core.driver.uris import file_path, file_uri, resolved, without_alias
from airflow_provider_spark_operator.core.kubernetes_names import is_namespace
from airflow_provider_spark_operator.core.spark_conf import DYNAMIC_ALLOCATION_KEY

_NAMESPACE_KEY = "spark.kubernetes.namespace"
_MASTER = re.compile(r"k8s://(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://)?(?P<rest>.+)")
_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,10}", re.ASCII)
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
        expand: the regular files of the local disk that a path with `*` matches; a path to nothing is kept, unless
            it has a `*`.
        main_class: what the manifest of the jar at a path of the local disk names as its main class, if anything.
    """

    user: str
    submit_time: int
    environment: Mapping[str, str] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)
    directory: str = "/"
    expand: Callable[[str], Sequence[str]] = lambda pattern: (pattern,)
    main_class: Callable[[str], str | None] = lambda _: None


def submission_inputs(command: CommandLine, surroundings: Surroundings) -> SubmissionInputs:
    """The inputs as spark-submit makes them; files and templates are for the caller to add.

    Raises:
        DriverBuildError: where spark-submit refuses before it talks to Kubernetes.
    """
    conf = _configuration(command, surroundings)
    resource = command.main_resource
    if resource != NO_RESOURCE:
        resource = resolved(resource, surroundings.directory)
    kind = _kind(command.main_resource)
    main_class = _RUNNERS.get(kind) or command.options.get("--class") or _class_in_jar(resource, surroundings)
    _check_is_no_session(command)
    _check_is_not_remote(conf, surroundings.environment)
    _check_total_cores(command, conf)
    conf.setdefault("spark.app.name", command.options.get("--class") or command.main_resource.rsplit("/", 1)[-1])
    conf["spark.master"] = _master(command.options.get("--master") or conf.get("spark.master"))
    conf["spark.submit.deployMode"] = _deploy_mode(command, conf)
    conf.setdefault("spark.app.submitTime", str(surroundings.submit_time))
    conf.setdefault("spark.submit.pyFiles", "")
    if kind is ApplicationKind.JAVA:
        main_jar = [] if resource == NO_RESOURCE else [resource]
        conf["spark.jars"] = ",".join([*_entries(conf.get("spark.jars", "")), *main_jar])
    conf.pop("spark.driver.host", None)
    check_packages(conf)
    inputs = SubmissionInputs(
        kind=kind,
        namespace="default",
        conf=conf,
        main_class=main_class,
        main_resource=None if resource == NO_RESOURCE else resource,
        arguments=command.arguments,
        proxy_user=_proxy_user(command, conf),
        user=surroundings.environment.get("SPARK_USER", surroundings.user),
        environment=surroundings.environment,
    )
    return _checked(inputs)


def _configuration(command: CommandLine, surroundings: Surroundings) -> dict[str, str]:
    """All sources, weakest first; keys that are not Spark's are dropped."""
    conf = {key: trimmed_but_lines(value) for key, value in surroundings.properties.items()}
    conf |= command.conf
    conf |= {FLAG_KEYS[flag]: value for flag, value in command.options.items() if flag in FLAG_KEYS}
    for key, name in _ENVIRONMENT_KEYS.items():
        if name in surroundings.environment:
            conf.setdefault(key, surroundings.environment[name])
    flagged = {FLAG_KEYS[flag] for flag in command.options if flag in FLAG_KEYS}
    for key in _PATH_LIST_KEYS:
        if key in conf:
            # The entries of a flag are taken as they stand, blanks included.
            given = conf[key].split(",") if key in flagged else _entries(conf[key])
            entries = [entry for entry in given if trimmed(entry)]
            conf[key] = ",".join(each for entry in entries for each in _expanded(key, entry, surroundings))
    for key, former in FORMER_KEYS.items():
        if former in conf and key.startswith("spark.kerberos."):
            conf.setdefault(key, conf[former])
    return {key: value for key, value in conf.items() if key.startswith("spark.")}


def _entries(value: str) -> list[str]:
    return [trimmed(entry) for entry in value.split(",") if trimmed(entry)]


def _expanded(key: str, entry: str, surroundings: Surroundings) -> list[str]:
    """The entry as URIs: a pattern of the local disk stands for the regular files that it matches.

    Raises:
        DriverBuildError: a character that spark-submit takes for something else, or one name for several files.
    """
    uri, alias = without_alias(resolved(entry, surroundings.directory))
    path = file_path(uri)
    if path is None:
        return [f"{uri}#{alias}" if alias else uri]
    if re.search(r"[?\[\]{}\\]", path) or "?" in uri:
        sentence = f"{entry}: spark-submit finds no file by this pattern: use * only, or the whole name"
        raise DriverBuildError(key, sentence)
    matches = surroundings.expand(path)
    if alias and len(matches) > 1:
        raise DriverBuildError(key, f"{entry} gives one name to {len(matches)} files: name them one by one")
    return [f"{file_uri(match)}#{alias}" if alias else file_uri(match) for match in matches]


def _kind(resource: str) -> ApplicationKind:
    if resource.endswith(".py"):
        return ApplicationKind.PYTHON
    return ApplicationKind.R if resource.lower().endswith(".r") else ApplicationKind.JAVA


def _class_in_jar(resource: str, surroundings: Surroundings) -> str:
    """The class to run, where no `--class` names it: that of the manifest of a jar on the local disk."""
    path = file_path(resource)
    named = None if path is None else surroundings.main_class(path)
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


def _proxy_user(command: CommandLine, conf: Mapping[str, str]) -> str | None:
    user = command.options.get("--proxy-user")
    if user == "":
        raise DriverBuildError("--proxy-user", "is empty: name a user, or remove it")
    if user is not None and "spark.kerberos.principal" in conf:
        raise DriverBuildError("--proxy-user", "excludes spark.kerberos.principal: remove one of them")
    return user


def _check_is_not_remote(conf: Mapping[str, str], environment: Mapping[str, str]) -> None:
    """Raise DriverBuildError where the application would talk to a Spark Connect server elsewhere."""
    for name, present in (("spark.remote", "spark.remote" in conf), ("SPARK_REMOTE", "SPARK_REMOTE" in environment)):
        if present:
            raise DriverBuildError(name, "excludes a submission to Kubernetes: remove it")


def _check_total_cores(command: CommandLine, conf: Mapping[str, str]) -> None:
    flag, key = "--total-executor-cores", "spark.cores.max"
    name, total = (flag, command.options[flag]) if flag in command.options else (key, conf.get(key, "1"))
    if not _WHOLE_NUMBER.fullmatch(total) or int(total) <= 0:
        raise DriverBuildError(name, f"must be a whole number greater than 0, but is {total!r}")


def _check_client(conf: Configuration) -> None:
    """Raise DriverBuildError for settings of spark-submit's own client that it refuses."""
    prefix = "spark.kubernetes.authenticate.submission."
    if conf.text(f"{prefix}oauthToken") is not None and conf.text(f"{prefix}oauthTokenFile") is not None:
        raise DriverBuildError(f"{prefix}oauthTokenFile", f"excludes {prefix}oauthToken: remove one of them")
    if re.search(r"[\x00-\x08\x0a-\x1f\x7f]", conf.text(f"{prefix}oauthToken") or ""):
        raise DriverBuildError(f"{prefix}oauthToken", "holds a line end or another control character: remove it")
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
    # Unlike Spark, spark-submit does not trim this value.
    if inputs.conf.get(DYNAMIC_ALLOCATION_KEY, "").lower() != "true":
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
    if namespace is not None and not is_namespace(namespace):
        raise DriverBuildError(_NAMESPACE_KEY, f"{namespace!r} is no namespace's name: use a-z, 0-9 and '-'")
    return replace(inputs, namespace=namespace or "default")
