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
from local_kubernetes.kubelet.images import ImageRule

_MARK = "# Written by `spark-operator local up`; it is gone when that ends.\n"


def run(options: argparse.Namespace) -> ExitCode:
    """Run until a signal ends it; everything started ends with it.

    Raises:
        CommandError: the cluster cannot be started, or its kubeconfig not be written.
    """
    configure_logs(options.log_format)
    kubeconfig = Path(options.kubeconfig) if options.kubeconfig else None
    images = image_rules(options.image)
    if options.repair and not options.keep:
        raise CommandError("--repair: needs --keep, whose journal is repaired", ExitCode.INVALID)
    return run_until_signalled(lambda: _up(options, kubeconfig, images))


async def _up(options: argparse.Namespace, kubeconfig: Path | None, images: Sequence[ImageRule]) -> ExitCode:
    if kubeconfig is not None:
        _check_folder(kubeconfig)
        _check_replaceable(kubeconfig)
    async with running_cluster(
        Path(options.home), images=images, keep=options.keep, repair=options.repair, take_over=options.take_over
    ) as cluster:
        with _published(cluster.kubeconfig, kubeconfig) as path:
            print(f"ready kubeconfig={path}", flush=True)
            await cluster.controller
    return ExitCode.SUCCESS


def _check_folder(path: Path) -> None:
    """Raise CommandError unless a file can be created at `path`, before the cluster starts."""
    folder = path.absolute().parent
    if not folder.is_dir():
        problem = f"the folder {folder} does not exist"
    elif not os.access(folder, os.W_OK | os.X_OK):
        problem = f"the folder {folder} is not writable"
    else:
        return
    raise CommandError(
        f"--kubeconfig {path}: {problem}. Choose an existing folder that you can write", ExitCode.INVALID
    )


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
