"""`spark-operator reconcile`: run the controller."""

import inspect
from typing import Any

from ..base.errors import ExitCode
from .controller import run_controller
from .controller_options import ControllerOptions


def run(**options: Any) -> ExitCode:
    """Run the controller for SparkApplications and SparkClusters on a cluster without an operator.

    The controller prints one line `ready ...` when its caches are filled. SIGTERM ends it.

    Examples:
        # Run the controller for the current namespace
        spark-operator reconcile

        # Watch two namespaces, and serve probes and metrics
        spark-operator reconcile --namespaces spark-jobs,spark-tests --health-port 8081 --metrics-port 8080

        # List the resources that do not belong to the controller with this Lease
        spark-operator reconcile --all-namespaces --lease spark-operator/spark-operator --check
    """
    return run_controller(ControllerOptions(**options))


# The command line is built from the signature.
run.__signature__ = inspect.signature(ControllerOptions)  # type: ignore[attr-defined]
