import errno
import socket

import aiohttp
import pytest

from airflow_provider_spark_operator.reconcile.health import serve_health


async def fetch_statuses(port: int, host: str = "127.0.0.1") -> dict[str, int]:
    async with aiohttp.ClientSession() as session:
        found = {}
        for path in ("healthz", "readyz", "other"):
            async with session.get(f"http://{host}:{port}/{path}") as response:
                found[path] = response.status
        return found


@pytest.mark.parametrize(("healthy", "ready"), [(True, True), (True, False), (False, False)])
async def test_probes_return_health_and_readiness(healthy: bool, ready: bool) -> None:
    async with serve_health(0, is_healthy=lambda: healthy, is_ready=lambda: ready) as port:
        assert await fetch_statuses(port) == {
            "healthz": 200 if healthy else 503,
            "readyz": 200 if ready else 503,
            "other": 404,
        }


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="there is no IPv6")
async def test_probes_are_served_over_ipv6() -> None:
    async with serve_health(0, is_healthy=lambda: True, is_ready=lambda: True) as port:
        assert (await fetch_statuses(port, "[::1]"))["readyz"] == 200
        assert (await fetch_statuses(port))["readyz"] == 200


async def test_probes_are_served_over_ipv4_if_ipv6_is_disabled(monkeypatch: pytest.MonkeyPatch) -> None:
    real = socket.create_server

    def refuse_ipv6(address: tuple[str, int], *, family: int = socket.AF_INET, **options: bool) -> socket.socket:
        if family == socket.AF_INET6:
            raise OSError(errno.EADDRNOTAVAIL, "Cannot assign requested address")
        return real(address, family=family, **options)

    monkeypatch.setattr(socket, "has_dualstack_ipv6", lambda: True)
    monkeypatch.setattr(socket, "create_server", refuse_ipv6)
    async with serve_health(0, is_healthy=lambda: True, is_ready=lambda: True) as port:
        assert (await fetch_statuses(port))["readyz"] == 200


async def test_port_in_use_is_an_error() -> None:
    async with serve_health(0, is_healthy=lambda: True, is_ready=lambda: True) as port:
        with pytest.raises(OSError, match="in use"):
            async with serve_health(port, is_healthy=lambda: True, is_ready=lambda: True):
                pass
