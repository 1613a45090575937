"""`spark-operator logs`: print the logs of the driver or the executors of an application."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final

from ...core.dialects.dialect import dialect_of, read_progress
from ...core.dialects.progress import Phase, StateEntry
from ...core.kubernetes.json_object import JsonObject
from ...core.report.attempts import list_attempts
from ...core.report.executors import get_executor_number
from ...core.states.states import ApplicationState
from ...follow.access.find import find_application
from ...follow.access.reference import ApplicationReference
from ...follow.access.requests import read_present
from ...follow.logs import attempt_logs
from ...follow.logs.logs import LogStart
from ...follow.narration.obstacles import describe_wait
from ...kube.client import KubeClient
from ...kube.errors import BadRequest
from ..base.ages import check_duration, parse_duration
from ..base.errors import CommandError, ExitCode, print_note
from ..base.local_home import find_pod_log, read_pod_log
from ..base.program_name import format_command
from ..options.cluster_access import ClusterOptions, TaskOptions
from ..options.completers import complete_executors
from ..options.declaration import Parameter
from ..options.options import OptionalName, require_text
from ..output.log_printer import LogLevel, LogPrinter
from ..views.application_end import print_continuation
from .named_applications import run_with_application

_ALL = "all"
# The largest number that the API accepts.
_MAX_LINES = 2**63 - 1


@dataclass(frozen=True)
class _Query:
    """Which logs to print.

    Attributes:
        executor: Number or pod name of an executor, or `all`. None for none.
        with_driver: Whether to print the log of the driver.
        attempt: The attempt, from 1. None for the latest.
        is_previous: Whether to print the attempt before the latest.
        follow: Whether to continue until the end.
        start: Where to start.
        level: See `LogPrinter`.
        kubeconfig: The kubeconfig of the cluster. None for that of the environment.
    """

    executor: str | None
    with_driver: bool
    attempt: int | None
    is_previous: bool
    follow: bool
    start: LogStart
    level: LogLevel | None
    kubeconfig: Path | str | None

    def chooses(self, pod: JsonObject) -> bool:
        """Return whether the log of an executor pod is wanted."""
        return self.executor in (_ALL, str(pod["metadata"]["name"]), get_executor_number(pod))


def run(
    access: ClusterOptions,
    wanted: TaskOptions,
    name: OptionalName = None,
    follow: Annotated[
        bool,
        Parameter(
            "-f --follow",
            "print new lines until the application ends, also those of later attempts; with --executor, until "
            "the current driver ends",
        ),
    ] = False,
    executor: Annotated[
        str | None,
        Parameter(
            "--executor N|all",
            "the log of one executor (its number or its pod), or the logs of all executors (default: the driver)",
            complete=complete_executors,
            check=require_text,
        ),
    ] = None,
    all_pods: Annotated[bool, Parameter("--all-pods", "the logs of the driver and of all executors")] = False,
    previous: Annotated[bool, Parameter("--previous", "the log of the attempt before the latest one")] = False,
    attempt: Annotated[
        int | None,
        Parameter(
            "--attempt N",
            "the log of this attempt; the first is 1, and its driver pod is NAME-0-driver (default: the latest)",
            at_least=1,
        ),
    ] = None,
    since: Annotated[
        str | None,
        Parameter(
            "--since DURATION",
            "only lines that are newer than this, for example 10m (default: all lines)",
            check=check_duration,
        ),
    ] = None,
    tail: Annotated[
        int | None,
        Parameter("--tail N", "only the last N lines of each log (default: all lines)", at_least=0, at_most=_MAX_LINES),
    ] = None,
    level: Annotated[
        LogLevel | None,
        Parameter(
            "--level all|info|warning|error",
            "hide the lines of Spark below this level (default: warning on a terminal, and all if the output goes to "
            "a file or a pipe)",
        ),
    ] = None,
) -> ExitCode:
    """Print the log of the driver, or the logs of executors.

    On a terminal, Spark's own lines below level WARNING are hidden, and a note on stderr says how many. The output of
    the program is always printed. A file or a pipe gets all lines. --tail counts the hidden lines, too.

    If the driver pod no longer exists, a local cluster still has its complete log, which is printed. On other clusters,
    these are the last lines that the controller has recorded after a failure. With `--all-pods` or
    `--executor all`, each line begins with the name of its pod. With -f and `--executor`, the command ends when the
    current driver ends, even if the application is then restarted.

    Without a name, the options of the task select the newest application that the task has submitted.

    Examples:
        # Print the driver's log so far
        spark-operator logs pi

        # Print the log of the last run of a task of Airflow
        spark-operator logs --dag sales --task load

        # Print Spark's own lines on a terminal, too
        spark-operator logs pi --level all

        # Follow the driver from its last ten lines, also through restarts
        spark-operator logs pi -f --tail 10

        # Follow all executors, with the name of the pod before each line
        spark-operator logs pi -f --executor all

        # Follow the driver and all executors
        spark-operator logs pi -f --all-pods

        # Print the last five lines of one executor
        spark-operator logs pi --executor 1 --tail 5

        # Print the log of the driver before the last restart
        spark-operator logs pi --previous
    """
    if all_pods and executor is not None:
        raise CommandError("--all-pods and --executor cannot be combined", ExitCode.INVALID)
    if previous and attempt is not None:
        raise CommandError("--previous and --attempt cannot be combined", ExitCode.INVALID)
    start = LogStart(datetime.now(UTC) - parse_duration(since) if since is not None else None, tail)
    pods = _ALL if all_pods else executor
    query = _Query(pods, not executor, attempt, previous, follow, start, level, access.kubeconfig)
    return run_with_application(access, name, wanted, lambda client, name: _print_logs(client, name, query))


async def _print_logs(client: KubeClient, name: str, query: _Query) -> ExitCode:
    printer = LogPrinter(with_pod=query.executor == _ALL, is_live=query.follow, level=query.level)
    try:
        await _print_chosen(client, name, query, printer)
    finally:
        printer.report_hidden()
    return ExitCode.SUCCESS


async def _print_chosen(client: KubeClient, name: str, query: _Query, printer: LogPrinter) -> None:
    resource, kind = await find_application(client, name)
    reference = ApplicationReference.of(resource, kind)
    seen = read_progress(resource)
    latest = seen.attempt
    attempt = _choose_attempt(reference, latest, query)
    is_waiting = attempt == latest and seen.phase is Phase.WAITING
    try:
        if query.follow and attempt == latest:
            if is_waiting and (why := await _find_wait(client, reference, resource)):
                print_note(f"{reference} is waiting: {why}")
            lines = _follow(client, reference, query, printer)
        else:
            lines = await _read(client, reference, resource, attempt, query)
        await _print_lines(lines, printer)
        if is_waiting and not printer.has_read and not query.follow:
            await _report_wait(client, reference, resource)
    except BadRequest:  # a container has not started
        await _report_wait(client, reference, resource)
        raise
    except asyncio.CancelledError:
        if query.follow:
            print_continuation(reference, again="logs -f")
        raise
    if query.follow:
        present = await read_present(client, reference)
        if present is None:
            print_note(f"{reference} was deleted")
        elif not printer.has_read:  # the recorded lines, or why there are none
            attempt = read_progress(present).attempt
            await _print_lines(await _read(client, reference, present, attempt, query), printer)


async def _report_wait(client: KubeClient, reference: ApplicationReference, resource: JsonObject) -> None:
    """Report why there are no lines yet, if the cause is known.

    Raises:
        CommandError: The cause is known.
    """
    if why := await _find_wait(client, reference, resource):
        raise CommandError(f"{reference} has no log yet: {why}", ExitCode.API_FAILED)


async def _find_wait(client: KubeClient, reference: ApplicationReference, resource: JsonObject) -> str | None:
    resume = f"run {format_command('resume', reference.name, reference.namespace)}"
    return await describe_wait(client, reference, resource, resume)


async def _print_lines(lines: AsyncGenerator[attempt_logs.PodLine, None], printer: LogPrinter) -> None:
    async with aclosing(lines) as stream:
        async for line in stream:
            printer.print(line)


def _choose_attempt(reference: ApplicationReference, latest: int, query: _Query) -> int:
    """Return the number of the attempt, from 0.

    Raises:
        CommandError: The application has no such attempt.
    """
    if query.is_previous and latest == 0:
        raise CommandError(f"{reference} has no previous attempt: it was not restarted", ExitCode.INVALID)
    if query.attempt is not None and query.attempt > latest + 1:
        noun = "attempt" if latest == 0 else "attempts"
        raise CommandError(f"--attempt {query.attempt}: {reference} has {latest + 1} {noun}", ExitCode.INVALID)
    if query.attempt is not None:
        return query.attempt - 1
    return latest - 1 if query.is_previous else latest


def _follow(
    client: KubeClient, reference: ApplicationReference, query: _Query, printer: LogPrinter
) -> AsyncGenerator[attempt_logs.PodLine, None]:
    drivers = attempt_logs.follow_drivers(client, reference, query.start, printer.announce)
    if query.executor is None:
        return drivers
    executors = attempt_logs.follow_executors(client, reference, query.chooses, query.start)
    return attempt_logs.merge_lines(drivers, executors) if query.with_driver else executors


async def _read(
    client: KubeClient, reference: ApplicationReference, resource: JsonObject, attempt: int, query: _Query
) -> AsyncGenerator[attempt_logs.PodLine, None]:
    """Return the lines so far.

    Raises:
        CommandError: The pod does not exist, and no lines were recorded.
        KubeError: The API rejected a request or could not be reached.
    """
    driver = await attempt_logs.read_driver_of_attempt(client, reference, resource, attempt)
    if driver is None and query.with_driver:
        return _recall(client, reference, resource, attempt, query)
    if driver is None:
        raise await _build_missing(client, reference, resource, attempt, query)
    if query.executor is None:
        return attempt_logs.read_logs(client, [driver], query.start)
    present = await attempt_logs.read_executors_of_driver(client, reference, driver)
    pods = [pod for pod in present if query.chooses(pod)]
    if query.with_driver:
        return attempt_logs.read_logs(client, [driver, *pods], query.start)
    if not pods:
        raise _build_missing_executor(reference, attempt, query, present)
    return attempt_logs.read_logs(client, pods, query.start)


def _build_missing_executor(
    reference: ApplicationReference, attempt: int, query: _Query, present: Sequence[JsonObject]
) -> CommandError:
    wanted = "executor pods" if query.executor == _ALL else f"executor {query.executor}"
    numbers = ", ".join(get_executor_number(pod) for pod in present)
    advice = f". These executors exist: {numbers}" if numbers else ""
    return CommandError(f"{reference} has no {wanted} in attempt {attempt + 1}{advice}", ExitCode.API_FAILED)


_REFUSED: Final = ApplicationState.SCHEDULING_FAILURE


async def _recall(
    client: KubeClient, reference: ApplicationReference, resource: JsonObject, attempt: int, query: _Query
) -> AsyncGenerator[attempt_logs.PodLine, None]:
    """Yield the log of a deleted driver that a local cluster has kept, else the last lines that were recorded."""
    file = _find_file(client, reference, resource, attempt, query)
    if file and query.executor is None:
        print_note(f"the driver pod was deleted; the local cluster has kept its log in {file}")
        for text in read_pod_log(file, query.start.since, query.start.tail_lines):
            yield attempt_logs.PodLine(attempt_logs.find_driver_name(resource, attempt) or "", text)
        return
    stop = _find_stop(resource, attempt)
    lines = stop.log_lines if stop is not None else ()
    if not lines:
        raise await _build_missing(client, reference, resource, attempt, query)
    whole = f". The whole log is in {file}" if file else ""
    print_note(f"the driver pod was deleted; these are the last lines that the controller has recorded{whole}")
    most = len(lines) if query.start.tail_lines is None else min(query.start.tail_lines, len(lines))
    for line in lines[len(lines) - most :]:
        yield attempt_logs.PodLine("", line)


def _find_file(
    client: KubeClient, reference: ApplicationReference, resource: JsonObject, attempt: int, query: _Query
) -> Path | None:
    name = attempt_logs.find_driver_name(resource, attempt)
    return find_pod_log(query.kubeconfig, client.server, reference.namespace, name) if name else None


def _find_stop(resource: JsonObject, attempt: int) -> StateEntry | None:
    history = dialect_of(resource.get("apiVersion")).read_history(resource, None)
    attempts = {each.number: each.stop for each in list_attempts(history, read_progress(resource))}
    return attempts.get(attempt + 1)


async def _build_missing(
    client: KubeClient, reference: ApplicationReference, resource: JsonObject, attempt: int, query: _Query
) -> CommandError:
    """Explain why an attempt has no driver pod, and therefore no executors."""
    seen, stop = read_progress(resource), _find_stop(resource, attempt)
    if stop is not None and stop.apache_state == _REFUSED:
        reason = "none was created"
        advice = f"To see the cause, run {format_command('describe', reference.name, reference.namespace)}"
    elif attempt != seen.attempt or seen.phase is not Phase.WAITING:
        file = _find_file(client, reference, resource, attempt, query)
        place = f"The logs of all pods are in {file.parents[2]}" if file else "To keep it, submit with --keep-driver 1h"
        reason, advice = "it was deleted", place
    else:
        reason = await _find_wait(client, reference, resource) or "it does not exist yet"
        advice = "To wait for it, use --follow"
    message = f"{reference} has no driver pod of attempt {attempt + 1}: {reason}. {advice}"
    return CommandError(message, ExitCode.API_FAILED)
