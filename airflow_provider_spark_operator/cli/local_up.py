"""`spark-operator local up`: a cluster on this machine, in the foreground."""

import argparse
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from airflow_provider_spark_operator.cli.errors import CommandError
from airflow_provider_spark_operator.cli.exit_codes import ExitCode
from airflow_provider_spark_operator.cli.local_cluster import running_cluster
from airflow_provider_spark_operator.cli.local_images import image_rules
from airflow_provider_spark_operator.cli.logs import configure_logs
from airflow_provider_spark_operator.cli.signals import run_until_signalled
from airflow_provider_spark_operator.local.kubelet.images import ImageRule

_MARK = "# Written by `spark-operator local up`; it is gone when that ends.\n"


def run(options: argparse.Namespace) -> ExitCode:
    """Run until a signal ends it; everything started ends with it.

    Raises:
        CommandError: the cluster cannot be started, or its kubeconfig not be written.
    """
    configure_logs(options.log_format)
    kubeconfig = Path(options.kubeconfig) if options.kubeconfig else None
    images = image_rules(options.image)
    return run_until_signalled(lambda: _up(Path(options.home), kubeconfig, images, keep=options.keep))


async def _up(home: Path, kubeconfig: Path | None, images: Sequence[ImageRule], *, keep: bool) -> ExitCode:
    if kubeconfig is not None:
        _check_replaceable(kubeconfig)
    async with running_cluster(home, images=images, keep=keep) as cluster:
        with _published(cluster.kubeconfig, kubeconfig) as path:
            print(f"ready kubeconfig={path}", flush=True)
            await cluster.controller
    return ExitCode.SUCCESS


def _check_replaceable(path: Path) -> None:
    """Raise CommandError unless `path` is free, or was left by an earlier cluster: it may be the user's own."""
    try:
        ours = not path.exists() or path.read_text(encoding="utf-8").startswith(_MARK)
    except (OSError, UnicodeDecodeError):
        ours = False
    if not ours:
        raise CommandError(
            f"--kubeconfig {path}: exists and was not written by this command; name another file",
            ExitCode.INVALID,
        )


@contextmanager
def _published(source: Path, copy: Path | None) -> Iterator[Path]:
    """Put a copy of the kubeconfig where it was asked for, readable by its owner only, while the cluster is up."""
    if copy is None:
        yield source
        return
    content = _MARK + source.read_text(encoding="utf-8")
    try:
        copy.unlink(missing_ok=True)
        descriptor = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(content)
    except OSError as error:
        raise CommandError(f"--kubeconfig {copy}: cannot be written: {error.strerror}", ExitCode.INVALID) from None
    try:
        yield copy
    finally:
        copy.unlink(missing_ok=True)
