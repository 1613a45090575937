"""The folder with the logs of one `local run`."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from airflow_provider_spark_operator.cli.errors import CommandError, print_note
from airflow_provider_spark_operator.cli.exit_codes import ExitCode
from local_kubernetes.log_export import export_logs

_PRIVATE = 0o700
_MOST_RUNS = 20


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
        for folder in sorted(path for path in runs.iterdir() if path.is_dir())[:-_MOST_RUNS]:
            shutil.rmtree(folder, ignore_errors=True)
