import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from local_kubernetes.api.server.podlogs import LogOptions
from local_kubernetes.kubelet.containers.container_log import ContainerLog
from local_kubernetes.kubelet.containers.process import ContainerProcess, Exit
from local_kubernetes.kubelet.node.runtime import StartError

from kubelet.conditions import is_alive, wait_until

ENVIRONMENT = {"PATH": os.environ["PATH"]}

ESCAPING = """
import os, sys, time
if os.fork() == 0:
    os.setpgid(0, 0) if sys.argv[2] == "group" else os.setsid()
    with open(sys.argv[1], "w") as file:
        file.write(str(os.getpid()))
    os.rename(sys.argv[1], sys.argv[1] + ".ready")
    time.sleep(600)
time.sleep(float(sys.argv[3]))
"""

OWNER = """
import asyncio, os, sys
from pathlib import Path
from local_kubernetes.kubelet.containers.container_log import ContainerLog
from local_kubernetes.kubelet.containers.process import ContainerProcess

async def main():
    log = ContainerLog(Path(sys.argv[1]) / "0.log")
    process = await ContainerProcess.start(sys.argv[2:], dict(os.environ), Path(sys.argv[1]), log)
    print(process.pid, flush=True)
    await process.wait()

asyncio.run(main())
"""


def is_same_folder(path: str, other: Path) -> bool:
    return Path(path).samefile(other)


def read_number(path: str) -> int:
    return int(Path(path).read_text())


async def run(folder: Path, *command: str, environment: dict[str, str] | None = None) -> tuple[Exit, str]:
    log = ContainerLog(folder / "0.log")
    try:
        process = await ContainerProcess.start(command, environment or ENVIRONMENT, folder, log)
        ended = await process.wait()
    finally:
        log.close()
    return ended, b"".join([piece async for piece in log.read(LogOptions())]).decode()


async def test_output_of_both_streams_is_logged_and_the_exit_code_returned(tmp_path: Path) -> None:
    ended, output = await run(tmp_path, "sh", "-c", "echo out; echo err >&2; printf unfinished; exit 3")

    assert ended == Exit(3)
    assert all(word in output for word in ("out\n", "err\n", "unfinished"))


async def test_exit_code_of_a_killed_command_is_128_plus_the_signal(tmp_path: Path) -> None:
    ended, _ = await run(tmp_path, "sh", "-c", "kill -SEGV $$")

    assert ended == Exit(128 + signal.SIGSEGV, signal.SIGSEGV)


async def test_the_command_sees_exactly_its_environment_and_directory(tmp_path: Path) -> None:
    environment = {**ENVIRONMENT, "GREETING": "a b\n$c", "PYTHONHOME": "/nowhere"}

    _, output = await run(tmp_path, "/usr/bin/env", environment=environment)
    _, directory = await run(tmp_path, "sh", "-c", "pwd -P")

    assert "GREETING=a b\n$c" in output
    assert {line.split("=")[0] for line in output.splitlines() if "=" in line} <= {*environment, "LC_CTYPE"}
    assert is_same_folder(directory.splitlines()[-1], tmp_path)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["no-such-command"], 'exec: "no-such-command": executable file not found in $PATH'),
        (["/etc/passwd"], 'exec: "/etc/passwd": permission denied'),
        (["with\0null"], "embedded null byte"),
    ],
)
async def test_a_command_that_cannot_be_executed_is_refused_with_the_cause(
    tmp_path: Path, command: list[str], message: str
) -> None:
    with pytest.raises(StartError, match=message.replace("$", r"\$")):
        await run(tmp_path, *command)


async def test_terminate_lets_the_command_choose_its_exit_code(tmp_path: Path) -> None:
    log = ContainerLog(tmp_path / "0.log")
    script = "trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.05; done"
    process = await ContainerProcess.start(["sh", "-c", script], ENVIRONMENT, tmp_path, log)
    await wait_until(lambda: b"ready" in log.path.read_bytes())

    process.terminate()

    assert await process.wait() == Exit(7)
    log.close()


async def test_killing_ends_a_command_that_ignores_termination(tmp_path: Path) -> None:
    log = ContainerLog(tmp_path / "0.log")
    script = "trap '' TERM; echo ready; while :; do sleep 0.05; done"
    process = await ContainerProcess.start(["sh", "-c", script], ENVIRONMENT, tmp_path, log)
    await wait_until(lambda: b"ready" in log.path.read_bytes())

    process.terminate()
    process.kill()

    assert await process.wait() == Exit(137, signal.SIGKILL)
    log.close()


@pytest.mark.parametrize(
    "place",
    [
        "group",
        pytest.param(
            "session", marks=pytest.mark.skipif(sys.platform != "linux", reason="only Linux reparents to the guard")
        ),
    ],
)
async def test_child_processes_are_killed_when_the_command_ends(tmp_path: Path, place: str) -> None:
    note = tmp_path / "child"
    log = ContainerLog(tmp_path / "0.log")
    command = [sys.executable, "-c", ESCAPING, str(note), place, "600"]
    process = await ContainerProcess.start(command, ENVIRONMENT, tmp_path, log)
    await wait_until(Path(f"{note}.ready").exists)
    escaped = read_number(f"{note}.ready")

    os.kill(process.pid, signal.SIGTERM)

    assert (await process.wait()).signal == signal.SIGTERM
    await wait_until(lambda: not is_alive(escaped))
    log.close()


@pytest.mark.parametrize("victim", ["owner", "guard"])
@pytest.mark.skipif(sys.platform != "linux", reason="finds the guard by /proc")
def test_no_process_survives_a_kill_of_the_owner_or_the_guard(tmp_path: Path, victim: str) -> None:
    note = tmp_path / "child"
    command = [sys.executable, "-c", OWNER, str(tmp_path)]
    command += [sys.executable, "-c", ESCAPING, str(note), "group", "600"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        main = int(owner.stdout.readline())
        asyncio.run(wait_until(Path(f"{note}.ready").exists))
        escaped = int(Path(f"{note}.ready").read_text())
        guard = int(Path(f"/proc/{main}/stat").read_text().rsplit(")", 1)[1].split()[1])

        os.kill(owner.pid if victim == "owner" else guard, signal.SIGKILL)

        asyncio.run(wait_until(lambda: not any(is_alive(pid) for pid in (main, escaped, guard))))
        owner.kill()
