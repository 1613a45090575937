"""`spark-operator local down`: stop a local cluster."""

import asyncio
import os
import signal
from pathlib import Path
from typing import Annotated

from local_kubernetes.home import LocalClusterError
from local_kubernetes.home_state import HomeState, read_home

from ..base.ages import check_limit, parse_duration
from ..base.errors import CommandError, ExitCode, print_note
from ..base.signals import run_until_signal
from ..options.declaration import Parameter
from ..options.options import LOCAL_HOME, LocalHome

_POLL_SECONDS = 0.05


def run(
    home: LocalHome = LOCAL_HOME,
    timeout: Annotated[
        str,
        Parameter(
            "--timeout DURATION",
            "stop waiting after this time, for example 30s or 5m; the exit code is then 4",
            check=check_limit,
        ),
    ] = "60s",
) -> ExitCode:
    """Stop a local cluster with all its pods, and wait until it has stopped.

    The command sends SIGTERM to the process that runs the cluster. Logs and volumes in the folder are kept. Objects
    are kept only if the cluster was started with --keep. If no cluster runs, the command does nothing and succeeds.

    Examples:
        # Stop the cluster of `spark-operator local up` in another terminal
        spark-operator local down

        # Stop the cluster of another folder
        spark-operator local down --home ~/.spark-local
    """
    return run_until_signal(
        lambda: _stop(Path(home), parse_duration(timeout).total_seconds()), after_sigterm=ExitCode.INTERRUPTED
    )


async def _stop(home: Path, limit: float) -> ExitCode:
    state = _read(home)
    try:
        async with asyncio.timeout(limit):
            while state.is_running and state.process is None:  # the process id is not written yet
                await asyncio.sleep(_POLL_SECONDS)
                state = _read(home)
            if state.process is None:
                print_note(f"no local cluster runs in {state.home}")
                return ExitCode.SUCCESS
            _send_sigterm(state.process)
            while _read(home).process == state.process:  # noqa: ASYNC110 - no event tells the end of another process
                await asyncio.sleep(_POLL_SECONDS)
    except TimeoutError:
        holder = "" if state.process is None else f" (process {state.process})"
        raise CommandError(
            f"the local cluster in {state.home}{holder} did not end within {limit:g} s", ExitCode.TIMED_OUT
        ) from None
    print_note(f"stopped the local cluster in {state.home} (process {state.process})")
    return ExitCode.SUCCESS


def _read(home: Path) -> HomeState:
    try:
        return read_home(home)
    except LocalClusterError as error:
        raise CommandError(f"--home: {error}", ExitCode.INVALID) from None


def _send_sigterm(process: int) -> None:
    try:
        os.kill(process, signal.SIGTERM)
    except ProcessLookupError:
        return
    except PermissionError:
        raise CommandError(
            f"could not stop process {process}: it belongs to another user", ExitCode.INFRASTRUCTURE_FAILED
        ) from None
