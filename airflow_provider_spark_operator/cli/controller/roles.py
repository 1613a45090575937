"""`spark-operator roles`: print the permissions that Airflow, users, the controller and drivers need."""

import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

from ..base.errors import ExitCode
from ..options.declaration import Parameter
from ..options.options import require_namespace

# The files are copies of those in docs/manifests: a test compares them.
_FOLDER: Final = Path(__file__).with_name("manifests")
_METADATA: Final = re.compile(r"(?<=^metadata:\n)(?=  name: )", re.MULTILINE)


class Audience(StrEnum):
    """Who needs permissions."""

    AIRFLOW = "airflow"
    CLI = "cli"
    CONNECT = "connect"
    CONTROLLER = "controller"
    DRIVER = "driver"
    KUEUE = "kueue"


_FILES: Final = {
    Audience.AIRFLOW: ("airflow",),
    Audience.CLI: ("airflow", "command-line"),
    Audience.CONNECT: ("connect",),
    Audience.CONTROLLER: ("controller",),
    Audience.DRIVER: ("workload",),
    Audience.KUEUE: ("kueue",),
}


def run(
    audience: Annotated[
        Audience | None,
        Parameter(
            "--for airflow|cli|connect|controller|driver|kueue",
            "who needs the permissions: Airflow, users of this program, Airflow and users for Spark Connect in "
            "addition, `reconcile`, drivers, or `reconcile --kueue` in addition to `reconcile` (default: all)",
        ),
    ] = None,
    namespace: Annotated[
        str | None,
        Parameter(
            "-n --namespace NAMESPACE",
            "namespace of the applications (default: none, so that `kubectl apply -n` chooses it)",
            check=require_namespace,
        ),
    ] = None,
) -> ExitCode:
    """Print the Roles and service accounts that Spark on Kubernetes needs, as manifests with comments.

    The output is that of the files in docs/manifests of the repository. Bind a Role without a RoleBinding to your
    identity; the comments say how. `spark-operator doctor` checks the permissions.

    Examples:
        # Create the service account of drivers and its permissions
        spark-operator roles --for driver -n jobs | kubectl apply -f -

        # Read the permissions that Airflow needs
        spark-operator roles --for airflow
    """
    chosen = [audience] if audience else [*Audience]
    names = dict.fromkeys(name for one in chosen for name in _FILES[one])
    texts = [(_FOLDER / f"{name}.yaml").read_text(encoding="utf-8") for name in names]
    documents = "---\n".join(texts).split("---\n")
    print(*(_set_namespace(document, namespace) for document in documents), sep="---\n", end="")
    return ExitCode.SUCCESS


def _set_namespace(document: str, namespace: str | None) -> str:
    if namespace is None or "kind: ClusterRole" in document:
        return document
    # The quotes keep a name such as 123 a string.
    return _METADATA.sub(f'  namespace: "{namespace}"\n', document)
