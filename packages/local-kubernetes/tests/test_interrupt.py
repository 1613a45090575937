"""SIGINT while `local-kubernetes` imports its modules: exit code 130 without a traceback."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from local_kubernetes.command import ExitCode

DEADLINE_SECONDS = 60
# Python imports this module when it starts. The module stops the process where it would import a given module.
STOP_AT_IMPORT = """
import os, sys, time

class Stop:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["STOP_AT"]:
            print("importing", name, flush=True)
            {action}

sys.meta_path.insert(0, Stop())
"""
# One long sleep does not notice a signal that arrives immediately before it.
SLEEP_IN_SHORT_STEPS = "while True: time.sleep(0.01)"


def start_stopped(folder: Path, module: str, action: str) -> "subprocess.Popen[str]":
    """Start the command with an action at the import of a module."""
    (folder / "sitecustomize.py").write_text(STOP_AT_IMPORT.format(action=action))
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.Popen(
        [sys.executable, "-m", "local_kubernetes", "--version"],
        env={**os.environ, "PYTHONPATH": path, "STOP_AT": module},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize(
    "module", ["local_kubernetes.command", "argparse", "aiohttp", "local_kubernetes.kubelet.node.images"]
)
def test_sigint_during_an_import_ends_with_130_and_no_traceback(tmp_path: Path, module: str) -> None:
    with start_stopped(tmp_path, module, SLEEP_IN_SHORT_STEPS) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == f"importing {module}\n"
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=DEADLINE_SECONDS)

    assert (process.returncode, error) == (ExitCode.INTERRUPTED, "")


def test_ignored_sigint_stays_ignored_during_imports(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process = start_stopped(tmp_path, "local_kubernetes.command", "os.kill(os.getpid(), 2)")
    finally:
        signal.signal(signal.SIGINT, before)
    with process:
        output, _ = process.communicate(timeout=DEADLINE_SECONDS)

    assert process.returncode == ExitCode.SUCCESS
    assert "local-kubernetes 0" in output
