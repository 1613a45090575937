"""`spark-operator connect`: a Python shell or a script with a session of a Spark Connect server."""

import asyncio
import os
import signal
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

from ...core.compose.connect import TOKEN_VARIABLE
from ...follow.access.connect import ConnectServer, find_loss, find_missing_packages, find_server, forward_server
from ...follow.access.reference import PodMissing
from ...kube.client import KubeClient
from ..base.errors import CommandError, ExitCode, print_error, print_note
from ..options.cluster_access import ClusterOptions, run_with_client
from ..options.declaration import Parameter
from ..options.options import ApplicationName


def run(
    access: ClusterOptions,
    name: ApplicationName,
    arguments: Annotated[
        list[str] | None, Parameter("ARGUMENT…", "arguments of the script; write -- before arguments that begin with -")
    ] = None,
    script: Annotated[
        str | None, Parameter("--exec FILE", "run a Python script (default: open a shell, whose variable is `spark`)")
    ] = None,
) -> ExitCode:
    """Open a Python shell with a session of a Spark Connect server, or run a script with it.

    The command forwards the port of the server, and passes its address and its token to PySpark as environment
    variables. The script gets the session from `SparkSession.builder.getOrCreate()`. It runs on this machine with the
    Python of this program, which needs the extra `connect`. Other programs on this machine can reach the forwarded
    port, but do not know the token.

    The exit code is 0 if the script succeeds, 1 if it fails, and 5 if the server was lost before.

    You need the permissions to get secrets, and to get and create pods/portforward.

    Examples:
        # Open a shell
        spark-operator connect analytics

        # Run a script with arguments
        spark-operator connect analytics --exec report.py -- --day 2026-01-31
    """
    if script is not None and not Path(script).is_file():
        raise CommandError(f"--exec {script}: the file does not exist", ExitCode.INVALID)
    if script is None and arguments:
        raise CommandError("the arguments are those of a script. Set --exec", ExitCode.INVALID)
    words = [sys.executable, "-i", "-q"] if script is None else [sys.executable, script, *(arguments or ())]
    return run_with_client(access, lambda client: _connect(client, name, words))


async def _connect(client: KubeClient, name: str, words: list[str]) -> ExitCode:
    try:
        server = await find_server(client, name)
    except PodMissing as error:
        raise CommandError(str(error), ExitCode.INVALID) from None
    if missing := find_missing_packages():
        advice = "Install airflow-provider-spark-operator[connect]"
        raise CommandError(f"could not open a session: {', '.join(missing)} not installed. {advice}", ExitCode.INVALID)
    shown = set[str]()

    def report(error: Exception) -> None:
        # PySpark connects again and again until a new server listens.
        if str(error) not in shown:
            shown.add(str(error))
            print_error(str(error))

    listener, port = await forward_server(client, server, report)
    async with listener:
        print_note(f"forwarding port {server.port} of {server.reference} to localhost:{port}")
        code = await _run(words, _build_environment(server, port))
    loss = await find_loss(client, server) if code else None
    if loss is not None:
        print_error(f"{server.reference} was lost: {loss}. The session and its data no longer exist")
        return ExitCode.INFRASTRUCTURE_FAILED
    return ExitCode.APPLICATION_FAILED if code else ExitCode.SUCCESS


def _build_environment(server: ConnectServer, port: int) -> dict[str, str]:
    # PySpark accepts a token without TLS for `localhost` only.
    variables = {**os.environ, "SPARK_REMOTE": f"sc://localhost:{port}", "SPARK_CONNECT_MODE_ENABLED": "1"}
    variables.pop(TOKEN_VARIABLE, None)
    pyspark = find_spec("pyspark")
    if pyspark is not None and pyspark.origin is not None:
        variables["PYTHONSTARTUP"] = str(Path(pyspark.origin).with_name("shell.py"))
    return variables if server.token is None else variables | {TOKEN_VARIABLE: server.token}


async def _run(words: list[str], environment: dict[str, str]) -> int:
    """Run a program until it ends. It handles Ctrl+C itself, because a terminal also sends the signal to it."""
    process = await asyncio.create_subprocess_exec(*words, env=environment)
    previous = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        return await process.wait()
    finally:
        signal.signal(signal.SIGINT, previous)
        if process.returncode is None:  # this program was ended by another signal
            process.terminate()
            await process.wait()
