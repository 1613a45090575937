"""Read what spark-submit reads in addition to its arguments: environment, configuration files and templates."""

import getpass
import glob
import re
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from ...core.driver.attempt import find_plain_files, find_template_files
from ...core.driver.configuration.configuration import Configuration, decode_text
from ...core.driver.configuration.inputs import SubmissionInputs
from ...core.driver.pod.template import EXECUTOR_TEMPLATE_KEY
from ...core.driver.submission import CommandLine, SubmitContext, build_submission_inputs, parse_command_line
from ...core.kubernetes.problems import InvalidResource, Problem
from ...core.spark.properties import parse_properties
from ...reconcile.attempts.files import read_file, read_templates
from ..files.documents import LARGEST_INPUT

SUBMIT_TIME = 1_577_836_800_000
"""Time of the submission, in milliseconds: a fixed time in 2020, so that the output does not depend on the clock."""

_DEFAULTS_FILE = "spark-defaults.conf"
_MANIFEST = "META-INF/MANIFEST.MF"
_LINE_END = re.compile(rb"\r\n|\r|\n")
_CONTINUATION = re.compile(rb"(?:\r\n|\r|\n) ")
_MAIN_CLASS = b"main-class"
_LARGEST = 1 << 20


def gather_submission(
    arguments: Sequence[str], environment: Mapping[str, str], directory: Path = Path()
) -> SubmissionInputs:
    """Return the inputs of the submission that `spark-submit ARGUMENTS` would make on this machine.

    Args:
        arguments: The arguments of spark-submit.
        environment: The environment variables of spark-submit.
        directory: The directory of relative paths, by default the working directory.

    Raises:
        InvalidResource: spark-submit would refuse the arguments.
    """
    command = parse_command_line(arguments)
    conf_files = _read_directory(_find_configuration_directory(environment))
    context = SubmitContext(
        user=_find_user(environment),
        submit_time=SUBMIT_TIME,
        environment=environment,
        properties=_merge_properties(command, conf_files, directory),
        directory=str(directory.absolute()),
        expand=expand_glob,
        main_class=read_main_class,
    )
    inputs = build_submission_inputs(command, context)
    conf = Configuration(inputs.conf, environment)
    _check_client_files(conf, directory)
    named = find_template_files(conf)
    executor = named.pop(EXECUTOR_TEMPLATE_KEY, None)
    templates = read_templates(named)
    hadoop = environment.get("HADOOP_CONF_DIR")
    return replace(
        inputs,
        conf_files=conf_files,
        hadoop_files=None if hadoop is None else _read_directory(hadoop),
        files=_read_files(find_plain_files(conf), directory),
        driver_template=templates.driver,
        # The template is not parsed here: the driver reads it, and reports its errors.
        executor_template=None if executor is None else _read_text(EXECUTOR_TEMPLATE_KEY, executor),
        pod_group_template=templates.pod_group,
    )


def expand_glob(pattern: str) -> list[str]:
    """Return the regular files that match a path, sorted. A path without `*` that does not exist is returned as is."""
    if "*" not in pattern and not Path(pattern).exists():
        return [pattern]
    found = glob.glob(pattern, include_hidden=True)  # noqa: PTH207 - an absolute pattern
    return sorted(path for path in found if Path(path).is_file())


def _find_configuration_directory(environment: Mapping[str, str]) -> str | None:
    """Return SPARK_CONF_DIR, else `conf` in SPARK_HOME, as spark-submit's launch script does."""
    home = environment.get("SPARK_HOME")
    return environment.get("SPARK_CONF_DIR") or (f"{home}/conf" if home else None)


def _read_directory(path: str | None) -> dict[str, bytes]:
    """Return the content of each regular file in a directory; none if the directory does not exist."""
    if path is None or not Path(path).is_dir():
        return {}
    try:
        return {each.name: _read_bounded(each) for each in sorted(Path(path).iterdir()) if each.is_file()}
    except OSError as error:
        raise InvalidResource([Problem(path, f"cannot be read: {error.strerror}")]) from None


def _read_bounded(file: Path) -> bytes:
    with file.open("rb") as stream:
        content = stream.read(LARGEST_INPUT + 1)
    if len(content) > LARGEST_INPUT:
        raise InvalidResource([Problem(str(file), f"is larger than {LARGEST_INPUT >> 20} MiB")])
    return content


def _merge_properties(command: CommandLine, conf_files: Mapping[str, bytes], directory: Path) -> dict[str, str]:
    properties: dict[str, str] = {}
    if command.should_load_defaults and _DEFAULTS_FILE in conf_files:
        properties |= parse_properties(decode_text(_DEFAULTS_FILE, conf_files[_DEFAULTS_FILE]), _DEFAULTS_FILE)
    if command.properties_file is not None:
        path = str(directory.absolute() / command.properties_file)
        properties |= parse_properties(_read_text("--properties-file", path), "--properties-file")
    return properties


def _read_files(named: Mapping[str, str], directory: Path) -> dict[str, bytes]:
    """Return the content of local files by their paths. Leave out files that cannot be read."""
    files = {}
    for key, path in named.items():
        with suppress(InvalidResource):
            files[path] = read_file(key, str(directory.absolute() / path))
    return files


def _check_client_files(conf: Configuration, directory: Path) -> None:
    """Raise InvalidResource if a file is missing that the client of spark-submit reads."""
    prefix = "spark.kubernetes.authenticate.submission."
    named = {key: conf.get_text(key) for key in (f"{prefix}oauthTokenFile", f"{prefix}caCertFile")}
    pair = {key: conf.get_text(key) for key in (f"{prefix}clientKeyFile", f"{prefix}clientCertFile")}
    if all(pair.values()):  # the client ignores one without the other
        named |= pair
    for key, path in named.items():
        empty = path == "" and not key.endswith("oauthTokenFile")
        if path is not None and not empty and not (directory / path).is_file():
            raise InvalidResource([Problem(key, f"the file {path} does not exist")])
    settings = conf.get_text("spark.jars.ivySettings")
    if settings is not None and not (directory / settings.removeprefix("file:")).is_file():
        raise InvalidResource([Problem("spark.jars.ivySettings", f"the file {settings} does not exist")])


def _read_text(key: str, path: str) -> str:
    return decode_text(key, read_file(key, path))


def _find_user(environment: Mapping[str, str]) -> str:
    """Return the user name that Hadoop uses for the submitter without Kerberos."""
    if name := environment.get("HADOOP_USER_NAME"):
        return name
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # `getpass` raises OSError from Python 3.13 on
        raise InvalidResource(
            [Problem("HADOOP_USER_NAME", "is required: the current user id has no user name")]
        ) from None


def read_main_class(path: str) -> str | None:
    """Return the main class in the manifest of a jar; None if there is none, or if the file is not a jar."""
    try:
        with zipfile.ZipFile(path) as jar, jar.open(_MANIFEST) as stream:
            manifest = stream.read(_LARGEST)
    except (OSError, KeyError, zipfile.BadZipFile, NotImplementedError, RuntimeError):
        return None
    named = None
    # Java ignores a last line without a line end.
    for line in _LINE_END.split(_CONTINUATION.sub(b"", manifest))[:-1]:
        if not line:  # the end of the main section; other sections describe single entries
            break
        name, separator, value = line.partition(b": ")
        if separator and name.lower() == _MAIN_CLASS:
            named = value.decode(errors="replace")
    return named or None
