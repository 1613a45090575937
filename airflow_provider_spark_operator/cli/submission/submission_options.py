"""The options of `submit` that describe the application. `diff` has the same."""

from datetime import timedelta
from typing import Annotated, TypeAlias

import typer

from ...core.compose.application import TaskSettings
from ...core.compose.retention import KEEP_FAILED_DRIVER
from ...core.dialects.dialect import find_api_version_problem
from ...core.parameters.ttl import KEEP
from ..base.ages import check_duration, parse_duration
from ..base.object_names import require_object_name
from ..options.assignment import parse_assignment, read_value
from ..options.options import require_text
from .parameter_options import LIFECYCLE_PANEL, PROGRAM_PANEL

_KEEP = "keep"


def check_assignments(values: list[str] | None) -> list[str]:
    """Return the values of `--set`.

    Raises:
        typer.BadParameter: A value is not `PATH=VALUE`, or its value is not YAML.
    """
    for text in values or ():
        try:
            read_value(parse_assignment(text)[1])
        except ValueError as error:
            raise typer.BadParameter(f"{text!r}: {error}") from None
    return values or []


def _check_ttl(value: str | None) -> str | None:
    return value if value == _KEEP else check_duration(value)


def _check_api_version(value: str | None) -> str | None:
    problem = find_api_version_problem(value) if value is not None else None
    if problem:
        raise typer.BadParameter(problem.message)
    return value


SubmittedFile: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        callback=require_text,
        help="manifest in YAML or JSON, - for standard input, or a program: a .py or .jar file, local or as a URI",
    ),
]
ProgramArguments: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(metavar="ARGUMENT…", help="arguments of the program; write -- before arguments that begin with -"),
]
NewName: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--name",
        metavar="NAME",
        callback=require_object_name,
        help="name of the application (default: the name in the manifest; for a program, a new name that begins with "
        "the name of its file)",
    ),
]
ComparedName: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--name",
        metavar="NAME",
        callback=require_object_name,
        help="name of the application (default: the name in the manifest; required for a program)",
    ),
]
Assignments: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        callback=check_assignments,
        help="set a field of the manifest, overriding all other options; the value is read as YAML, or literally if "
        "the field is a string; null removes the field; can be repeated",
    ),
]
ApiVersion: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--api-version",
        metavar="VERSION",
        callback=_check_api_version,
        help="apiVersion of the application that is created from a program, for example "
        "sparkoperator.k8s.io/v1beta2 (default: spark.apache.org/v1)",
        rich_help_panel=PROGRAM_PANEL,
    ),
]
UploadTo: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--upload-to",
        metavar="URL",
        callback=require_text,
        help="folder for files that do not fit into a ConfigMap; they are uploaded there. For example, s3://bucket/jobs",
        rich_help_panel=PROGRAM_PANEL,
    ),
]
DownloadFrom: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--download-from",
        metavar="URL",
        callback=require_text,
        help="URL at which the driver reads the folder of --upload-to (default: the same URL, but s3a:// for s3://)",
        rich_help_panel=PROGRAM_PANEL,
    ),
]
TimeToLive: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--ttl",
        metavar="DURATION|keep",
        callback=_check_ttl,
        help="delete the application this long after its end; keep: never delete it (default: as in the manifest, or "
        "7d)",
        rich_help_panel=LIFECYCLE_PANEL,
    ),
]
KeepDriver: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--keep-driver",
        metavar="DURATION",
        callback=check_duration,
        help="keep the driver pod this long after the application succeeds or fails, so that its log can be read",
        rich_help_panel=LIFECYCLE_PANEL,
    ),
]
KeepFailedDriver: TypeAlias = Annotated[
    str,
    typer.Option(
        "--keep-failed-driver",
        metavar="DURATION",
        callback=check_duration,
        help="keep the driver pod this long after the application fails; 0 means the default of the operator in the "
        "cluster. The option has no effect if the manifest or --keep-driver sets how long the pod is kept",
        rich_help_panel=LIFECYCLE_PANEL,
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
