"""The secret of the standalone clusters of a local cluster, without which Spark's ports refuse a connection.

All users of this machine can connect to 127.0.0.1, and read the command line of each process. So the secret is in a
file and in variables, which only the owner of the local cluster can read.

The secret is in no Spark property. The web interface of a driver shows the properties to all users, and an application
chooses with spark.redaction.regex which of them are hidden. Spark prefers the variable, but requires that the property
exists. Therefore the property has a random value that has no use.
"""

import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path

AUTHENTICATE_KEY = "spark.authenticate"
_SECRET_KEY = "spark.authenticate.secret"  # noqa: S105 - the name of a property
_VARIABLE = "_SPARK_AUTH_SECRET"
_FOLDER = "spark-conf"
_FILE = "secret"
# The name of the file that Spark's scripts read in the folder `SPARK_CONF_DIR`.
_PROPERTIES_FILE = "spark-defaults.conf"


@dataclass(frozen=True)
class SharedSecret:
    """The secret of all standalone masters, their workers, and their applications.

    Args:
        value: The secret.
        folder: A configuration folder for programs that connect to a master and know the secret.
    """

    value: str = field(repr=False)
    folder: Path

    def build_variables(self) -> dict[str, str]:
        """Return the environment variable from which a program of Spark reads the secret."""
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
        properties = build_properties().items()
        _write(folder / _PROPERTIES_FILE, "".join(f"{key} {value}\n" for key, value in properties))
        _write(file, secrets.token_hex(32))
    return SharedSecret(file.read_text(encoding="utf-8"), folder)


def build_properties() -> dict[str, str]:
    """Return the properties of a program that reads the secret from the variable."""
    return {AUTHENTICATE_KEY: "true", _SECRET_KEY: secrets.token_hex(32)}


def _write(file: Path, content: str) -> None:
    unfinished = file.with_name(f"{file.name}.unfinished")
    unfinished.unlink(missing_ok=True)
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as output:
        output.write(content)
    unfinished.replace(file)
