"""The addresses of services: nothing listens there, but each service has one of its own."""

from collections.abc import Container
from ipaddress import ip_network

SERVICE_NETWORK = ip_network("10.96.0.0/16")


def allocate_address(taken: Container[str]) -> str:
    """The first free address of the service network.

    Raises:
        RuntimeError: where none is free.
    """
    for address in SERVICE_NETWORK.hosts():
        if str(address) not in taken:
            return str(address)
    raise RuntimeError(f"all addresses of {SERVICE_NETWORK} are taken: delete services")
