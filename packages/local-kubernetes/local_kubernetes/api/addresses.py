"""The cluster IPs of services: each service has one, but nothing listens there."""

from collections.abc import Container
from ipaddress import ip_network

SERVICE_NETWORK = ip_network("10.96.0.0/16")


def allocate_address(taken: Container[str]) -> str:
    """Return the first free address of the service network.

    Raises:
        RuntimeError: No address is free.
    """
    for address in SERVICE_NETWORK.hosts():
        if str(address) not in taken:
            return str(address)
    raise RuntimeError(f"all addresses of {SERVICE_NETWORK} are in use: delete services")
