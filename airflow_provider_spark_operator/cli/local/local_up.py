"""`spark-operator local up`: run a local cluster in the foreground."""

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from local_kubernetes.home import LocalClusterError, UnusableHome
from local_kubernetes.kubeconfig import UnusableKubeconfig, check_kubeconfig, publish_kubeconfig
from local_kubernetes.kubelet.node.images import ImageRule

from ...local.cluster import run_cluster
from ..base.errors import CommandError, ExitCode, print_note
from ..base.signals import run_until_signal
from ..options.declaration import Parameter
from ..options.options import LOCAL_HOME, ImageRules, LocalHome, LogFormat, LogFormatOption, require_text
from ..output.log_records import configure_logs
from .local_images import parse_image_rules

_COMMAND = "spark-operator local up"


@dataclass(frozen=True)
class _Options:
    home: Path
    kubeconfig: Path | None
    images: Sequence[ImageRule]
    keep: bool
    repair: bool
    take_over: bool


def run(
    home: LocalHome = LOCAL_HOME,
    kubeconfig: Annotated[
        str | None, Parameter("--kubeconfig FILE", "also write the kubeconfig to FILE", check=require_text)
    ] = None,
    image: ImageRules = None,
    keep: Annotated[
        bool,
        Parameter("--keep", "store the Kubernetes objects in the folder of --home, and load those of an earlier run"),
    ] = False,
    repair: Annotated[
        bool,
        Parameter(
            "--repair",
            "with --keep: copy DIR/journal to DIR/journal.damaged-1 (or the next free number), then remove the "
            "damaged records from DIR/journal",
        ),
    ] = False,
    take_over: Annotated[
        bool,
        Parameter(
            "--take-over",
            "with --keep: also manage the stored applications and SparkClusters of another controller that may "
            "still be running, such as the Apache operator. Stop that controller first",
        ),
    ] = False,
    log_format: LogFormatOption = LogFormat.TEXT,
) -> ExitCode:
    """Run the cluster in the foreground.

    When the cluster has started, the command prints one line `ready kubeconfig=FILE`. SIGTERM, SIGINT, SIGHUP
    or `spark-operator local down` ends the cluster and all its pods.

    Examples:
        # Start a cluster, and use it in another terminal with KUBECONFIG=.spark-local/kubeconfig
        spark-operator local up

        # Keep the objects for the next start
        spark-operator local up --home ~/.spark-local --keep
    """
    configure_logs(log_format)
    images = parse_image_rules(image)
    if repair and not keep:
        raise CommandError("--repair: requires --keep", ExitCode.INVALID)
    path = Path(kubeconfig) if kubeconfig else None
    options = _Options(Path(home), path, images, keep, repair, take_over)
    return run_until_signal(lambda: _up(options))


async def _up(options: _Options) -> ExitCode:
    try:
        if options.kubeconfig is not None:
            check_kubeconfig(options.kubeconfig, _COMMAND)
        async with run_cluster(
            options.home, images=options.images, keep=options.keep, repair=options.repair, take_over=options.take_over
        ) as cluster:
            with publish_kubeconfig(cluster.kubeconfig, options.kubeconfig, _COMMAND) as path:
                print(f"ready kubeconfig={path}", flush=True)
                _explain(path)
                await cluster.controller
    except UnusableKubeconfig as error:
        raise CommandError(f"--kubeconfig {error}", ExitCode.INVALID) from None
    except UnusableHome as error:
        raise CommandError(f"--home: {error}", ExitCode.INVALID) from None
    except LocalClusterError as error:
        raise CommandError(str(error), ExitCode.INFRASTRUCTURE_FAILED) from None
    return ExitCode.SUCCESS


def _explain(kubeconfig: Path) -> None:
    if sys.stderr.isatty():
        setting = shlex.quote(f"KUBECONFIG={kubeconfig.absolute()}")
        print_note(f"to use the cluster in another terminal, run `export {setting}` there. Ctrl+C stops the cluster")
