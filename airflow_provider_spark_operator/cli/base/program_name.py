"""The name of the program as the user started it, and commands for the user."""

import sys
from pathlib import PurePath

PROGRAM = "spark-operator"
_PLUGIN = "kubectl-spark"


def get_program_name() -> str:
    """Return `kubectl spark` if kubectl started the program as its plugin, else `spark-operator`."""
    return _PLUGIN.replace("-", " ") if PurePath(sys.argv[0]).name == _PLUGIN else PROGRAM


def format_command(verb: str, name: str, namespace: str) -> str:
    """Return the command with a verb and an application, marked as code."""
    return f"`{get_program_name()} {verb} {name} -n {namespace}`"
