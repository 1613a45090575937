"""The ports of a driver, shared by its container and its service."""

from airflow_provider_spark_operator.core.driver.configuration import Configuration
from airflow_provider_spark_operator.core.driver.errors import DriverBuildError

DRIVER_PORT_KEY = "spark.driver.port"
DRIVER_BLOCK_MANAGER_PORT_KEY = "spark.driver.blockManager.port"
_DEFAULT_DRIVER_PORT = 7078
_DEFAULT_BLOCK_MANAGER_PORT = 7079
_DEFAULT_UI_PORT = 4040
_DEFAULT_CONNECT_PORT = 15002
_LARGEST_PORT = 65535


def driver_port(conf: Configuration) -> int:
    """The port at which executors register."""
    return _port(conf, DRIVER_PORT_KEY, default=_DEFAULT_DRIVER_PORT)


def service_block_manager_port(conf: Configuration) -> int:
    """The block manager's port in the service, which ignores the common `spark.blockManager.port`."""
    return _port(conf, DRIVER_BLOCK_MANAGER_PORT_KEY, default=_DEFAULT_BLOCK_MANAGER_PORT)


def container_block_manager_port(conf: Configuration) -> int:
    """The block manager's port in the container."""
    return _port(conf, DRIVER_BLOCK_MANAGER_PORT_KEY, "spark.blockManager.port", default=_DEFAULT_BLOCK_MANAGER_PORT)


def ui_port(conf: Configuration) -> int:
    """The web interface's port, named even where the interface is off."""
    key = "spark.ui.port"
    return _checked(conf.integer(key, default=_DEFAULT_UI_PORT), key)


def connect_port(conf: Configuration) -> int:
    """The Spark Connect server's port."""
    return _port(conf, "spark.connect.grpc.binding.port", default=_DEFAULT_CONNECT_PORT)


def _port(conf: Configuration, *keys: str, default: int) -> int:
    port = conf.plain_integer(*keys, default=default)
    return _checked(port, next((key for key in keys if key in conf.values), keys[0]))


def _checked(port: int, key: str) -> int:
    """A port that a container may have: Spark sends any number, and the API refuses the pod."""
    if not 1 <= port <= _LARGEST_PORT:
        raise DriverBuildError(key, f"must be a port from 1 to {_LARGEST_PORT}, but is {port}")
    return port
