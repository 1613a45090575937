"""The worker processes of LocalExecutor that a test can kill."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psutil
import pytest

from tests.airflow.worker_processes import kill_if_running_task

# A worker with the titles that Airflow sets, and its task.
WORKER = """
import subprocess, sys
from setproctitle import setproctitle
worker, task = sys.argv[1:]
child = '''
import sys, time
from setproctitle import setproctitle
setproctitle(sys.argv[1])
print(flush=True)
time.sleep(99)
'''
if task:
    subprocess.Popen([sys.executable, "-c", child, task], stdout=subprocess.PIPE).stdout.readline()
setproctitle(worker)
print("ready", flush=True)
sys.stdin.read()
"""
TASK = "airflow worker -- 01a20398-9c7a-703b-8ae6-b66bca3c3813"


@contextmanager
def start_worker(title: str, task: str) -> Iterator[tuple[psutil.Process, list[psutil.Process]]]:
    command = [sys.executable, "-c", WORKER, title, task]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as started:
        children: list[psutil.Process] = []
        try:
            assert started.stdout is not None
            assert started.stdout.readline() == b"ready\n"
            process = psutil.Process(started.pid)
            children = process.children()
            yield process, children
        finally:
            started.kill()
            for child in children:
                with suppress(psutil.NoSuchProcess):
                    child.kill()


def test_kill_if_running_task_kills_worker_and_its_task() -> None:
    with start_worker("airflow worker -- LocalExecutor: 01a2", TASK) as (process, tasks):
        assert kill_if_running_task(process)
        ended, alive = psutil.wait_procs(tasks, timeout=10)
        assert len(ended) == 1
        assert alive == []


@pytest.mark.parametrize(
    ("title", "task"),
    [
        pytest.param("airflow worker -- LocalExecutor: 01a2", "", id="task has no process"),
        pytest.param(*["airflow worker -- LocalExecutor: 01a2"] * 2, id="task has not started"),
        pytest.param("airflow worker -- LocalExecutor: <idle>", TASK, id="worker is idle"),
        pytest.param("airflow scheduler", TASK, id="no worker"),
    ],
)
def test_kill_if_running_task_spares_processes_airflow_cannot_recover(title: str, task: str) -> None:
    with start_worker(title, task) as (process, _):
        assert not kill_if_running_task(process)
        assert process.status() != psutil.STATUS_STOPPED


def test_kill_if_running_task_ignores_process_that_has_ended() -> None:
    with start_worker("airflow worker -- LocalExecutor: 01a2", "") as (process, _):
        process.kill()
        process.wait()
        assert not kill_if_running_task(process)
