"""Run one command: from its arguments to a verb, and from an exception to an exit code."""

import argparse
import errno
import importlib
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from airflow_provider_spark_operator import __version__
from airflow_provider_spark_operator.cli import arguments
from airflow_provider_spark_operator.cli.errors import CommandError, print_error
from airflow_provider_spark_operator.cli.exit_codes import ExitCode
from airflow_provider_spark_operator.cli.interrupts import raise_on_interrupt
from airflow_provider_spark_operator.cli.streams import OutputError, finish_results, prepare_streams
from airflow_provider_spark_operator.core.problems import InvalidResource
from airflow_provider_spark_operator.kube.errors import ConfigurationError, KubeError

# The arguments of each verb name its module, which has `run(options) -> ExitCode`.
_VERBS = "airflow_provider_spark_operator.cli"


def run_command(argv: Sequence[str] | None) -> int:
    """Run one command. See `airflow_provider_spark_operator.cli.main`."""
    prepare_streams()
    try:
        options = arguments.build_parser(__version__).parse_args(argv)
    except SystemExit as stop:
        sys.exit(_finish(ExitCode(stop.code if isinstance(stop.code, int) else ExitCode.INVALID)))
    return _finish(_run_and_report(options))


def _run_and_report(options: argparse.Namespace) -> ExitCode:
    try:
        return _run(options)
    except CommandError as error:
        print_error(str(error))
        return error.exit_code
    except (ConfigurationError, InvalidResource) as error:
        print_error(str(error))
        return ExitCode.INVALID
    except KubeError as error:
        print_error(str(error))
        return ExitCode.API_FAILED
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


def _run(options: argparse.Namespace) -> ExitCode:
    try:
        verb = importlib.import_module(f"{_VERBS}.{options.module}")
    except ModuleNotFoundError as error:
        if (error.name or "").startswith(__package__.partition(".")[0]):
            raise
        raise CommandError(
            f"missing package {error.name}. Install it with pip install 'airflow-provider-spark-operator[local]'",
            ExitCode.INVALID,
        ) from None
    with raise_on_interrupt():
        exit_code: ExitCode = verb.run(options)
    return exit_code
