"""Work next to a wait: its unexpected error is a warning, and its end does not end the wait."""

import asyncio

from airflow_provider_spark_operator.follow.access.side_task import run_beside, start, stop


async def fail() -> None:
    raise KeyError("batch")


async def test_error_is_one_warning_and_the_block_continues() -> None:
    warnings, warned = list[str](), asyncio.Event()

    def warn(text: str) -> None:
        warnings.append(text)
        warned.set()

    async with run_beside(fail(), "its budget", warn):
        await warned.wait()
    cause = "unexpected KeyError: 'batch'. Report this error to the maintainers"
    assert warnings == [f"is followed without its budget: {cause}"]


async def test_work_is_cancelled_without_a_warning_at_the_end_of_the_block() -> None:
    warnings = list[str]()
    async with run_beside(asyncio.sleep(3600), "its budget", warnings.append):
        pass
    task = start(asyncio.sleep(3600), "its budget", warnings.append)
    await stop(task)
    await stop(None)
    assert (task.cancelled(), warnings) == (True, [])
