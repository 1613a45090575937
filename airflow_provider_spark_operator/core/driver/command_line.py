"""spark-submit's command line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from airflow_provider_spark_operator.core.driver.errors import DriverBuildError

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
"""Flags that are another way to write a configuration key."""

_CONF_FLAGS = ("--conf", "-c")
_OTHER_FLAGS = ("--class", "--deploy-mode", "--master", "--properties-file", "--proxy-user")
_ELSEWHERE_FLAGS = ("--queue", "--total-executor-cores")
_SWITCHES = ("--load-spark-defaults", "--supervise", "--verbose", "-v")
_FLAGS = frozenset((*FLAG_KEYS, *_CONF_FLAGS, *_OTHER_FLAGS, *_ELSEWHERE_FLAGS))


@dataclass(frozen=True)
class CommandLine:
    """A parsed command line: `options` by flag, `conf` of all `--conf`, then what runs and its arguments."""

    options: Mapping[str, str]
    conf: Mapping[str, str]
    switches: frozenset[str]
    main_resource: str
    arguments: tuple[str, ...]

    @property
    def properties_file(self) -> str | None:
        """Where the configuration's weakest part lies, None for the default file."""
        return self.options.get("--properties-file")

    @property
    def loads_defaults(self) -> bool:
        """Whether the default file is read: alone, or beside the named one if that is asked for."""
        return self.properties_file is None or "--load-spark-defaults" in self.switches


def parse_command_line(arguments: Sequence[str]) -> CommandLine:
    """Take spark-submit's arguments apart; the first that is no option is the main resource.

    Raises:
        DriverBuildError: an unknown option, one without its value, or no main resource.
    """
    options: dict[str, str] = {}
    conf: dict[str, str] = {}
    switches: set[str] = set()
    rest = list(arguments)
    while rest and rest[0].startswith("-"):
        flag, value = _flag(rest.pop(0))
        if flag in _SWITCHES:
            switches.add(flag)
            continue
        if flag not in _FLAGS:
            raise DriverBuildError(flag, "is no option of spark-submit that submits an application")
        if value is None:
            if not rest:
                raise DriverBuildError(flag, "needs a value")
            value = rest.pop(0)
        if flag in _CONF_FLAGS:
            key, value = _setting(value)
            conf[key] = value
        else:
            options[flag] = value
    if not rest:
        raise DriverBuildError("main resource", "is required: name a jar, a Python file or an R file")
    return CommandLine(options, conf, frozenset(switches), rest[0], tuple(rest[1:]))


def _flag(word: str) -> tuple[str, str | None]:
    """A flag and the value that is joined to it; only long flags take one so, and no empty one."""
    flag, _, value = word.partition("=")
    return (flag, value) if value and flag.startswith("--") else (word, None)


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise DriverBuildError("--conf", f"must be key=value, but is {text!r}")
    return key, value
