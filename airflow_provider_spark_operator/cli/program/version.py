"""`spark-operator version`: print the version of this program."""

from ... import __version__
from ..base.errors import ExitCode
from ..base.program_name import PROGRAM


def run() -> ExitCode:
    """Print the version of this program, without contacting a cluster.

    Examples:
        spark-operator version
    """
    print(f"{PROGRAM} {__version__}")
    return ExitCode.SUCCESS
