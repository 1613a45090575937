"""Run the demo as users run it, with real Airflow processes and real Spark."""

import fcntl
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from tests.local.test_dependencies import read_tree

REPOSITORY = Path(__file__).resolve().parents[2]
DEADLINE_SECONDS = 280
LOG_CHARACTERS = 8_000

pytestmark = [pytest.mark.airflow, pytest.mark.timeout(320)]


class Demo:
    """A run of the demo with its state in its own folder. `lines` contains its output so far."""

    def __init__(self, home: Path, *options: str) -> None:
        self.home = home
        self.lines: list[str] = []
        self.process = subprocess.Popen(
            [sys.executable, "-m", "demo", "--home", str(home), *options],
            cwd=REPOSITORY,
            env={**os.environ, "HOME": str(home.parent / "home"), "PYTHONDONTWRITEBYTECODE": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as output:
            self.lines.extend(iter(output.readline, ""))

    def wait_for(self, text: str) -> None:
        """Wait until a line contains `text`."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not any(text in line for line in self.lines):
            assert time.monotonic() < deadline, f"no {text!r} in:\n{''.join(self.lines)}"
            assert self.process.poll() is None, f"the demo ended:\n{''.join(self.lines)}"
            threading.Event().wait(0.2)

    def wait(self) -> int:
        """Wait until the demo ends. Return its exit code."""
        code = self.process.wait(DEADLINE_SECONDS)
        self._reader.join()
        return code

    def describe(self) -> str:
        """Return the output, and the end of each log, which shows why a task did not end as expected."""
        logs = (path for path in sorted(self.home.rglob("*.log*")) if path.is_file() and "cluster" not in path.parts)
        ends = (f"==> {path}\n{path.read_text(errors='replace')[-LOG_CHARACTERS:]}" for path in logs)
        return "\n".join(["".join(self.lines), *ends])

    def list_processes(self) -> list[str]:
        """Return the running processes that have the demo's folder in their command line, environment or open files."""
        found = []
        for process in psutil.process_iter(["cmdline", "environ", "open_files"]):
            # A process that changes its title has no command line or environment, but its log file is open.
            files = [file.path for file in process.info["open_files"] or ()]
            words = [*(process.info["cmdline"] or ()), *(process.info["environ"] or {}).values(), *files]
            if process.pid not in (os.getpid(), os.getppid()) and any(str(self.home) in word for word in words):
                found.append(f"{process.pid} {' '.join(process.info['cmdline'] or ())[:200]}")
        return found

    def wait_for_processes(self) -> None:
        """Wait until all processes of the demo have ended."""
        deadline = time.monotonic() + 30
        while processes := self.list_processes():
            assert time.monotonic() < deadline, processes
            threading.Event().wait(0.2)


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Demo]:
    (tmp_path / "home").mkdir()
    demo = Demo(tmp_path / "state")
    yield demo
    demo.process.kill()
    demo.wait()
    demo.wait_for_processes()
    assert demo.list_processes() == []


def test_demo_runs_real_spark_through_a_deferred_task(demo: Demo) -> None:
    before = read_tree(REPOSITORY / "example_dags")
    assert demo.wait() == 0, demo.describe()
    assert read_tree(REPOSITORY / "example_dags") == before
    output = "".join(demo.lines)
    assert "driver: Pi is roughly 3.1" in output
    assert "2 of 2 executors ready" in output
    assert "compute_pi         task deferred" in output
    assert "RunningHealthy" in output
    assert "compute_pi       success, as expected" in output
    assert "fail_on_purpose  failed, as expected" in output
    assert "exit code 3" in output
    assert "this application fails on purpose" in output.rpartition("why")[2]
    assert demo.list_processes() == []
    assert list((demo.home.parent / "home").iterdir()) == []


@pytest.mark.spark
def test_ui_stays_open_until_interrupted(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    demo = Demo(tmp_path / "state", "--ui")
    try:
        demo.wait_for("press Ctrl+C")
        output = "".join(demo.lines)
        assert "fail_on_purpose  failed, as expected" in output
        (address,) = re.findall(r"==> ui +(http://127\.0\.0\.1:\d+)/dags/spark_pi/runs/demo$", output, re.MULTILINE)
        ((user, password),) = re.findall(r"^ +user +(\w+), password (\w+)$", output, re.MULTILINE)
        answer = httpx.post(f"{address}/auth/token", json={"username": user, "password": password}, timeout=60)
        assert answer.status_code == 201, answer.text
        headers = {"Authorization": f"Bearer {answer.json()['access_token']}"}
        run = httpx.get(f"{address}/api/v2/dags/spark_pi/dagRuns/demo", headers=headers, timeout=60)
        assert run.json()["state"] == "failed"
        demo.process.send_signal(signal.SIGINT)
        assert demo.wait() == 0, demo.describe()
        demo.wait_for_processes()
    finally:
        demo.process.kill()
        demo.wait()


def test_interrupt_ends_the_demo_and_its_processes(demo: Demo) -> None:
    demo.wait_for("DriverRequested")
    demo.process.send_signal(signal.SIGINT)
    assert demo.wait() == 130
    assert demo.lines[-1].startswith("demo: interrupted")
    assert demo.list_processes() == []


def test_processes_end_when_the_demo_is_killed(demo: Demo) -> None:
    demo.wait_for("DriverRequested")
    os.killpg(demo.process.pid, signal.SIGKILL)
    demo.wait()
    demo.wait_for_processes()


def test_folder_with_other_files_is_refused_and_unchanged(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("mine")
    demo = Demo(tmp_path)
    assert demo.wait() == 1
    assert "it contains other files" in demo.lines[-1]
    assert (tmp_path / "letter.txt").read_text() == "mine"


def test_second_demo_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    mark = tmp_path / ".spark-operator-demo"
    with mark.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        demo = Demo(tmp_path)
        assert demo.wait() == 1
    assert "another demo is running in" in demo.lines[-1]
