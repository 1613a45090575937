import errno
import socket

import aiohttp
import pytest

from airflow_provider_spark_operator.reconcile.health import serve_health


async def answers(port: int, host: str = "127.0.0.1") -> dict[str, int]:
    async with aiohttp.ClientSession() as session:
        found = {}
        for path in ("healthz", "readyz", "other"):
            async with session.get(f"http://{host}:{port}/{path}") as response:
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


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="there is no IPv6")
async def test_the_probes_answer_a_kubelet_that_knows_the_pod_by_ipv6_only() -> None:
    async with serve_health(0, is_healthy=lambda: True, is_ready=lambda: True) as port:
        assert (await answers(port, "[::1]"))["readyz"] == 200
        assert (await answers(port))["readyz"] == 200


async def test_where_ipv6_is_switched_off_the_other_does(monkeypatch: pytest.MonkeyPatch) -> None:
    real = socket.create_server

    def refusing(address: tuple[str, int], *, family: int = socket.AF_INET, **options: bool) -> socket.socket:
        if family == socket.AF_INET6:
            raise OSError(errno.EADDRNOTAVAIL, "Cannot assign requested address")
        return real(address, family=family, **options)

    monkeypatch.setattr(socket, "has_dualstack_ipv6", lambda: True)
    monkeypatch.setattr(socket, "create_server", refusing)
    async with serve_health(0, is_healthy=lambda: True, is_ready=lambda: True) as port:
        assert (await answers(port))["readyz"] == 200


async def test_a_port_that_is_taken_is_an_error() -> None:
    async with serve_health(0, is_healthy=lambda: True, is_ready=lambda: True) as port:
        with pytest.raises(OSError, match="in use"):
            async with serve_health(port, is_healthy=lambda: True, is_ready=lambda: True):
                pass
