"""The inputs of the driver build from the command line, environment and files of spark-submit."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..kubernetes.names import is_namespace
from ..spark.spark_conf import DYNAMIC_ALLOCATION_KEY
from .configuration.configuration import (
    FORMER_KEYS,
    Configuration,
    DriverBuildError,
    is_positive_size,
    split,
    trim,
    trim_except_line_ends,
)
from .configuration.inputs import NO_RESOURCE, PYTHON_RUNNER, R_RUNNER, ApplicationKind, SubmissionInputs
from .configuration.uris import build_file_uri, get_file_path, resolve_reference, split_alias

_NAMESPACE_KEY = "spark.kubernetes.namespace"
_MASTER = re.compile(r"k8s://(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://)?(?P<rest>.+)")
_INTEGER = re.compile(r"[+-]?[0-9]{1,10}", re.ASCII)
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
FLAG_KEYS = {
    "--archives": "spark.archives",
    "--driver-class-path": "spark.driver.extraClassPath",
    "--driver-cores": "spark.driver.cores",
    "--driver-java-options": "spark.driver.extraJavaOptions",
    "--driver-library-path": "spark.driver.extraLibraryPath",
    "--driver-memory": "spark.driver.memory",
    "--exclude-packages": "spark.jars.excludes",
    "--executor-cores": "spark.executor.cores",
    "--executor-memory": "spark.executor.memory",
    "--files": "spark.files",
    "--jars": "spark.jars",
    "--keytab": "spark.kerberos.keytab",
    "--name": "spark.app.name",
    "--num-executors": "spark.executor.instances",
    "--packages": "spark.jars.packages",
    "--principal": "spark.kerberos.principal",
    "--py-files": "spark.submit.pyFiles",
    "--repositories": "spark.jars.repositories",
}
"""Flags that set a configuration key."""

_CONF_FLAGS = ("--conf", "-c")
_OTHER_FLAGS = ("--class", "--deploy-mode", "--master", "--properties-file", "--proxy-user")
_OTHER_MANAGER_FLAGS = ("--queue", "--total-executor-cores")
_SWITCHES = ("--load-spark-defaults", "--supervise", "--verbose", "-v")
_FLAGS = frozenset((*FLAG_KEYS, *_CONF_FLAGS, *_OTHER_FLAGS, *_OTHER_MANAGER_FLAGS))


@dataclass(frozen=True)
class CommandLine:
    """A parsed command line.

    Attributes:
        options: The values of the flags other than `--conf`.
        conf: The settings of all `--conf` flags.
        switches: The flags without a value.
        main_resource: The jar or script to run.
        arguments: The arguments of the application.
    """

    options: Mapping[str, str]
    conf: Mapping[str, str]
    switches: frozenset[str]
    main_resource: str
    arguments: tuple[str, ...]

    @property
    def properties_file(self) -> str | None:
        """The path of `--properties-file`, or None if only the default file is read."""
        return self.options.get("--properties-file")

    @property
    def should_load_defaults(self) -> bool:
        """Whether the default file is read: if no other file is named, or if `--load-spark-defaults` is set."""
        return self.properties_file is None or "--load-spark-defaults" in self.switches


@dataclass(frozen=True)
class SubmitContext:
    """The inputs of spark-submit other than its arguments.

    Attributes:
        user: The name of the user who submits. The variable SPARK_USER takes precedence.
        submit_time: The time of the submission in milliseconds since 1970.
        environment: The environment variables.
        properties: The entries of the properties files. Those of `--properties-file` take precedence.
        directory: The absolute path of the working directory.
        expand: Returns the regular local files that a path with `*` matches. It returns a path without `*` even if the
            file does not exist.
        main_class: Returns the main class in the manifest of the jar at a local path, or None.
    """

    user: str
    submit_time: int
    environment: Mapping[str, str] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)
    directory: str = "/"
    expand: Callable[[str], Sequence[str]] = lambda pattern: (pattern,)
    main_class: Callable[[str], str | None] = lambda _: None


def build_submission_inputs(command: CommandLine, context: SubmitContext) -> SubmissionInputs:
    """Build the inputs as spark-submit does. The caller adds files and templates.

    Raises:
        DriverBuildError: spark-submit would refuse the command before it connects to Kubernetes.
    """
    conf = _build_configuration(command, context)
    resource = command.main_resource
    if resource != NO_RESOURCE:
        resource = resolve_reference(resource, context.directory)
    kind = detect_kind(command.main_resource)
    main_class = _RUNNERS.get(kind) or command.options.get("--class") or _find_class_in_jar(resource, context)
    _check_no_session(command)
    _check_not_remote(conf, context.environment)
    _check_total_cores(command, conf)
    conf.setdefault("spark.app.name", command.options.get("--class") or command.main_resource.rsplit("/", 1)[-1])
    conf["spark.master"] = _parse_master(command.options.get("--master") or conf.get("spark.master"))
    conf["spark.submit.deployMode"] = _get_deploy_mode(command, conf)
    conf.setdefault("spark.app.submitTime", str(context.submit_time))
    conf.setdefault("spark.submit.pyFiles", "")
    if kind is ApplicationKind.JAVA:
        main_jar = [] if resource == NO_RESOURCE else [resource]
        conf["spark.jars"] = ",".join([*_split_entries(conf.get("spark.jars", "")), *main_jar])
    conf.pop("spark.driver.host", None)
    check_packages(conf)
    inputs = SubmissionInputs(
        kind=kind,
        namespace="default",
        conf=conf,
        main_class=main_class,
        main_resource=None if resource == NO_RESOURCE else resource,
        arguments=command.arguments,
        proxy_user=_get_proxy_user(command, conf),
        user=context.environment.get("SPARK_USER", context.user),
        environment=context.environment,
    )
    return _check_inputs(inputs)


def _build_configuration(command: CommandLine, context: SubmitContext) -> dict[str, str]:
    """Merge all sources, from the weakest to the strongest, and drop keys that do not start with `spark.`."""
    conf = {key: trim_except_line_ends(value) for key, value in context.properties.items()}
    conf |= command.conf
    conf |= {FLAG_KEYS[flag]: value for flag, value in command.options.items() if flag in FLAG_KEYS}
    for key, name in _ENVIRONMENT_KEYS.items():
        if name in context.environment:
            conf.setdefault(key, context.environment[name])
    flagged = {FLAG_KEYS[flag] for flag in command.options if flag in FLAG_KEYS}
    for key in _PATH_LIST_KEYS:
        if key in conf:
            # spark-submit does not trim the entries of a flag.
            given = conf[key].split(",") if key in flagged else _split_entries(conf[key])
            entries = [entry for entry in given if trim(entry)]
            conf[key] = ",".join(each for entry in entries for each in _expand_entry(key, entry, context))
    for key, former in FORMER_KEYS.items():
        if former in conf and key.startswith("spark.kerberos."):
            conf.setdefault(key, conf[former])
    return {key: value for key, value in conf.items() if key.startswith("spark.")}


def _split_entries(value: str) -> list[str]:
    return [trim(entry) for entry in value.split(",") if trim(entry)]


def _expand_entry(key: str, entry: str, context: SubmitContext) -> list[str]:
    """Return the entry as URIs. A local path with `*` is replaced by the regular files that it matches.

    Raises:
        DriverBuildError: The path contains another pattern character, or one alias refers to several files.
    """
    uri, alias = split_alias(resolve_reference(entry, context.directory))
    path = get_file_path(uri)
    if path is None:
        return [f"{uri}#{alias}" if alias else uri]
    if re.search(r"[?\[\]{}\\]", path) or "?" in uri:
        sentence = f"{entry}: spark-submit does not support this pattern: use only *, or the complete name"
        raise DriverBuildError(key, sentence)
    matches = context.expand(path)
    if alias and len(matches) > 1:
        raise DriverBuildError(
            key, f"{entry} matches {len(matches)} files, but an alias (after #) names only one: list them separately"
        )
    return [f"{build_file_uri(match)}#{alias}" if alias else build_file_uri(match) for match in matches]


def detect_kind(resource: str) -> ApplicationKind:
    """Return the language of a main resource. spark-submit detects it from the end of the name."""
    if resource.endswith(".py"):
        return ApplicationKind.PYTHON
    return ApplicationKind.R if resource.lower().endswith(".r") else ApplicationKind.JAVA


def _find_class_in_jar(resource: str, context: SubmitContext) -> str:
    """Return the main class in the manifest of a local jar. It is needed if `--class` is not set."""
    path = get_file_path(resource)
    named = None if path is None else context.main_class(path)
    if not named:
        raise DriverBuildError(
            "--class", "is required: set the class to run, or use a local jar whose manifest names it"
        )
    return named


def _parse_master(master: str | None) -> str:
    match = _MASTER.fullmatch(master or "")
    if not match:
        raise DriverBuildError("spark.master", f"must be k8s:// and the address of the API, but is {master!r}")
    scheme = match["scheme"] or "https"
    if scheme not in ("http", "https"):
        raise DriverBuildError("spark.master", f"must have an http or https address, but is {master!r}")
    return f"k8s://{scheme}://{match['rest']}"


def _get_deploy_mode(command: CommandLine, conf: Mapping[str, str]) -> str:
    mode = command.options.get("--deploy-mode") or conf.get("spark.submit.deployMode") or "client"
    if mode not in ("client", "cluster"):
        raise DriverBuildError("--deploy-mode", f"must be client or cluster, but is {mode!r}")
    if mode == "client":
        raise DriverBuildError(
            "--deploy-mode",
            "client mode runs the driver on the local host and creates no resources: set the deploy mode to `cluster`",
        )
    return mode


def _check_no_session(command: CommandLine) -> None:
    """Raise DriverBuildError for an interactive session, which spark-submit runs only on the local host."""
    session = _SHELLS.get(command.main_resource) or _SESSIONS.get(command.options.get("--class", ""))
    if session:
        advice = "submit a program" if "shell" in session else "use a SparkApplication"
        raise DriverBuildError("--deploy-mode", f"{session} cannot be submitted in cluster mode: {advice}")


def _get_proxy_user(command: CommandLine, conf: Mapping[str, str]) -> str | None:
    user = command.options.get("--proxy-user")
    if user == "":
        raise DriverBuildError("--proxy-user", "is empty: set a user, or remove the option")
    if user is not None and "spark.kerberos.principal" in conf:
        raise DriverBuildError("--proxy-user", "cannot be combined with spark.kerberos.principal: remove one of them")
    return user


def _check_not_remote(conf: Mapping[str, str], environment: Mapping[str, str]) -> None:
    """Raise DriverBuildError if the application would connect to a remote Spark Connect server."""
    for name, present in (("spark.remote", "spark.remote" in conf), ("SPARK_REMOTE", "SPARK_REMOTE" in environment)):
        if present:
            raise DriverBuildError(name, "cannot be combined with a submission to Kubernetes: remove it")


def _check_total_cores(command: CommandLine, conf: Mapping[str, str]) -> None:
    flag, key = "--total-executor-cores", "spark.cores.max"
    name, total = (flag, command.options[flag]) if flag in command.options else (key, conf.get(key, "1"))
    if not _INTEGER.fullmatch(total) or int(total) <= 0:
        raise DriverBuildError(name, f"must be an integer greater than 0, but is {total!r}")


def _check_client(conf: Configuration) -> None:
    """Raise DriverBuildError for client settings that spark-submit refuses."""
    prefix = "spark.kubernetes.authenticate.submission."
    if conf.get_text(f"{prefix}oauthToken") is not None and conf.get_text(f"{prefix}oauthTokenFile") is not None:
        raise DriverBuildError(
            f"{prefix}oauthTokenFile", f"cannot be combined with {prefix}oauthToken: remove one of them"
        )
    if re.search(r"[\x00-\x08\x0a-\x1f\x7f]", conf.get_text(f"{prefix}oauthToken") or ""):
        raise DriverBuildError(f"{prefix}oauthToken", "contains a line break or another control character: remove it")
    for key in ("submission.requestTimeout", "submission.connectionTimeout"):
        conf.get_integer(f"spark.kubernetes.{key}", default=0)
    for key in ("trust.certificates", "submission.waitAppCompletion"):
        conf.get_boolean(f"spark.kubernetes.{key}")


def _check_inputs(inputs: SubmissionInputs) -> SubmissionInputs:
    """Check the values that spark-submit checks itself, and return the inputs with their namespace.

    The checks apply to literal values: a reference is refused.
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
        if not _INTEGER.fullmatch(number) or int(number) <= 0:
            raise DriverBuildError(key, f"must be an integer greater than 0, but is {number!r}")
    if inputs.kind is ApplicationKind.R:
        for entry in _split_entries(inputs.conf.get("spark.jars", "")):
            if not entry.startswith("file:"):
                raise DriverBuildError(
                    "spark.jars", f"{entry}: spark-submit accepts only local files for an R application"
                )
    namespace = conf.get_text(_NAMESPACE_KEY)
    if namespace is not None and not is_namespace(namespace):
        raise DriverBuildError(_NAMESPACE_KEY, f"{namespace!r} is not a valid namespace name: use a-z, 0-9 and '-'")
    return replace(inputs, namespace=namespace or "default")


PACKAGES_KEY = "spark.jars.packages"
EXCLUDES_KEY = "spark.jars.excludes"
_PARTS = 3


def check_packages(conf: Mapping[str, str]) -> None:
    """Raise DriverBuildError unless packages are `group:artifact:version` and exclusions are `group:artifact`.

    As in spark-submit, exclusions are checked only if there are packages.
    """
    if not conf.get(PACKAGES_KEY, "").strip():
        return
    for coordinates in split(conf[PACKAGES_KEY], ","):
        _check_coordinates(PACKAGES_KEY, coordinates, coordinates, "group:artifact:version")
    excluded = conf.get(EXCLUDES_KEY, "")
    for coordinates in split(excluded, ",") if excluded.strip() else ():
        _check_coordinates(EXCLUDES_KEY, coordinates, f"{coordinates}:*", "group:artifact")


def _check_coordinates(key: str, given: str, coordinates: str, form: str) -> None:
    parts = split(coordinates.replace("/", ":"), ":")
    if len(parts) != _PARTS or not all(part.strip() for part in parts):
        raise DriverBuildError(key, f"{given!r} must have the form {form}")


def parse_command_line(arguments: Sequence[str]) -> CommandLine:
    """Parse the arguments of spark-submit. The first one that is not an option is the main resource.

    Raises:
        DriverBuildError: An option is unknown, a value is missing, or the main resource is missing.
    """
    options: dict[str, str] = {}
    conf: dict[str, str] = {}
    switches: set[str] = set()
    rest = list(arguments)
    while rest and rest[0].startswith("-"):
        flag, value = _split_flag(rest.pop(0))
        if flag in _SWITCHES:
            switches.add(flag)
            continue
        if flag not in _FLAGS:
            raise DriverBuildError(flag, "is not an option for submitting an application")
        if value is None:
            if not rest:
                raise DriverBuildError(flag, "requires a value")
            value = rest.pop(0)
        if flag in _CONF_FLAGS:
            key, value = _split_setting(value)
            conf[key] = value
        else:
            options[flag] = value
    if not rest:
        raise DriverBuildError("main resource", "is required: specify a jar, a Python file or an R file")
    return CommandLine(options, conf, frozenset(switches), rest[0], tuple(rest[1:]))


def _split_flag(word: str) -> tuple[str, str | None]:
    """Return a flag and its value after `=`. Short flags and empty values are not split, as in spark-submit."""
    flag, _, value = word.partition("=")
    return (flag, value) if value and flag.startswith("--") else (word, None)


def _split_setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise DriverBuildError("--conf", f"must be key=value, but is {text!r}")
    return key, value
