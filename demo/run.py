"""Run the parts of the demo: the local cluster, the processes of Airflow and one DAG run. Check the result."""

import asyncio
import contextlib
import fcntl
import json
import shutil
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path

from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from demo.airflow_environment import build_airflow_environment
from demo.dag_run import RUN_ID
from demo.narrator import format_line, narrate
from demo.processes import Component, Components
from demo.task_log import find_log, read_failure

REPOSITORY = Path(__file__).resolve().parent.parent
DAG_ID = "spark_pi"
EXPECTED = {"compute_pi": "success", "fail_on_purpose": "failed"}
EXPECTED_EXIT_CODE = "exit code 3"
NAMESPACE = "default"
DEADLINE_SECONDS = 300
NEEDED_MEBIBYTES = 300
PASSWORDS = "simple_auth_manager_passwords.json.generated"
MARK = ".spark-operator-demo"
AIRFLOW_COMMANDS = {
    "scheduler": ("scheduler", "--skip-serve-logs"),
    "triggerer": ("triggerer", "--skip-serve-logs"),
    "api-server": ("api-server", "--apps", "execution"),
}


class DemoFailed(Exception):
    """The demo could not run, or did not end as expected. The message is one sentence."""


async def run(home: Path, *, keep_open: bool) -> None:
    """Run the demo.

    Args:
        home: The folder for all state. The state of an earlier demo in it is removed.
        keep_open: Whether Airflow's web interface stays open after the run, until the task is cancelled.

    Raises:
        DemoFailed: The folder contains other files, a task did not end as expected, or the run took too long.
        ProcessFailed: A process ended early.
        OSError: The folder could not be written.
    """
    with _claim(home):
        kubeconfig, airflow_home = home / "kubeconfig", home / "airflow"
        environment = build_airflow_environment(airflow_home, REPOSITORY / "example_dags", kubeconfig)
        async with Components(environment, home / "logs") as components:
            try:
                async with asyncio.timeout(DEADLINE_SECONDS):
                    parts, states = await _run_dag(components, home, keep_open=keep_open)
            except TimeoutError:
                raise DemoFailed(
                    f"did not finish within {DEADLINE_SECONDS} s; the logs are in {home / 'logs'}"
                ) from None
            if keep_open:
                _judge(states, airflow_home, home / "logs" / "scheduler.log")
                await _serve_ui(parts, environment["AIRFLOW__API__PORT"], airflow_home)
        if not keep_open:
            _judge(states, airflow_home, home / "logs" / "scheduler.log")
            print("\n    next  make demo UI=1 keeps Airflow's web interface open; docs/get-started/tutorial.md")


async def _run_dag(
    components: Components, home: Path, *, keep_open: bool
) -> tuple[list[Component], dict[str, str | None]]:
    """Run the DAG. Return the processes that continue to run, and the states of the tasks."""
    kubeconfig, airflow_home = home / "kubeconfig", home / "airflow"
    _announce(
        "cluster",
        f"embedded Kubernetes API, controller and pods as processes, in {home / 'cluster'}",
    )
    parts = [await start_cluster(components, home / "cluster", kubeconfig)]
    _announce("airflow", f"scheduler, triggerer and execution API, in {airflow_home}")
    command = (sys.executable, "-m", "demo.dag_run", DAG_ID)
    reports = read_task_states(await components.start("dag run", command, pipe_output=True))
    await anext(reports)
    commands = AIRFLOW_COMMANDS | ({"api-server": ("api-server",)} if keep_open else {})
    for name, arguments in commands.items():
        parts.append(await components.start(name, (sys.executable, "-m", "airflow", *arguments)))
    async with await open_client(ClusterAccess(kubeconfig=kubeconfig)) as client:
        return parts, await _await_end(reports, parts, client)


async def _serve_ui(parts: list[Component], port: str, airflow_home: Path) -> None:
    """Print how to open the web interface, and wait for the end of a process or a cancellation."""
    [(user, password)] = json.loads((airflow_home / PASSWORDS).read_text(encoding="utf-8")).items()
    print()
    _announce("ui", f"http://127.0.0.1:{port}/dags/{DAG_ID}/runs/{RUN_ID}")
    print(f"    user  {user}, password {password}\n    stop  press Ctrl+C", flush=True)
    exits = {asyncio.create_task(part.process.wait()): part for part in parts}
    with contextlib.suppress(asyncio.CancelledError):  # Ctrl+C is the way to end the demo here
        done, _ = await asyncio.wait(exits, return_when=asyncio.FIRST_COMPLETED)
        raise exits[done.pop()].build_failure()


@contextlib.contextmanager
def _claim(home: Path) -> Iterator[None]:
    """Empty the folder, and lock it against a second demo."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    mark = home / MARK
    if any(home.iterdir()) and not mark.exists():
        raise DemoFailed(f"could not use {home}: it contains other files. Choose an empty folder with --home")
    with mark.open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DemoFailed(
                f"could not use {home}: another demo is running in it. Wait for its end, or choose a folder with --home"
            ) from None
        for entry in home.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            elif entry != mark:
                entry.unlink()
        free = shutil.disk_usage(home).free // 2**20
        if free < NEEDED_MEBIBYTES:
            raise DemoFailed(
                f"could not use {home}: {free} MiB are free, but the demo needs {NEEDED_MEBIBYTES} MiB. Free some space"
            )
        yield


async def start_cluster(components: Components, home: Path, kubeconfig: Path) -> Component:
    """Start a local cluster, and return when it is ready."""
    verb = ("local", "up", "--home", str(home), "--kubeconfig", str(kubeconfig))
    command = (sys.executable, "-m", "airflow_provider_spark_operator.cli", *verb)
    cluster = await components.start("local cluster", command, pipe_output=True)
    async for line in _read_output(cluster):
        if line.startswith("ready "):
            return cluster
    await cluster.process.wait()
    raise cluster.build_failure()


async def _read_output(part: Component) -> AsyncIterator[str]:
    stream = part.process.stdout
    if stream is not None:
        async for line in stream:
            yield line.decode(errors="replace").rstrip()


async def read_task_states(dag_run: Component) -> AsyncIterator[dict[str, str | None]]:
    """Yield the states of the task instances by task id: none after the registration, then all after each change."""
    states: dict[str, str | None] = {}
    async for line in _read_output(dag_run):
        report = json.loads(line)
        if "run" in report:
            return
        if "task" in report:
            states[report["task"]] = report["state"]
            _say(report["task"], f"task {report['state'] or 'created'}")
        yield dict(states)
    await dag_run.process.wait()
    raise dag_run.build_failure()


async def _await_end(
    reports: AsyncIterator[dict[str, str | None]],
    parts: list[Component],
    client: KubeClient,
) -> dict[str, str | None]:
    async def read_last_report() -> dict[str, str | None]:
        last: dict[str, str | None] = {}
        async for report in reports:
            last = report
        return last

    narration = asyncio.create_task(narrate(client, NAMESPACE, _say))
    ending = asyncio.create_task(read_last_report())
    exits = {asyncio.create_task(part.process.wait()): part for part in parts}
    try:
        done, _ = await asyncio.wait({ending, narration, *exits}, return_when=asyncio.FIRST_COMPLETED)
        for exited, part in exits.items():
            if exited in done:
                raise part.build_failure()
        if narration in done:
            await narration
        return await ending
    finally:
        tasks = (narration, ending, *exits)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _judge(states: Mapping[str, str | None], airflow_home: Path, scheduler_log: Path) -> None:
    print()
    wrong = []
    for task_id, expected in EXPECTED.items():
        log = find_log(airflow_home, DAG_ID, task_id)
        failure = read_failure(log)
        lack = _describe_lack(states.get(task_id), expected, failure)
        _announce(task_id, f"{states.get(task_id)}, {f'NOT as expected: {lack}' if lack else 'as expected'}")
        if failure:
            print("    why   " + failure.replace("\n", "\n          "))
        print(f"    log   {log if failure or not lack else scheduler_log}")
        if lack:
            wrong.append(task_id)
    if wrong:
        raise DemoFailed(f"{' and '.join(wrong)} did not end as expected. See the log above")


def _describe_lack(state: str | None, expected: str, failure: str) -> str:
    """Describe how the end of a task differs from the expected one; return an empty string if it does not."""
    if state != expected:
        return f"{expected} was expected"
    if expected == "failed" and EXPECTED_EXIT_CODE not in failure:
        return f'its error does not contain "{EXPECTED_EXIT_CODE}"'
    return ""


def _announce(subject: str, text: str) -> None:
    print(f"==> {subject:<16} {text}", flush=True)


def _say(subject: str, text: str) -> None:
    print(format_line(subject, text), flush=True)
