"""The worker processes of Airflow's LocalExecutor, which a test kills.

Only a worker whose task has started is killed:

- LocalExecutor does not implement `revoke_task`. If a worker is killed before its task has started, the task stays in
  the state "queued" until the scheduler is replaced, whatever `[scheduler] task_queued_timeout` says.
- An idle worker, or one that reports a result, can hold the lock of a queue that all workers share. Killing it blocks
  all other workers.
"""

import contextlib

import psutil

# The titles of a worker, of a worker without a task, and of a task that has started. Until then a task has the title of
# the worker that it was forked from.
_WORKER, _IDLE, _TASK = "airflow worker -- LocalExecutor:", "<idle>", "airflow worker -- "


def kill_tree(process: psutil.Process) -> None:
    """Kill a process, which may have ended, and all its descendants."""
    with contextlib.suppress(psutil.NoSuchProcess):
        for one in (process, *process.children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()


def kill_if_running_task(worker: psutil.Process) -> bool:
    """Kill a process with its descendants if it is a worker whose task has started.

    Args:
        worker: Any process.

    Returns:
        Whether it was killed.
    """
    if not _has_started_task(worker):
        return False
    with contextlib.suppress(psutil.NoSuchProcess):
        # Stopped, the worker cannot finish its task between the second check and its end.
        worker.suspend()
        if _has_started_task(worker):
            kill_tree(worker)
            return True
        worker.resume()
    return False


def _has_started_task(worker: psutil.Process) -> bool:
    title = _read_title(worker)
    if not title.startswith(_WORKER) or _IDLE in title:
        return False
    try:
        titles = [_read_title(child) for child in worker.children()]
    except psutil.NoSuchProcess:
        return False
    return any(title.startswith(_TASK) and not title.startswith(_WORKER) for title in titles)


def _read_title(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""
