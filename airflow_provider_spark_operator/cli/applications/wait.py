"""`spark-operator wait`: wait until an application ends or reaches a state."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Final

import click

from ...core.dialects.dialect import dialect_of
from ...core.dialects.progress import Phase
from ...follow.access.find import find_application
from ...follow.access.reference import ApplicationReference
from ...kube.client import KubeClient
from ..base.ages import parse_duration
from ..base.errors import CommandError, ExitCode
from ..options.cluster_access import ClusterOptions, TaskOptions
from ..options.declaration import Parameter
from ..options.options import OptionalName
from ..options.selection import complete_states, require_states
from ..views.application_end import Timeout, Wait, wait_and_report
from .named_applications import run_with_application

_EXECUTORS: Final = "executors="


def _require_goals(values: list[str]) -> list[str]:
    numbers = [value for value in values if value.startswith(_EXECUTORS)]
    for value in numbers:
        if not re.fullmatch(r"[1-9][0-9]{0,5}", value.removeprefix(_EXECUTORS)):
            raise click.BadParameter(f"{value}: must be {_EXECUTORS}N with an integer N of 1 or more")
    return [*require_states(tuple(Phase))([value for value in values if value not in numbers]), *numbers]


def run(
    access: ClusterOptions,
    name: OptionalName = None,
    states: Annotated[
        list[str] | None,
        Parameter(
            "--for STATE|executors=N",
            "wait until the application is, or has been, in this state (for example RunningHealthy) or phase (waiting, "
            "running, stopping, ended), or until N executors are ready; can be repeated to wait for the first of "
            "several (default: wait for the end)",
            check=_require_goals,
            complete=complete_states((*Phase, _EXECUTORS)),
        ),
    ] = None,
    *,
    wanted: TaskOptions,
    timeout: Timeout = None,
) -> ExitCode:
    """Wait until an application ends, reaches a state, or has executors.

    RunningHealthy means that the driver runs. Spark may still be starting then, and its executors follow.

    The command prints to stderr the states of the application, and what the application waits for. The exit code is 0
    if the application succeeded, reached the state, or has the executors. It is 1 if the program failed, or if the
    application succeeded before that. It is 5 after an infrastructure or scheduling failure, or if the application was
    deleted. It is 4 after the timeout.

    Without a name, the options of the task select the newest application that the task has submitted.

    Examples:
        # Wait for the end; the exit code tells how the application ended
        spark-operator wait pi

        # Wait at most ten minutes until the application runs
        spark-operator wait pi --for RunningHealthy --timeout 10m

        # Wait until two executors are ready
        spark-operator wait pi --for executors=2
    """
    limit = parse_duration(timeout) if timeout is not None else None
    numbers = [int(word.removeprefix(_EXECUTORS)) for word in states or () if word.startswith(_EXECUTORS)]
    words = [word for word in states or () if not word.startswith(_EXECUTORS)]
    wait = Wait(words, min(numbers, default=None), limit)
    return run_with_application(access, name, wanted, lambda client, name: _wait(client, name, wait))


async def _wait(client: KubeClient, name: str, wait: Wait) -> ExitCode:
    resource, kind = await find_application(client, name)
    reference = ApplicationReference.of(resource, kind)
    return await wait_and_report(client, reference, replace(wait, states=_translate(reference, wait.states)))


def _translate(reference: ApplicationReference, words: Sequence[str]) -> list[str]:
    """Return the states as the operator of the application writes them: `FAILED` for `failed` with Kubeflow's.

    A phase stands for all its states.

    Raises:
        CommandError: The operator of the application has no such state.
    """
    dialect = dialect_of(reference.resource.api_version)
    found: list[str] = []
    for word in words:
        states = [
            state for state in dialect.states if word.lower() in (state.lower(), dialect.get_phase(state).lower())
        ]
        if not states:
            raise CommandError(
                f"--for {word}: {reference} never has this state; the states of {dialect.group} are "
                f"{', '.join(dialect.states)}",
                ExitCode.INVALID,
            )
        found += states
    return found
