"""A stand-in for the main task of Airflow's triggerer, by which triggers recognize it."""

import asyncio


class TriggerRunner:
    """The part of the triggerer that starts and cancels triggers."""

    def __init__(self) -> None:
        self._stopped = asyncio.Event()

    async def arun(self) -> None:
        await self._stopped.wait()

    def stop(self) -> None:
        self._stopped.set()
