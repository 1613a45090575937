import asyncio
import signal
import sys
from contextlib import suppress

import pytest

DEADLINE = 60
# Programs that print a line when they run, and do not end by themselves after a cancellation.
STUBBORN = {
    "cleanup": """
async def main():
    print("running", flush=True)
    try:
        await asyncio.sleep(600)
    finally:
        await asyncio.sleep(600)
""",
    "thread": """
async def main():
    print("running", flush=True)
    await asyncio.to_thread(time.sleep, 600)
""",
    "computation": """
async def main():
    print("running", flush=True)
    while True:
        pass
""",
}
PROGRAM = """
import asyncio, time
from airflow_provider_spark_operator.cli.base.signals import run_until_signal
{main}
run_until_signal(main, grace_seconds=0.1)
"""


@pytest.mark.parametrize("name", STUBBORN)
async def test_process_ends_within_its_grace_period(name: str) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        PROGRAM.format(main=STUBBORN[name]),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(DEADLINE):
            assert process.stdout is not None
            await process.stdout.readline()
            process.send_signal(signal.SIGTERM)
            _, log = await process.communicate()
    finally:
        with suppress(ProcessLookupError):
            process.kill()
    assert process.returncode == 1
    assert b"Timeout" in log
