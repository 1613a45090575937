"""The command line of spark-submit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..configuration.errors import DriverBuildError

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
