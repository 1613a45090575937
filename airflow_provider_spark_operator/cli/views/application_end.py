"""Wait until an application ends or reaches a state, and report its end. An interrupted wait does not stop it."""

import asyncio
import logging
import sys
from collections.abc import Coroutine, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Annotated, Any, Final, TypeAlias

from ...core.kubernetes.times import format_duration
from ...core.log.line_levels import SparkLineFilter
from ...core.report.budget import Budget
from ...core.report.prices import PriceTable
from ...core.verdict.verdict import FailureKind, Outcome
from ...follow.access.outage_tolerance import retry
from ...follow.access.pods import count_executors, list_executor_pods
from ...follow.access.reference import ApplicationDeleted, ApplicationReference
from ...follow.ending.evidence import describe_failure
from ...follow.narration.driver_log import DriverLogOptions
from ...follow.narration.narrator import Narration
from ...follow.narration.obstacles import ATTENDED, WaitState
from ...follow.recording.budget import BudgetCheck
from ...follow.recording.recorder import RunRecorder, discard
from ...follow.submission.cancel import describe_outcome
from ...follow.submission.sql_driver import MARK
from ...follow.watching.wait import Conclusion, cancel_or_read_end, wait_for_end, wait_for_state
from ...follow.watching.watch import WatchHub
from ...kube.backoff import Backoff
from ...kube.client import KubeClient
from ..base.ages import check_duration, parse_duration
from ..base.errors import CommandError, ExitCode, hide_notes, print_error, print_note
from ..base.program_name import get_program_name
from ..options.declaration import Parameter
from ..output.terminal import Terminal, show_progress

Timeout: TypeAlias = Annotated[
    str | None,
    Parameter(
        "--timeout DURATION",
        "stop waiting after this time, for example 90s or 2h; the exit code is then 4 (default: no limit)",
        check=check_duration,
    ),
]

Verbose: TypeAlias = Annotated[
    bool,
    Parameter("--verbose", "with --follow, print the whole log of the driver, with Spark's lines below level WARNING"),
]

Quiet: TypeAlias = Annotated[
    bool, Parameter("-q --quiet", "print only the output of the program, and the cause of a failure in one line")
]

DeletionTimeout: TypeAlias = Annotated[
    str,
    Parameter(
        "--deletion-timeout DURATION",
        "stop waiting for the deletion of the application after this time; the exit code is then 4",
        check=check_duration,
    ),
]

_LONGEST_CAUSE: Final = 120


@dataclass(frozen=True)
class Wait:
    """How to wait for an application.

    Attributes:
        states: States to wait for. Empty to wait for the end, unless `executors` is set.
        executors: The number of ready executors to wait for. None if it does not matter.
        limit: The time after which to stop waiting. None if there is no limit.
        with_log: Whether to print the driver's log to stdout.
        verbose: Whether to print Spark's own lines below level WARNING as well.
        quiet: Whether to print only the output of the program, and the cause of a failure.
        since: The time from which states are printed. None for all states.
        afterwards: What happens to the application after the limit, as a sentence.
        budget: The limits after which the application is deleted. None if there are none.
        prices: The prices of the budget. None if it does not limit the cost.
        result_only: Whether to print only the lines of an SQL result.
    """

    states: Sequence[str] = ()
    executors: int | None = None
    limit: timedelta | None = None
    with_log: bool = False
    verbose: bool = False
    quiet: bool = False
    since: datetime | None = None
    afterwards: str = "The application continues"
    budget: Budget | None = None
    prices: PriceTable | None = None
    result_only: bool = False

    @property
    def goals(self) -> str:
        """What ends the wait before the end of the application, in words; empty if nothing does."""
        return " or ".join(filter(None, [*(f"state {state}" for state in self.states), self.wanted_executors]))

    @property
    def wanted_executors(self) -> str:
        """The executors to wait for, in words; empty if they do not matter."""
        return f"{self.executors} ready executor{'s' * (self.executors > 1)}" if self.executors else ""


def read_wait(
    *,
    wait: bool,
    follow: bool,
    verbose: bool,
    timeout: str | None,
    dry_run: bool,
    quiet: bool = False,
    budget: Budget | None = None,
    prices: PriceTable | None = None,
    result_only: bool = False,
) -> Wait | None:
    """Return how to wait according to the options of a command; None if it does not wait.

    Raises:
        CommandError: An option lacks another one, or contradicts it.
    """
    if dry_run and (wait or follow):
        raise CommandError("--dry-run submits nothing: leave out --wait and --follow", ExitCode.INVALID)
    if timeout is not None and not (wait or follow):
        raise CommandError("--timeout needs --wait or --follow", ExitCode.INVALID)
    if verbose and not follow:
        raise CommandError("--verbose needs --follow", ExitCode.INVALID)
    if result_only and not follow:
        raise CommandError("--sql-format needs --follow", ExitCode.INVALID)
    if quiet and not (wait or follow):
        raise CommandError("--quiet needs --wait or --follow", ExitCode.INVALID)
    check_quiet(quiet=quiet, verbose=verbose)
    limit = parse_duration(timeout) if timeout is not None else None
    if not (wait or follow):
        return None
    return Wait(
        limit=limit,
        with_log=follow,
        verbose=verbose,
        quiet=quiet,
        budget=budget,
        prices=prices,
        result_only=result_only,
    )


def check_quiet(*, quiet: bool, verbose: bool) -> None:
    """Hide the notes of a quiet command.

    Raises:
        CommandError: The command is also verbose.
    """
    if quiet and verbose:
        raise CommandError("--quiet and --verbose cannot be combined", ExitCode.INVALID)
    if quiet:
        hide_notes()


async def wait_and_report(client: KubeClient, reference: ApplicationReference, wait: Wait) -> ExitCode:
    """Wait for an application. Print its states and its verdict to stderr.

    Raises:
        KubeError: The API rejected a request, or could not be reached for a long time.
    """
    hub, situation = WatchHub(client), WaitState()
    recorder, check = _watch_budget(reference, wait)
    try:
        async with (
            asyncio.timeout(wait.limit.total_seconds() if wait.limit is not None else None) as limit,
            check.limit(limit) if check else nullcontext(),
        ):
            end = await _follow(hub, reference, wait, situation, recorder)
        if end is not None:
            return _report_end(end, wait)
        print_note(f"{reference} has {wait.wanted_executors}")
        return ExitCode.SUCCESS
    except TimeoutError:
        if check is not None and check.exceeded is not None:
            return await _end_over_budget(hub, reference, wait, check.exceeded)
        if wait.limit is None or not limit.expired():
            raise
        goal = f"did not reach {wait.goals}" if wait.goals else "did not end"
        # A longer cause was printed when it was found.
        is_short = situation.lost_controller or len(str(situation)) <= _LONGEST_CAUSE
        known = str(situation) if is_short else f" ({situation.state})"
        print_error(f"{reference} {goal} within {format_duration(wait.limit)}{known}. {wait.afterwards}")
        return ExitCode.TIMED_OUT
    except ApplicationDeleted as error:
        print_error(str(error))
        return ExitCode.INFRASTRUCTURE_FAILED
    except asyncio.CancelledError:
        print_continuation(reference, "logs -f" if wait.with_log else "wait")
        raise
    finally:
        if recorder is not None:
            await recorder.stop()
        await hub.close()


def _watch_budget(reference: ApplicationReference, wait: Wait) -> tuple[RunRecorder | None, BudgetCheck | None]:
    if wait.budget is None:
        return None, None
    recorder = RunRecorder(reference, discard, prices=wait.prices)
    return recorder, BudgetCheck(wait.budget, recorder, lambda text: print_note(f"{reference} {text}"))


async def _end_over_budget(hub: WatchHub, reference: ApplicationReference, wait: Wait, used: str) -> ExitCode:
    terminal = Terminal(is_shared=True)
    attempt = partial(cancel_or_read_end, hub, reference, None, Narration(terminal))
    end = await retry(attempt, f"deletion of {reference}", terminal.show_remark)
    if isinstance(end, Conclusion):
        return _report_end(end, wait)
    sentence = f"{reference} exceeded its budget: it has used {used}; {describe_outcome(end, 'it')}"
    limits = {name: getattr(wait.budget, name) for name in ("max_core_hours", "max_cost")}
    options = " or ".join(f"--{name.replace('_', '-')}" for name, limit in limits.items() if limit is not None)
    print_error(f"{sentence}. Raise {options}, or request less")
    return ExitCode.BUDGET_EXCEEDED


async def _follow(
    hub: WatchHub, reference: ApplicationReference, wait: Wait, situation: WaitState, recorder: RunRecorder | None
) -> Conclusion | None:
    """Wait for the end, a state or executors. A terminal shows the state, unless it shows the driver's whole log.

    Returns:
        The end of the wait. None if the executors are ready.
    """
    driver_log = DriverLogOptions(longest=sys.maxsize) if wait.with_log else None
    async with show_progress(None if wait.verbose or wait.quiet else sys.stderr) as progress:
        terminal = Terminal(
            is_shared=True,
            shows_log=wait.with_log,
            shows_routine=wait.verbose,
            shows_spark=not wait.quiet,
            mark=MARK if wait.result_only else "",
            progress=progress,
            since=wait.since,
        )
        narration = Narration(terminal, driver_log, situation, ATTENDED, recorder=recorder)
        try:
            if not wait.goals:
                return await wait_for_end(hub, reference, narration)
            following = wait_for_state(hub, reference, wait.states, narration)
            if wait.executors is None:
                return await following
            return await _race(following, _wait_for_executors(hub.client, reference, wait.executors))
        finally:
            terminal.report_hidden()


async def _race(*waits: Coroutine[Any, Any, Conclusion | None]) -> Conclusion | None:
    """Return the result of the first wait that ends, and cancel the others."""
    tasks = [asyncio.create_task(each) for each in waits]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return done.pop().result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _wait_for_executors(client: KubeClient, reference: ApplicationReference, number: int) -> None:
    """Wait without a time limit until a number of executors are ready.

    Raises:
        KubeError: The pods could not be listed.
    """
    backoff = Backoff(*ATTENDED.executors)
    list_pods = partial(list_executor_pods, client, reference)
    while True:
        pods = await retry(list_pods, str(reference), lambda *_: None)
        if count_executors(pods).ready >= number:
            return
        await asyncio.sleep(backoff.next())


def print_continuation(reference: ApplicationReference, again: str = "wait") -> None:
    """Print that the application continues although the command was interrupted, and how to follow or delete it.

    Args:
        reference: The application.
        again: The verb that follows it again, with its options.
    """
    program, place = get_program_name(), f"{reference.name} -n {reference.namespace}"
    print_note(
        f"interrupted; {reference} continues. To follow it again, run `{program} {again} {place}`. To delete it, run "
        f"`{program} delete {place}`"
    )


def _report_end(end: Conclusion, wait: Wait) -> ExitCode:
    if end.reached is not None:
        print_note(f"{end.reference} reached state {end.reached}")
        return ExitCode.SUCCESS
    if not wait.goals or end.verdict.outcome is not Outcome.SUCCEEDED:
        is_shown = wait.with_log and not wait.result_only and (wait.verbose or has_shown_lines(end))
        return report_conclusion(end, is_shown=is_shown, quiet=wait.quiet)
    print_error(f"{end.reference} succeeded without reaching {wait.goals}")
    return ExitCode.APPLICATION_FAILED


def has_shown_lines(conclusion: Conclusion) -> bool:
    """Return whether the last lines of the driver's log were printed, although Spark's routine lines are hidden."""
    return any(map(SparkLineFilter(logging.WARNING).shows, conclusion.evidence.log_lines))


def report_conclusion(conclusion: Conclusion, *, is_shown: bool = False, quiet: bool = False) -> ExitCode:
    """Print the verdict on an application that has ended, and return its exit code.

    Args:
        conclusion: How the application ended.
        is_shown: Whether the log of the driver was printed to stdout. If stdout is a terminal, its last lines
            are not printed again.
        quiet: Whether to print only the cause of a failure.
    """
    verdict = conclusion.verdict
    if verdict.outcome is Outcome.SUCCEEDED:
        print_note("", label=f"{conclusion.reference}: {verdict.sentence}", style="green")
        return ExitCode.SUCCESS
    evidence = conclusion.evidence
    if quiet or (is_shown and evidence.log_lines and sys.stdout.isatty()):
        evidence = replace(evidence, log_lines=(), events=())
    print_error(describe_failure(verdict, evidence))
    if verdict.failure_kind in (FailureKind.APPLICATION, FailureKind.CHECK):
        return ExitCode.APPLICATION_FAILED
    return ExitCode.INFRASTRUCTURE_FAILED
