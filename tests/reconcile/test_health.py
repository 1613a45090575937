import aiohttp
import pytest

from airflow_provider_spark_operator.reconcile.health import serve_health


async def answers(port: int) -> dict[str, int]:
    async with aiohttp.ClientSession() as session:
        found = {}
        for path in ("healthz", "readyz", "other"):
            async with session.get(f"http://127.0.0.1:{port}/{path}") as response:
                found[path] = response.status
        return found


@pytest.mark.parametrize(("healthy", "ready"), [(True, True), (True, False), (False, False)])
async def test_the_probes_say_what_is(healthy: bool, ready: bool) -> None:
    async with serve_health(0, is_healthy=lambda: healthy, is_ready=lambda: ready) as port:
        assert await answers(port) == {
            "healthz": 200 if healthy else 503,
            "readyz": 200 if ready else 503,
            "other": 404,
        }


async def test_a_port_that_is_taken_is_an_error() -> None:
    async with serve_health(0, is_healthy=lambda: True, is_ready=lambda: True) as port:
        with pytest.raises(OSError, match="in use"):
            async with serve_health(port, is_healthy=lambda: True, is_ready=lambda: True):
                pass
