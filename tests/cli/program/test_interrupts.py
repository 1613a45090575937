"""SIGINT at any moment of a command: exit code 130 and one sentence, no traceback."""

import signal
from pathlib import Path

import pytest

from airflow_provider_spark_operator.cli.base.errors import ExitCode
from tests.cli.process import read_line, start_command, wait_for_exit

# Python imports this module when it starts. The module stops the process where it would import a given module.
# It sleeps in short steps: one long sleep does not notice a signal that arrives immediately before it.
STOP_AT_IMPORT = """
import os, sys, time

class Stop:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["STOP_AT"]:
            print("importing", name, flush=True)
            while True: time.sleep(0.01)

sys.meta_path.insert(0, Stop())
"""

STOP_AT_DUMP = """
import json, time

def stop(*_, **__):
    print("writing", flush=True)
    while True: time.sleep(0.01)

json.dumps = stop
"""


@pytest.mark.parametrize(
    "module",
    [
        pytest.param("airflow_provider_spark_operator.cli.program.command", id="first import"),
        pytest.param("click", id="before the arguments are parsed"),
        pytest.param("airflow_provider_spark_operator.cli.controller.crds", id="module of the verb"),
        pytest.param("airflow_provider_spark_operator.core.models", id="import of the verb"),
    ],
)
async def test_sigint_during_an_import_ends_with_130_and_no_traceback(tmp_path: Path, module: str) -> None:
    (tmp_path / "sitecustomize.py").write_text(STOP_AT_IMPORT)
    variables = {"PYTHONPATH": str(tmp_path), "STOP_AT": module}
    async with start_command("crds", home=tmp_path, variables=variables) as process:
        await read_line(process, f"importing {module}")
        process.send_signal(signal.SIGINT)
        exit_code, _, err = await wait_for_exit(process)

    assert (exit_code, err) == (ExitCode.INTERRUPTED, "spark-operator: error: interrupted\n")


async def test_sigint_while_a_verb_runs_ends_with_130(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(STOP_AT_DUMP)
    async with start_command("crds", "-o", "json", home=tmp_path, variables={"PYTHONPATH": str(tmp_path)}) as process:
        await read_line(process, "writing")
        process.send_signal(signal.SIGINT)
        exit_code, _, err = await wait_for_exit(process)

    assert (exit_code, err) == (ExitCode.INTERRUPTED, "spark-operator: error: interrupted\n")


async def test_ignored_sigint_stays_ignored_during_imports(tmp_path: Path) -> None:
    stop = STOP_AT_IMPORT.replace("while True: time.sleep(0.01)", "os.kill(os.getpid(), 2)")
    (tmp_path / "sitecustomize.py").write_text(stop)
    variables = {"PYTHONPATH": str(tmp_path), "STOP_AT": "airflow_provider_spark_operator.cli.program.command"}
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        async with start_command("crds", home=tmp_path, variables=variables) as process:
            exit_code, out, _ = await wait_for_exit(process)
    finally:
        signal.signal(signal.SIGINT, before)

    assert exit_code == ExitCode.SUCCESS
    assert "kind: CustomResourceDefinition" in out
