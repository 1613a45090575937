"""The name of the program, as the user started it."""

import sys
from pathlib import PurePath

PROGRAM = "spark-operator"
_PLUGIN = "kubectl-spark"


def get_program_name() -> str:
    """Return `kubectl spark` if kubectl started the program as its plugin, else `spark-operator`."""
    return _PLUGIN.replace("-", " ") if PurePath(sys.argv[0]).name == _PLUGIN else PROGRAM
