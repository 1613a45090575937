"""The ports of a driver, shared by its container and its service."""

from airflow_provider_spark_operator.core.driver.configuration import Configuration

DRIVER_PORT_KEY = "spark.driver.port"
DRIVER_BLOCK_MANAGER_PORT_KEY = "spark.driver.blockManager.port"
_DEFAULT_DRIVER_PORT = 7078
_DEFAULT_BLOCK_MANAGER_PORT = 7079
_DEFAULT_UI_PORT = 4040
_DEFAULT_CONNECT_PORT = 15002


def driver_port(conf: Configuration) -> int:
    """The port at which executors register."""
    return conf.integer(DRIVER_PORT_KEY, default=_DEFAULT_DRIVER_PORT)


def service_block_manager_port(conf: Configuration) -> int:
    """The block manager's port in the service, which ignores the common `spark.blockManager.port`."""
    return conf.integer(DRIVER_BLOCK_MANAGER_PORT_KEY, default=_DEFAULT_BLOCK_MANAGER_PORT)


def container_block_manager_port(conf: Configuration) -> int:
    """The block manager's port in the container."""
    return conf.integer(DRIVER_BLOCK_MANAGER_PORT_KEY, "spark.blockManager.port", default=_DEFAULT_BLOCK_MANAGER_PORT)


def ui_port(conf: Configuration) -> int:
    """The web interface's port, named even where the interface is off."""
    return conf.integer("spark.ui.port", default=_DEFAULT_UI_PORT)


def connect_port(conf: Configuration) -> int:
    """The Spark Connect server's port."""
    return conf.integer("spark.connect.grpc.binding.port", default=_DEFAULT_CONNECT_PORT)
