"""Run one command: from its arguments to a verb, and from an exception to an exit code."""

import errno
import sys
import traceback
from collections.abc import Sequence
from contextvars import copy_context
from pathlib import Path

import click

from ...core.kubernetes.problems import InvalidResource
from ...kube.errors import ConfigurationError, KubeError, NoClusterConfigured
from ..base import errors, streams
from ..base.program_name import get_program_name
from ..base.usage_errors import describe_usage_error
from .program import build_program


def run_command(argv: Sequence[str] | None) -> int:
    """Run one command. See `airflow_provider_spark_operator.cli.main`."""
    streams.prepare_streams()
    # The context ends with the command: `hide_notes` has no effect on the next one in this process.
    return _finish(copy_context().run(_run_and_report, sys.argv[1:] if argv is None else argv))


def _run(words: Sequence[str]) -> errors.ExitCode:
    """Parse the words and run their verb."""
    program = build_program()
    try:
        with program.make_context(get_program_name(), list(words)) as context:
            exit_code: errors.ExitCode = program.invoke(context)
    except click.exceptions.Exit as end:  # after --help or --version
        return errors.ExitCode(end.exit_code)
    except click.UsageError as error:
        raise errors.CommandError(describe_usage_error(error), errors.ExitCode.INVALID) from None
    return exit_code


def _run_and_report(words: Sequence[str]) -> errors.ExitCode:
    try:
        return _run(words)
    except errors.CommandError as error:
        errors.print_error(str(error))
        return error.exit_code
    except (ConfigurationError, InvalidResource) as error:
        errors.print_error(f"{error}{_suggest_local_cluster() if isinstance(error, NoClusterConfigured) else ''}")
        return errors.ExitCode.INVALID
    except KubeError as error:
        return errors.report_failures([error], "controller" if "reconcile" in words[:1] else "cli")
    except KeyboardInterrupt:
        errors.print_error("interrupted")
        return errors.ExitCode.INTERRUPTED
    except streams.OutputError:
        return errors.ExitCode.SUCCESS  # _finish reports it
    except Exception as defect:
        if isinstance(defect, FileNotFoundError) and not _has_working_directory():
            errors.print_error("could not read the working directory: it was deleted. Change to another directory")
            return errors.ExitCode.INVALID
        traceback.print_exc()
        errors.print_error(f"internal error: {defect}. Report this error with the traceback above")
        return errors.ExitCode.INFRASTRUCTURE_FAILED


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


def _finish(exit_code: errors.ExitCode) -> errors.ExitCode:
    """Flush the results, and return the exit code of the command.

    If results were lost, success becomes a failure, unless the reader closed the pipe (`… | head`).
    """
    problem = streams.finish_results()
    if problem is None or problem.errno == errno.EPIPE:
        return exit_code
    errors.print_error(str(problem))
    return exit_code or errors.ExitCode.INFRASTRUCTURE_FAILED
