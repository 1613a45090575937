"""`spark-operator local up`: run a local cluster in the foreground."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from airflow_provider_spark_operator.cli.errors import CommandError
from airflow_provider_spark_operator.cli.exit_codes import ExitCode
from airflow_provider_spark_operator.cli.local_images import parse_image_rules
from airflow_provider_spark_operator.cli.log_records import configure_logs
from airflow_provider_spark_operator.cli.signals import run_until_signal
from airflow_provider_spark_operator.local.cluster import run_cluster
from local_kubernetes.home import LocalClusterError, UnusableHome
from local_kubernetes.kubeconfig import UnusableKubeconfig, check_kubeconfig, publish_kubeconfig
from local_kubernetes.kubelet.images import ImageRule

_COMMAND = "spark-operator local up"


def run(options: argparse.Namespace) -> ExitCode:
    """Run the cluster until a signal ends it.

    Raises:
        CommandError: The cluster could not be started, or its kubeconfig could not be written.
    """
    configure_logs(options.log_format)
    kubeconfig = Path(options.kubeconfig) if options.kubeconfig else None
    images = parse_image_rules(options.image)
    if options.repair and not options.keep:
        raise CommandError("--repair: requires --keep", ExitCode.INVALID)
    return run_until_signal(lambda: _up(options, kubeconfig, images))


async def _up(options: argparse.Namespace, kubeconfig: Path | None, images: Sequence[ImageRule]) -> ExitCode:
    try:
        if kubeconfig is not None:
            check_kubeconfig(kubeconfig, _COMMAND)
        async with run_cluster(
            Path(options.home), images=images, keep=options.keep, repair=options.repair, take_over=options.take_over
        ) as cluster:
            with publish_kubeconfig(cluster.kubeconfig, kubeconfig, _COMMAND) as path:
                print(f"ready kubeconfig={path}", flush=True)
                await cluster.controller
    except UnusableKubeconfig as error:
        raise CommandError(f"--kubeconfig {error}", ExitCode.INVALID) from None
    except UnusableHome as error:
        raise CommandError(f"--home: {error}", ExitCode.INVALID) from None
    except LocalClusterError as error:
        raise CommandError(str(error), ExitCode.INFRASTRUCTURE_FAILED) from None
    return ExitCode.SUCCESS
