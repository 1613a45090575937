"""The arguments and the work of the command `local-kubernetes`."""

import argparse
import asyncio
import logging
import signal
import sys
from collections.abc import Coroutine, Sequence
from enum import IntEnum
from pathlib import Path
from typing import Any

from . import __version__
from .cluster import LocalCluster
from .home import LocalClusterError, UnusableHome
from .kubeconfig import UnusableKubeconfig, check_kubeconfig, publish_kubeconfig
from .kubelet.node.images import DEFAULT_IMAGES, ImageRule, parse_rule

_COMMAND = "local-kubernetes up"
_EXIT_CODES = "exit codes: 0 success; 2 invalid input or usage; 5 infrastructure failure; 130 interrupted"


class ExitCode(IntEnum):
    """How the command ended."""

    SUCCESS = 0
    INVALID = 2
    INFRASTRUCTURE_FAILED = 5
    INTERRUPTED = 130


def run_command(arguments: Sequence[str] | None) -> int:
    """Run the command. See `local_kubernetes.cli.main`."""
    options = build_parser().parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)-7s %(message)s", stream=sys.stderr)
    logging.getLogger("aiohttp.access").setLevel(logging.WARNING)
    try:
        return asyncio.run(_run_until_signalled(_run_cluster(options)))
    except UnusableHome as error:
        return _report(f"--home: {error}", ExitCode.INVALID)
    except UnusableKubeconfig as error:
        return _report(f"--kubeconfig {error}", ExitCode.INVALID)
    except LocalClusterError as error:
        return _report(str(error), ExitCode.INFRASTRUCTURE_FAILED)


def _report(message: str, exit_code: ExitCode) -> ExitCode:
    print(f"local-kubernetes: error: {message}", file=sys.stderr)
    return exit_code


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line; usage errors end the process with exit code 2."""
    root = argparse.ArgumentParser(
        prog="local-kubernetes",
        description="A Kubernetes cluster in one process: the containers of its pods are processes of this machine.",
        epilog=_EXIT_CODES,
    )
    root.add_argument("--version", action="version", version=f"local-kubernetes {__version__}")
    verbs = root.add_subparsers(title="verbs", metavar="VERB", required=True)
    up = verbs.add_parser(
        "up",
        help="run a cluster in the foreground",
        description="Run a cluster in the foreground. When the cluster has started, the command prints one line "
        "`ready kubeconfig=FILE`. SIGTERM or SIGINT ends the cluster and all its pods.",
        epilog=_EXIT_CODES,
    )
    up.add_argument(
        "--home",
        type=_parse_path,
        metavar="DIR",
        default=Path(".local-kubernetes"),
        help="folder for the state of the cluster (default: %(default)s)",
    )
    up.add_argument("--kubeconfig", type=_parse_path, metavar="FILE", help="also write the kubeconfig to FILE")
    up.add_argument(
        "--keep", action="store_true", help="keep the objects in DIR, and load those of an earlier run with --keep"
    )
    up.add_argument(
        "--repair",
        action="store_true",
        help="with --keep: drop damaged records of DIR/journal, after keeping a copy of the file",
    )
    up.add_argument(
        "--image",
        type=_parse_rule,
        action="append",
        default=[],
        metavar="PATTERN=RUNTIME",
        help="also run images whose name matches PATTERN. RUNTIME must be `process`: the containers run programs of "
        "this machine. By default, only local/process, alpine, bash, busybox, debian, python and ubuntu can run",
    )
    return root


def _parse_path(text: str) -> Path:
    if not text:  # an unset variable of a shell: as a path, it would be the current directory
        raise argparse.ArgumentTypeError("must not be empty")
    return Path(text)


def _parse_rule(text: str) -> ImageRule:
    try:
        return parse_rule(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


async def _run_cluster(options: argparse.Namespace) -> ExitCode:
    """Run a cluster until the task is cancelled."""
    if options.repair and not options.keep:
        return _report("--repair: requires --keep", ExitCode.INVALID)
    if options.kubeconfig is not None:
        check_kubeconfig(options.kubeconfig, _COMMAND)
    images = (*options.image, *DEFAULT_IMAGES)
    async with LocalCluster(options.home, images=images, keep=options.keep, repair=options.repair) as cluster:
        with publish_kubeconfig(cluster.kubeconfig, options.kubeconfig, _COMMAND) as path:
            try:
                print(f"ready kubeconfig={path}", flush=True)
            except OSError as error:
                return _report(f"could not write to standard output: {error.strerror}", ExitCode.INFRASTRUCTURE_FAILED)
            await asyncio.Event().wait()
    return ExitCode.SUCCESS


async def _run_until_signalled(work: Coroutine[Any, Any, ExitCode]) -> ExitCode:
    """Run `work`; SIGTERM, SIGINT and SIGHUP cancel it and let it clean up.

    If the process was started with SIGHUP ignored, as by `nohup`, SIGHUP stays ignored.
    """
    task = asyncio.create_task(work)
    endings = {signal.SIGTERM: ExitCode.SUCCESS, signal.SIGINT: ExitCode.INTERRUPTED}
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        endings[signal.SIGHUP] = ExitCode.INTERRUPTED
    received: list[signal.Signals] = []

    def stop(number: signal.Signals) -> None:
        if not received:  # a second signal must not interrupt the cleanup
            task.cancel()
        received.append(number)

    loop = asyncio.get_running_loop()
    for number in endings:
        loop.add_signal_handler(number, stop, number)
    try:
        return await task
    except asyncio.CancelledError:
        if not received:
            raise
        return endings[received[0]]
