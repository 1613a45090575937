"""Run one command: from its arguments to a verb, and from an exception to an exit code."""

import argparse
import errno
import importlib
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

import typer

from airflow_provider_spark_operator import __version__
from airflow_provider_spark_operator.cli import arguments
from airflow_provider_spark_operator.cli.errors import CommandError, print_error
from airflow_provider_spark_operator.cli.exit_codes import ExitCode
from airflow_provider_spark_operator.cli.interrupts import raise_on_interrupt
from airflow_provider_spark_operator.cli.program import build_program
from airflow_provider_spark_operator.cli.program_name import get_program_name
from airflow_provider_spark_operator.cli.streams import OutputError, finish_results, prepare_streams
from airflow_provider_spark_operator.cli.usage_errors import USAGE_ERROR, describe_usage_error
from airflow_provider_spark_operator.core.problems import InvalidResource
from airflow_provider_spark_operator.kube.errors import ConfigurationError, KubeError

# The arguments of each verb name its module, which has `run(options) -> ExitCode`.
# These verbs are parsed by `arguments`.
_UNTYPED = ("local", "reconcile", "render", "validate")
_VERBS = "airflow_provider_spark_operator.cli"


def run_command(argv: Sequence[str] | None) -> int:
    """Run one command. See `airflow_provider_spark_operator.cli.main`."""
    prepare_streams()
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] and words[0] in _UNTYPED:
        return _run_untyped(words)
    return _finish(_run_and_report(lambda: _run_program(words)))


def _run_untyped(words: list[str]) -> int:
    try:
        options = arguments.build_parser(__version__).parse_args(words)
    except SystemExit as stop:
        sys.exit(_finish(ExitCode(stop.code if isinstance(stop.code, int) else ExitCode.INVALID)))
    return _finish(_run_and_report(lambda: _run(options)))


def _run_program(words: list[str]) -> ExitCode:
    """Parse the words and run their verb."""
    program = build_program()
    try:
        with program.make_context(get_program_name(), words) as context:
            exit_code: ExitCode = program.invoke(context)
    except typer.Exit as end:  # after --help or --version
        return ExitCode(end.exit_code)
    except USAGE_ERROR as error:
        raise CommandError(describe_usage_error(error), ExitCode.INVALID) from None
    return exit_code


def _run_and_report(run: Callable[[], ExitCode]) -> ExitCode:
    try:
        return run()
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
