"""Run one command: from its arguments to a verb, and from an exception to an exit code."""

import errno
import sys
import traceback
from collections.abc import Sequence
from contextvars import copy_context
from pathlib import Path

import click

from ...core.kubernetes.json_object import InvalidResource
from ...kube.errors import ConfigurationError, KubeError, NoClusterConfigured
from ..base.errors import (
    CommandError,
    ExitCode,
    OutputError,
    finish_results,
    get_program_name,
    prepare_streams,
    print_error,
    report_failures,
)
from ..base.usage_errors import describe_usage_error
from .program import build_program


def run_command(argv: Sequence[str] | None) -> int:
    """Run one command. See `airflow_provider_spark_operator.cli.main`."""
    prepare_streams()
    # The context ends with the command: `hide_notes` has no effect on the next one in this process.
    return _finish(copy_context().run(_run_and_report, sys.argv[1:] if argv is None else argv))


def _run(words: Sequence[str]) -> ExitCode:
    """Parse the words and run their verb."""
    program = build_program()
    try:
        with program.make_context(get_program_name(), list(words)) as context:
            exit_code: ExitCode = program.invoke(context)
    except click.exceptions.Exit as end:  # after --help or --version
        return ExitCode(end.exit_code)
    except click.UsageError as error:
        raise CommandError(describe_usage_error(error), ExitCode.INVALID) from None
    return exit_code


def _run_and_report(words: Sequence[str]) -> ExitCode:
    try:
        return _run(words)
    except CommandError as error:
        print_error(str(error))
        return error.exit_code
    except (ConfigurationError, InvalidResource) as error:
        print_error(f"{error}{_suggest_local_cluster() if isinstance(error, NoClusterConfigured) else ''}")
        return ExitCode.INVALID
    except KubeError as error:
        return report_failures([error], "controller" if "reconcile" in words[:1] else "cli")
    except KeyboardInterrupt:
        print_error("interrupted")
        return ExitCode.INTERRUPTED
    except OutputError:
        return ExitCode.SUCCESS  # _finish reports it
    except Exception as defect:
        if isinstance(defect, FileNotFoundError) and not _has_working_directory():
            print_error("could not read the working directory: it was deleted. Change to another directory")
            return ExitCode.INVALID
        traceback.print_exc()
        print_error(f"internal error: {defect}. Report this error with the traceback above")
        return ExitCode.INFRASTRUCTURE_FAILED


def _suggest_local_cluster() -> str:
    from ..options.options import LOCAL_HOME  # noqa: PLC0415 - no other command of the program itself needs it

    here = Path(LOCAL_HOME, "kubeconfig")
    if here.is_file():
        return f". A local cluster is in this folder: run `export KUBECONFIG=$PWD/{here}`"
    return ", or start a local cluster: `spark-operator local up` prints the path of its kubeconfig"


def _has_working_directory() -> bool:
    try:
        Path.cwd()
    except FileNotFoundError:
        return False
    return True


def _finish(exit_code: ExitCode) -> ExitCode:
    """Flush the results, and return the exit code of the command.

    If results were lost, success becomes a failure, unless the reader closed the pipe (`… | head`).
    """
    problem = finish_results()
    if problem is None or problem.errno == errno.EPIPE:
        return exit_code
    print_error(str(problem))
    return exit_code or ExitCode.INFRASTRUCTURE_FAILED
