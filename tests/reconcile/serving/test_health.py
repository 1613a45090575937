import errno
import socket

import aiohttp
import pytest

from airflow_provider_spark_operator.reconcile.serving.http_server import StallMonitor, choose_address, serve_health


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


async def test_probes_are_served_on_the_given_address_only() -> None:
    async with serve_health(0, is_healthy=lambda: True, is_ready=lambda: True, address="127.0.0.1") as port:
        assert (await fetch_statuses(port))["readyz"] == 200
        with pytest.raises(aiohttp.ClientConnectorError):
            await fetch_statuses(port, "127.0.0.2")


@pytest.mark.parametrize(("variables", "address"), [({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "*"), ({}, "127.0.0.1")])
def test_all_interfaces_are_the_default_in_a_pod_only(
    variables: dict[str, str], address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert choose_address() == address


def test_long_stall_is_reported_for_a_while() -> None:
    now = 100.0
    delays: list[float] = []
    monitor = StallMonitor(delays.append, lambda: now)

    def has_stalled() -> bool:
        return monitor.has_stalled

    now += 0.1
    monitor.measure()
    assert not has_stalled()
    now += 4.1
    assert has_stalled()  # before the next measurement
    monitor.measure()
    assert delays == pytest.approx([0.0, 4.0])
    for _ in range(149):
        now += 0.1
        monitor.measure()
        assert has_stalled()
    now += 0.2
    monitor.measure()
    assert not has_stalled()


async def test_port_in_use_is_an_error() -> None:
    async with serve_health(0, is_healthy=lambda: True, is_ready=lambda: True) as port:
        with pytest.raises(OSError, match="in use"):
            async with serve_health(port, is_healthy=lambda: True, is_ready=lambda: True):
                pass
