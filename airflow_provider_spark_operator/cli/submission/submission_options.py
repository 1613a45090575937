"""The options of `submit` that describe the application. `diff` has the same."""

from datetime import timedelta
from typing import Annotated, TypeAlias

import click

from ...core.compose.application import TaskSettings
from ...core.compose.sql import SqlFormat
from ...core.dialects.dialect import find_api_version_problem
from ...core.parameters.arguments import KEEP, KEEP_FAILED_DRIVER
from ...core.parameters.declaration import Panel
from ..base.ages import check_duration, parse_duration
from ..base.object_names import require_new_name
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
