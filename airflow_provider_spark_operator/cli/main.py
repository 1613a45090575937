"""From `sys.argv` to a verb, and from what went wrong to an exit code."""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from airflow_provider_spark_operator import __version__
from airflow_provider_spark_operator.cli import arguments
from airflow_provider_spark_operator.cli.errors import CommandError, print_error
from airflow_provider_spark_operator.cli.exit_codes import ExitCode
from airflow_provider_spark_operator.kube.errors import ConfigurationError, KubeError

# Each verb's words name the module that acts them out: it has `run(options) -> ExitCode`.
_VERBS = "airflow_provider_spark_operator.cli"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; what it cannot do is one sentence on stderr, never only a traceback.

    Args:
        argv: the words after the program's name; those of the process if None.

    Returns:
        An `ExitCode`.
    """
    options = arguments.parser(__version__).parse_args(argv)
    try:
        return _run(options)
    except CommandError as error:
        print_error(str(error))
        return error.exit_code
    except ConfigurationError as error:
        print_error(str(error))
        return ExitCode.INVALID
    except KubeError as error:
        print_error(str(error))
        return ExitCode.API_FAILED
    except KeyboardInterrupt:
        print_error("interrupted")
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        # The reader of our results has left (`… | head`); what is left in the buffer has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.SUCCESS


def _run(options: argparse.Namespace) -> ExitCode:
    try:
        verb = importlib.import_module(f"{_VERBS}.{options.module}")
    except ModuleNotFoundError as error:
        if (error.name or "").startswith(__package__.partition(".")[0]):
            raise
        raise CommandError(
            f"this needs the package {error.name}: pip install 'airflow-provider-spark-operator[local]'",
            ExitCode.INVALID,
        ) from None
    exit_code: ExitCode = verb.run(options)
    sys.stdout.flush()
    return exit_code
