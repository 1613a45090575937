"""`spark-operator local run`: run one application on a temporary local cluster."""

import asyncio
import logging
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

from local_kubernetes.home import LocalClusterError, create_temporary_home
from local_kubernetes.kubelet.node.images import ImageRule
from local_kubernetes.log_export import export_logs

from ...core.compose.sql import SqlFormat
from ...core.kubernetes.json_object import JsonObject
from ...follow.access.reference import ApplicationDeleted, ApplicationReference
from ...follow.narration.driver_log import DriverLogOptions
from ...follow.narration.narrator import Narration
from ...follow.narration.obstacles import ATTENDED
from ...follow.submission.sql_driver import MARK
from ...follow.submission.submit import submit
from ...follow.watching.wait import Conclusion, wait_for_end
from ...follow.watching.watch import WatchHub
from ...kube.client import KubeClient
from ...kube.errors import AlreadyExists
from ...kube.resources import NAMESPACES
from ...local.cluster import RunningCluster, run_cluster
from ..base.ages import check_limit, parse_duration
from ..base.errors import CommandError, ExitCode, print_error, print_note
from ..base.signals import run_until_signal
from ..options.declaration import Parameter
from ..options.options import ImageRules, LogFormat, LogFormatOption, require_namespace, require_text
from ..output.log_records import configure_logs
from ..output.terminal import Terminal, show_progress
from ..submission.submission_options import add_parameter_options, read_parameter_values
from ..views.application_end import Quiet, check_quiet, has_shown_lines, report_conclusion
from .local_application import compose_local_application
from .local_images import parse_image_rules

_PARAMETERS = (
    *("py_files", "packages", "conf", "sql_parameters"),
    *("driver_memory", "executor_memory", "executor_cores", "executor_instances"),
)


@dataclass(frozen=True)
class _Options:
    namespace: str | None
    limit: timedelta | None
    images: Sequence[ImageRule]
    logs: str | None
    verbose: bool
    quiet: bool
    result_only: bool


@add_parameter_options(before="namespace", names=_PARAMETERS)
def run(
    file: Annotated[
        str,
        Parameter(
            "FILE",
            "Python script (.py), SQL statements (.sql), or a file with the manifest of one SparkApplication; - reads "
            "a manifest from standard input",
            check=require_text,
        ),
    ],
    arguments: Annotated[
        list[str] | None, Parameter("ARGUMENT…", "arguments of the script; write -- before arguments that begin with -")
    ] = None,
    namespace: Annotated[
        str | None,
        Parameter(
            "-n --namespace NAMESPACE",
            "namespace of a script, or of a manifest that sets none (default: default)",
            check=require_namespace,
        ),
    ] = None,
    logs: Annotated[
        str | None,
        Parameter(
            "--logs DIR",
            "new or empty folder for the logs of driver and executors (default: a new folder in "
            "~/.local/state/spark-operator/runs)",
            check=require_text,
        ),
    ] = None,
    timeout: Annotated[
        str | None,
        Parameter(
            "--timeout DURATION",
            "stop after this time, for example 90s or 10m; the exit code is then 4 (default: no limit)",
            check=check_limit,
        ),
    ] = None,
    verbose: Annotated[
        bool, Parameter("--verbose", "print the whole log of the driver, with Spark's lines below level WARNING")
    ] = False,
    quiet: Quiet = False,
    output: Annotated[
        SqlFormat,
        Parameter(
            "-o --sql-format table|csv|json",
            "how the result of the last SQL statement is printed; csv and json hide all other output of the driver",
        ),
    ] = SqlFormat.TABLE,
    image: ImageRules = None,
    log_format: LogFormatOption = LogFormat.TEXT,
    **parameters: Any,
) -> ExitCode:
    """Run a script, SQL or a manifest on a temporary local cluster, which stops when the application ends.

    The output of the program goes to stdout, with the warnings and errors of Spark. The states of the application, the
    address of the Spark UI and the folder with all logs go to stderr. The exit code tells how the application ended.
    SIGTERM, SIGINT and SIGHUP end the application and its cluster.

    A script or SQL runs with the installed Spark, in the current folder, with one executor by default. After SQL, the
    result of the last statement is printed, at most 1,000 rows.

    Examples:
        # Run a script with one executor, and keep the output of its driver
        spark-operator local run report.py 2026-01-31 > report.log

        # Pass options to the script, and set memory and a Spark property
        spark-operator local run report.py --driver-memory 2g --conf spark.sql.shuffle.partitions=4 -- --day 2026-01-31

        # Run the statements of a file, and save the rows of the last one
        spark-operator local run query.sql --sql-parameter day=2026-01-31 -o csv > rows.csv

        # Run a manifest, and stop after ten minutes with exit code 4
        spark-operator local run pi.yaml --timeout 10m
    """
    check_quiet(quiet=quiet, verbose=verbose)
    document = compose_local_application(file, arguments or (), read_parameter_values(parameters), output)
    limit = parse_duration(timeout) if timeout is not None else None
    result_only = output is not SqlFormat.TABLE
    options = _Options(namespace, limit, parse_image_rules(image), logs, verbose, quiet, result_only)
    configure_logs(log_format, logging.CRITICAL if quiet else logging.WARNING)
    return run_until_signal(lambda: _run(document, options), after_sigterm=ExitCode.INTERRUPTED)


async def _run(document: JsonObject, options: _Options) -> ExitCode:
    name = str((document.get("metadata") or {}).get("name") or "application")
    try:
        with create_temporary_home() as home, keep_logs(options.logs, name, home):
            print_note("starting a local cluster")
            async with run_cluster(home, images=options.images) as cluster:
                return await cluster.run_with_controller(_follow_through(cluster, document, options))
    except LocalClusterError as error:
        raise CommandError(str(error), ExitCode.INFRASTRUCTURE_FAILED) from None


async def _follow_through(cluster: RunningCluster, document: JsonObject, options: _Options) -> ExitCode:
    namespace = options.namespace or (document.get("metadata") or {}).get("namespace")
    if namespace:
        await _ensure_namespace(cluster.client, namespace)
    submission = await submit(cluster.client, _retain_driver(document), namespace)
    print_note(f"{submission.reference} submitted")
    hub = WatchHub(cluster.client)
    try:
        async with asyncio.timeout(options.limit.total_seconds() if options.limit is not None else None) as limit:
            conclusion = await _wait(hub, submission.reference, options)
        if isinstance(conclusion, str):
            print_error(f"{submission.reference}: {conclusion}")
            return ExitCode.INFRASTRUCTURE_FAILED
        is_shown = not options.result_only and (options.verbose or has_shown_lines(conclusion))
        return report_conclusion(conclusion, is_shown=is_shown, quiet=options.quiet)
    except TimeoutError:
        if options.limit is None or not limit.expired():
            raise
        print_error(f"{submission.reference} did not end within {options.limit.total_seconds():g} s")
        return ExitCode.TIMED_OUT
    except ApplicationDeleted as error:
        print_error(str(error))
        return ExitCode.INFRASTRUCTURE_FAILED
    except asyncio.CancelledError:
        print_note(f"interrupted; {submission.reference} and its cluster stop")
        raise
    finally:
        await hub.close()


def _retain_driver(document: JsonObject) -> JsonObject:
    """Return the application with a driver that is retained after its end, unless the application sets a policy.

    Without this policy, a driver that fails at once is deleted before its log is read.
    """
    spec = document["spec"]
    tolerations = {"resourceRetainPolicy": "Always", **(spec.get("applicationTolerations") or {})}
    return {**document, "spec": {**spec, "applicationTolerations": tolerations}}


async def _wait(hub: WatchHub, reference: ApplicationReference, options: _Options) -> Conclusion | str:
    """Wait until the application ends. Return a sentence if one of its pods cannot be started."""
    async with show_progress(None if options.verbose or options.quiet else sys.stderr) as progress:
        terminal = Terminal(
            is_local=True,
            shows_routine=options.verbose,
            shows_spark=not options.quiet,
            mark=MARK if options.result_only else "",
            progress=progress,
        )
        narration = Narration(terminal, DriverLogOptions(), pauses=ATTENDED)
        end = asyncio.create_task(wait_for_end(hub, reference, narration))
        either: set[asyncio.Future[Any]] = {end, terminal.obstacle}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            return await end if end.done() else terminal.obstacle.result()
        finally:
            end.cancel()
            await asyncio.wait({end})
            terminal.report_hidden()


async def _ensure_namespace(client: KubeClient, name: str) -> None:
    body = {"apiVersion": NAMESPACES.api_version, "kind": NAMESPACES.kind, "metadata": {"name": name}}
    try:
        await client.create(NAMESPACES, body, None)
    except AlreadyExists:
        return


_PRIVATE = 0o700
_MAX_RUNS = 20


@contextmanager
def keep_logs(chosen: str | None, name: str, home: Path) -> Iterator[None]:
    """Write the logs of all pods to a folder when the context ends, and print its path.

    Args:
        chosen: The folder that the user named; None for a new folder below the state folder of the user. Only the
            newest 20 of these folders remain.
        name: The name of the application.
        home: The home of the cluster.

    Raises:
        CommandError: The folder that the user named is not empty, or cannot be written.
    """
    folder = _create_default(name) if chosen is None else _create_chosen(Path(chosen))
    try:
        yield
    finally:
        if folder is not None:
            _write(home, folder)


def _write(home: Path, folder: Path) -> None:
    try:
        if export_logs(home, folder):
            print_note(f"the logs of the driver and the executors are in {folder}")
        else:
            folder.rmdir()
    except OSError as error:
        print_note(f"could not keep the logs in {folder}: {error.strerror or error}")


def _create_chosen(folder: Path) -> Path:
    folder = folder.absolute()
    try:
        folder.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise CommandError(f"--logs: {folder} is not empty. Choose another folder", ExitCode.INVALID)
        folder.chmod(_PRIVATE)
    except OSError as error:
        raise CommandError(f"--logs: could not use {folder}: {error.strerror or error}", ExitCode.INVALID) from None
    return folder


def _create_default(name: str) -> Path | None:
    """Return a new folder, and delete the oldest ones. Return None if no folder can be created: the run continues."""
    try:
        state = os.environ.get("XDG_STATE_HOME") or ""
        base = Path(state) if Path(state).is_absolute() else Path.home() / ".local" / "state"
        runs = base / "spark-operator" / "runs"
        runs.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
        folder = runs / f"{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}-{name}"
        folder.mkdir(mode=_PRIVATE)
        _delete_oldest(runs)
    except (OSError, RuntimeError) as error:  # RuntimeError: the user has no home folder
        print_note(f"the logs of this run are not kept: {error}")
        return None
    return folder


def _delete_oldest(runs: Path) -> None:
    with suppress(OSError):
        for folder in sorted(path for path in runs.iterdir() if path.is_dir())[:-_MAX_RUNS]:
            shutil.rmtree(folder, ignore_errors=True)
