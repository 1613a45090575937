"""The options of `submit` that describe the application: parameters of the Airflow operator, and others.

`diff` has the same options.
"""

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Annotated, Any, Final, TypeAlias

import click

from ...core.compose.application import TaskSettings
from ...core.compose.sql import SqlFormat
from ...core.dialects.dialect import find_api_version_problem
from ...core.parameters.arguments import KEEP, KEEP_FAILED_DRIVER
from ...core.parameters.parameters import DECLARATIONS, Declaration, Form, Panel, split_list
from ...kube.yaml_text import YamlError, load_all
from ..base.ages import check_duration, parse_duration
from ..base.object_names import require_new_name
from ..files.documents import read_text
from ..files.field_tree import build_tree, complete_path
from ..options.assignment import parse_assignment, read_value
from ..options.declaration import Parameter
from ..options.options import require_text

_KEEP = "keep"


def check_assignments(values: list[str]) -> list[str]:
    """Return the values of `--set`.

    Raises:
        click.BadParameter: A value is not `PATH=VALUE`, or its value is not YAML.
    """
    for text in values:
        try:
            read_value(parse_assignment(text)[1])
        except ValueError as error:
            raise click.BadParameter(f"{text!r}: {error}") from None
    return values


def _check_ttl(value: str) -> str:
    return value if value == _KEEP else check_duration(value)


def _check_api_version(value: str) -> str:
    problem = find_api_version_problem(value)
    if problem:
        raise click.BadParameter(problem.message)
    return value


SubmittedFile: TypeAlias = Annotated[
    str,
    Parameter(
        "FILE",
        "manifest in YAML or JSON, - for standard input, or a program: a .py or .jar file, local or as a URI, or a "
        "local .sql file",
        check=require_text,
    ),
]
ProgramArguments: TypeAlias = Annotated[
    list[str] | None, Parameter("ARGUMENT…", "arguments of the program; write -- before arguments that begin with -")
]
NewName: TypeAlias = Annotated[
    str | None,
    Parameter(
        "--name NAME",
        "name of the application (default: the name in the manifest; for a program, a new name that begins with "
        "the name of its file)",
        check=require_new_name,
    ),
]
ComparedName: TypeAlias = Annotated[
    str | None,
    Parameter(
        "--name NAME",
        "name of the application (default: the name in the manifest; required for a program)",
        check=require_new_name,
    ),
]
Assignments: TypeAlias = Annotated[
    list[str] | None,
    Parameter(
        "--set PATH=VALUE",
        "set a field of the manifest, overriding all other options; the value is read as YAML, or literally if "
        "the field is a string; null removes the field; can be repeated",
        check=check_assignments,
        complete=lambda _, incomplete: complete_path(build_tree("SparkApplication"), incomplete),
    ),
]
ApiVersion: TypeAlias = Annotated[
    str | None,
    Parameter(
        "--api-version VERSION",
        "apiVersion of the application that is created from a program, for example "
        "sparkoperator.k8s.io/v1beta2 (default: spark.apache.org/v1)",
        check=_check_api_version,
        panel=Panel.PROGRAM,
    ),
]
UploadTo: TypeAlias = Annotated[
    str | None,
    Parameter(
        "--upload-to URL",
        "folder for files that do not fit into a ConfigMap; they are uploaded there. For example, s3://bucket/jobs",
        check=require_text,
        panel=Panel.PROGRAM,
    ),
]
DownloadFrom: TypeAlias = Annotated[
    str | None,
    Parameter(
        "--download-from URL",
        "URL at which the driver reads the folder of --upload-to (default: the same URL, but s3a:// for s3://)",
        check=require_text,
        panel=Panel.PROGRAM,
    ),
]
SqlOutput: TypeAlias = Annotated[
    SqlFormat,
    Parameter(
        "--sql-format table|csv|json",
        "how the driver prints the result of the last SQL statement; csv and json hide all other output of the driver",
        panel=Panel.PROGRAM,
    ),
]
TimeToLive: TypeAlias = Annotated[
    str | None,
    Parameter(
        "--ttl DURATION|keep",
        "delete the application this long after its end; keep: never delete it (default: as in the manifest, or 7d)",
        check=_check_ttl,
        panel=Panel.LIFECYCLE,
    ),
]
KeepDriver: TypeAlias = Annotated[
    str | None,
    Parameter(
        "--keep-driver DURATION",
        "keep the driver pod this long after the application succeeds or fails, so that its log can be read",
        check=check_duration,
        panel=Panel.LIFECYCLE,
    ),
]
KeepFailedDriver: TypeAlias = Annotated[
    str,
    Parameter(
        "--keep-failed-driver DURATION",
        "keep the driver pod of a failed application this long, to read its log; 0: the operator's default. "
        "--keep-driver and the manifest take precedence",
        check=check_duration,
        panel=Panel.LIFECYCLE,
    ),
]
USUAL_KEEP_FAILED_DRIVER = f"{KEEP_FAILED_DRIVER.total_seconds() / 60:.0f}m"


def build_settings(ttl: str | None, keep_driver: str | None, keep_failed_driver: str) -> TaskSettings:
    """Return the settings for the values of `TimeToLive`, `KeepDriver` and `KeepFailedDriver`."""
    return TaskSettings(
        ttl=KEEP if ttl == _KEEP else _read_duration(ttl),
        keep_failed_driver=parse_duration(keep_failed_driver),
        keep_driver=_read_duration(keep_driver),
    )


def _read_duration(text: str | None) -> timedelta | None:
    return None if text is None else parse_duration(text)


def _read_seconds(text: str) -> object:
    return parse_duration(text).total_seconds()


# How the values of some keys of groups are converted.
_CONVERTERS: Final[Mapping[str, Callable[[str], object]]] = {
    "tolerationSeconds": int,
    **dict.fromkeys(("driver_start", "driver_ready", "executor_start", "termination", "backoff"), _read_seconds),
}
# `arguments` are the words after the file.
OPTIONS: Final = {name: option for name, option in DECLARATIONS.items() if option.form is not Form.WORDS}
RESOURCE_NAMES: Final = frozenset(
    name for name, option in OPTIONS.items() if option.panel is Panel.RESOURCES or name == "conf"
)
"""The parameters that change what the pods of an application use, for verbs that take an existing application."""
_LISTS: Final = (Form.FILES, Form.LIST)
_REPEATED: Final = (*_LISTS, Form.MAP, Form.GROUPS)


def add_parameter_options(
    before: str, names: Collection[str] | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate the function `run` of a verb: replace its last parameter, `**parameters`, by options.

    The command line is built from the signature.

    Args:
        before: The parameter of `run` that follows the options in the help.
        names: The parameters to add. If None, all.
    """

    def decorate(run: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(run)
        own = [
            each.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for each in signature.parameters.values()
            if each.kind is not inspect.Parameter.VAR_KEYWORD
        ]
        position = list(signature.parameters).index(before)
        options = [_build_parameter(name, option) for name, option in OPTIONS.items() if names is None or name in names]
        parameters = [*own[:position], *options, *own[position:]]
        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return run

    return decorate


def _build_parameter(name: str, option: Declaration) -> inspect.Parameter:
    is_repeated = option.form in _REPEATED
    text = f"{option.help}; can be repeated" if is_repeated else option.help
    usage = f"{option.flag or '--' + name.replace('_', '-')} {option.metavar}"
    words = (lambda *_: option.words) if option.words else None
    declared = Parameter(usage, text, check=partial(_check, option), complete=words, panel=option.panel)
    annotation: Any = Annotated[list[str] | None, declared] if is_repeated else Annotated[str | None, declared]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _check(option: Declaration, value: Any) -> Any:
    if option.form is not Form.FILE:  # a file is read once, when the verb runs
        _read(option, value)
    return value


def read_parameter_values(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of parameters by their names, from the values of the options.

    Args:
        given: The values of the options, as click returns them. None and empty lists are left out.

    Raises:
        click.BadParameter: A value is malformed.
        DocumentError: A file cannot be read.
    """
    return {name: _read(option, given[name]) for name, option in OPTIONS.items() if given.get(name)}


def _read(option: Declaration, value: Any) -> Any:
    if value == "":
        raise click.BadParameter("must not be empty")
    if option.form in _LISTS:
        return split_list(",".join(value))
    if option.form is Form.MAP:
        return _read_map(value, option.metavar)
    if option.form is Form.GROUP:
        return _read_group(value, option) if "=" in value or value.startswith("{") else value
    if option.form is Form.GROUPS:
        return [_read_group(entry, option) for entry in value]
    return read_text(value) if option.form is Form.FILE else value


def _read_map(entries: Sequence[str], metavar: str) -> dict[str, str]:
    pairs = [entry.partition("=") for entry in entries]
    for key, sign, _ in pairs:
        if not (key and sign):
            raise click.BadParameter(f"must be {metavar}, not {key!r}")
    return {key: value for key, _, value in pairs}


def _read_group(text: str, option: Declaration) -> dict[str, Any]:
    if text.startswith("{"):
        return _read_flow(text)
    group: dict[str, Any] = {}
    for entry in text.split(","):
        path, sign, value = entry.partition("=")
        *parents, last = path.strip().split(".")
        if not (sign and last and all(parents)):
            raise click.BadParameter(f"must be {option.metavar}, not {text!r}")
        holder = group
        for parent in parents:
            holder = holder.setdefault(parent, {})
            if not isinstance(holder, dict):
                raise click.BadParameter(f"{parent} is given twice, as a text and as an object")
        holder[last] = _convert(last, value)
    return group


def _convert(key: str, value: str) -> object:
    if value == "{}":
        return {}
    try:
        return _CONVERTERS[key](value) if key in _CONVERTERS else value
    except ValueError:
        raise click.BadParameter(f"{key} must be an integer, not {value!r}") from None


def _read_flow(text: str) -> dict[str, Any]:
    try:
        (value,) = load_all(text)
    except (YamlError, ValueError, RecursionError):
        raise click.BadParameter(f"invalid YAML: {text}") from None
    if not isinstance(value, dict):
        raise click.BadParameter(f"must be an object, not {text}")
    return value
