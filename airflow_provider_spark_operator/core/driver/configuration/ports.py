"""The ports of a driver, for its container and its service."""

from .configuration import Configuration
from .errors import DriverBuildError

DRIVER_PORT_KEY = "spark.driver.port"
DRIVER_BLOCK_MANAGER_PORT_KEY = "spark.driver.blockManager.port"
_DEFAULT_DRIVER_PORT = 7078
_DEFAULT_BLOCK_MANAGER_PORT = 7079
_DEFAULT_UI_PORT = 4040
_DEFAULT_CONNECT_PORT = 15002
_LARGEST_PORT = 65535


def get_driver_port(conf: Configuration) -> int:
    """Return the port at which executors register."""
    return _get_port(conf, DRIVER_PORT_KEY, default=_DEFAULT_DRIVER_PORT)


def get_service_block_manager_port(conf: Configuration) -> int:
    """Return the port of the block manager in the service. The common `spark.blockManager.port` has no effect on it."""
    return _get_port(conf, DRIVER_BLOCK_MANAGER_PORT_KEY, default=_DEFAULT_BLOCK_MANAGER_PORT)


def get_container_block_manager_port(conf: Configuration) -> int:
    """Return the port of the block manager in the container."""
    return _get_port(
        conf, DRIVER_BLOCK_MANAGER_PORT_KEY, "spark.blockManager.port", default=_DEFAULT_BLOCK_MANAGER_PORT
    )


def get_ui_port(conf: Configuration) -> int:
    """Return the port of the web interface. It is part of the pod even if the interface is disabled."""
    key = "spark.ui.port"
    return _check_port(conf.get_integer(key, default=_DEFAULT_UI_PORT), key)


def get_connect_port(conf: Configuration) -> int:
    """Return the port of the Spark Connect server."""
    return _get_port(conf, "spark.connect.grpc.binding.port", default=_DEFAULT_CONNECT_PORT)


def _get_port(conf: Configuration, *keys: str, default: int) -> int:
    port = conf.get_plain_integer(*keys, default=default)
    return _check_port(port, next((key for key in keys if key in conf.values), keys[0]))


def _check_port(port: int, key: str) -> int:
    """Return a valid port. Raise DriverBuildError otherwise: Spark would send the pod, and the API would reject it."""
    if not 1 <= port <= _LARGEST_PORT:
        raise DriverBuildError(key, f"must be a port from 1 to {_LARGEST_PORT}, but is {port}")
    return port
