"""The secret of the standalone clusters of a local cluster, without which Spark's ports refuse a connection.

All users of this machine can connect to 127.0.0.1, and read the command line of each process. So the secret is in a
file and in variables, which only the owner of the local cluster can read.
"""

import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path

AUTHENTICATE_KEY = "spark.authenticate"
SECRET_KEY = "spark.authenticate.secret"  # noqa: S105 - the name of a property
_VARIABLE = "_SPARK_AUTH_SECRET"
_FOLDER = "spark-conf"
# The name of the file that Spark's scripts read in the folder `SPARK_CONF_DIR`.
_FILE = "spark-defaults.conf"


@dataclass(frozen=True)
class SharedSecret:
    """The secret of all standalone masters, their workers, and their applications.

    Args:
        value: The secret.
        folder: A configuration folder with the secret for programs that connect to a master.
    """

    value: str = field(repr=False)
    folder: Path

    def build_variables(self) -> dict[str, str]:
        """Return the environment variable from which a master or a worker reads the secret."""
        return {_VARIABLE: self.value}


def provide_secret(cache: Path) -> SharedSecret:
    """Return the secret of a local cluster; generate it if the cluster has none.

    Args:
        cache: The folder of the local cluster that outlives pods.

    Raises:
        OSError: The secret could not be read or written.
    """
    folder = cache / _FOLDER
    file = folder / _FILE
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = folder / f"{_FILE}.unfinished"
        unfinished.unlink(missing_ok=True)
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as output:
            output.write(f"{AUTHENTICATE_KEY} true\n{SECRET_KEY} {secrets.token_hex(32)}\n")
        unfinished.replace(file)
    return SharedSecret(file.read_text(encoding="utf-8").split()[-1], folder)
