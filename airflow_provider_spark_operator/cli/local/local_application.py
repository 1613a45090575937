"""Read or compose the application of `local run`: from a manifest, or from a Python script of this machine."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from ... import spark_task
from ...core.compose.application import TaskSettings, apply_parameters
from ...core.compose.document import new_application, override_metadata
from ...core.compose.files import REPORT_MODULE, LocalFile, needs_report_module
from ...core.compose.sql import SQL_EXTENSION, SqlFormat
from ...core.driver.configuration.uris import build_file_uri, is_local
from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.problems import InvalidResource, filter_errors, filter_warnings
from ...core.parameters.parameter_checks import is_python_package
from ...core.parameters.parameter_problems import find_problems
from ...core.parameters.parameters import Parameters, split_list
from ...core.spark.spark_conf import DYNAMIC_ALLOCATION_KEY
from ...core.validation.application import validate_application
from ...follow.submission.composition import Composition
from ...follow.submission.shipment import add_report_settings
from ...local.cluster import WORKLOAD_SERVICE_ACCOUNT
from ...local.software import SparkMissing, find_spark
from ..base.errors import CommandError, ExitCode, print_note
from ..files.documents import read_application_file, require_file
from ..submission.submission_source import name_options, upload_nothing

_SCRIPT = ".py"
_DRIVER_CONTAINER: Final = "spark-kubernetes-driver"
_EXECUTOR_NUMBER_KEYS: Final = frozenset({"spark.executor.instances", DYNAMIC_ALLOCATION_KEY})
_LONGEST_NAME = 40


def compose_local_application(
    file: str, arguments: Sequence[str], values: Mapping[str, Any], sql_format: str = SqlFormat.TABLE
) -> JsonObject:
    """Return the application of a manifest, a script or SQL. Print its warnings.

    The pods of a local cluster are processes of this machine, so local files are not shipped: the application names
    their paths as `local://` URIs.

    Args:
        file: A Python script, if its name ends with `.py`; SQL, if its name ends with `.sql`; otherwise a manifest, or
            `-` for standard input.
        arguments: The arguments of the script.
        values: The values of parameters by their names. They override the manifest.
        sql_format: How the driver prints the result of the last SQL statement.

    Raises:
        CommandError: The file cannot be read, the application is not valid, or Spark is not installed.
        InvalidResource: A parameter is not valid.
    """
    for package in filter(is_python_package, values.get("packages", ())):
        advice = f"For a Python package, run `pip install {shlex.quote(package)}`"
        raise CommandError(f"--packages: {package!r} is not a package of Maven. {advice}", ExitCode.INVALID)
    located = dict(values)
    if "py_files" in values:
        located["py_files"] = [_locate_module(path) if is_local(path) else path for path in values["py_files"]]
    if file.endswith((_SCRIPT, SQL_EXTENSION)):
        with name_options():
            document = _compose_program(file, arguments, located, sql_format)
    elif arguments:
        raise CommandError(
            f"{file}: a manifest takes no arguments: set spec.driverArgs, or run a .py file", ExitCode.INVALID
        )
    else:
        manifest, _ = read_application_file(file)
        with name_options():
            document = apply_parameters(manifest, Parameters(**located))
    problems = validate_application(document)
    if errors := filter_errors(problems):
        raise CommandError("\n".join(f"{file}: {problem}" for problem in errors), ExitCode.INVALID)
    for warning in filter_warnings(problems):
        print_note(str(warning))
    return document


def _compose_program(file: str, arguments: Sequence[str], values: Mapping[str, Any], sql_format: str) -> JsonObject:
    require_file(file)
    defaults: dict[str, Any] = {
        **({"sql": file} if file.endswith(SQL_EXTENSION) else {"py_file": _locate(file)}),
        "arguments": list(arguments) or None,
        "image": f"spark:{_find_spark_version()}",
        "service_account": WORKLOAD_SERVICE_ACCOUNT,
        # Relative paths of the script begin at the current folder, as with spark-submit.
        "driver_template": {"spec": {"containers": [{"name": _DRIVER_CONTAINER, "workingDir": str(Path.cwd())}]}},
    }
    if not _EXECUTOR_NUMBER_KEYS & (values.get("conf") or {}).keys():
        defaults["executor_instances"] = 1
    name = _build_name(Path(file).stem)
    document = override_metadata(new_application(), name=name, namespace=None)
    parameters = Parameters(**{**defaults, **values})
    if parameters.sql is None:
        return apply_parameters(document, _add_report_module(parameters), name)
    if problems := find_problems(parameters):
        raise InvalidResource(problems)
    composition = Composition(document, parameters, TaskSettings(), [str(Path.cwd())], sql_output=sql_format)
    return composition.compose(upload_nothing)


def _add_report_module(parameters: Parameters) -> Parameters:
    """Return the parameters with `spark_task.py` if a script imports this module and has no copy next to it."""
    uris = [parameters.py_file or "", *split_list(parameters.py_files)]
    paths = [Path(unquote(uri.removeprefix("local://"))) for uri in uris if uri.endswith(_SCRIPT)]
    copies = [paths[0].with_name(REPORT_MODULE)]
    files = [LocalFile(str(path), path.name, path.read_bytes()) for path in [*paths, *copies] if path.is_file()]
    if not needs_report_module(files):
        return parameters
    py_files = [*split_list(parameters.py_files), _locate(spark_task.__file__)]
    return add_report_settings(replace(parameters, py_files=py_files))


def _locate_module(path: str) -> str:
    uri = _locate(path)
    if Path(unquote(uri.removeprefix("local://"))).is_dir():
        raise CommandError(
            f"--py-files {path}: a folder is not supported. Pack the folder into a .zip file", ExitCode.INVALID
        )
    return uri


def _locate(path: str) -> str:
    absolute = Path(path.removeprefix("file://").removeprefix("file:")).absolute()
    return f"local://{build_file_uri(str(absolute)).removeprefix('file:')}"


def _find_spark_version() -> str:
    try:
        find_spark()
        return version("pyspark")
    except SparkMissing as error:
        raise CommandError(str(error), ExitCode.INFRASTRUCTURE_FAILED) from None
    except PackageNotFoundError:
        raise CommandError(
            "could not find the version of Spark: the package pyspark has no metadata. Run a manifest "
            "that sets spec.runtimeVersions.sparkVersion",
            ExitCode.INFRASTRUCTURE_FAILED,
        ) from None


def _build_name(stem: str) -> str:
    name = re.sub("[^a-z0-9]+", "-", stem.lower())[:_LONGEST_NAME].strip("-")
    return name if name[:1].isalpha() else f"script-{name}".rstrip("-")
