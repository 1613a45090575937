"""Spark properties that several packages read, as Spark reads them."""

from collections.abc import Mapping
from typing import Final

from ..kubernetes.names import ROLE_DRIVER, ROLE_EXECUTOR

DYNAMIC_ALLOCATION_KEY: Final = "spark.dynamicAllocation.enabled"
IMAGE_KEY: Final = "spark.kubernetes.container.image"
DRIVER_IMAGE_KEY: Final = "spark.kubernetes.driver.container.image"
NAME_KEY: Final = "spark.app.name"
# How often a driver and an executor measure their memory.
POLLING_KEYS: Final = ("spark.driver.metrics.pollingInterval", "spark.executor.metrics.pollingInterval")
# The beginning of the names of executors.
EXECUTOR_PREFIX_KEY: Final = "spark.kubernetes.executor.podNamePrefix"
EXECUTOR_IMAGE_KEY: Final = "spark.kubernetes.executor.container.image"
# The properties that name the Spark container in the pod template of a role.
TEMPLATE_CONTAINER_KEYS: Final[Mapping[str, str]] = {
    ROLE_DRIVER: "spark.kubernetes.driver.podTemplateContainerName",
    ROLE_EXECUTOR: "spark.kubernetes.executor.podTemplateContainerName",
}
SHUFFLE_TRACKING_KEY: Final = "spark.dynamicAllocation.shuffleTracking.enabled"
# Java's String.trim removes these characters, but no other white space of Unicode.
JAVA_BLANKS: Final = "".join(map(chr, range(0x21)))
# The operator replaces this text in the names of images.
VERSION_PLACEHOLDER: Final = "{{SPARK_VERSION}}"


def uses_dynamic_allocation(conf: Mapping[str, object]) -> bool:
    """Return whether Spark chooses the number of executors."""
    return str(conf.get(DYNAMIC_ALLOCATION_KEY)).strip(JAVA_BLANKS).lower() == "true"


def replace_version_in_images(conf: Mapping[str, str], spark_version: str) -> dict[str, str]:
    """Return the properties with `{{SPARK_VERSION}}` replaced in the names of images."""
    return {
        key: value.replace(VERSION_PLACEHOLDER, spark_version) if _is_image_key(key) else value
        for key, value in conf.items()
    }


def _is_image_key(key: str) -> bool:
    return key.startswith("spark.kubernetes.") and key.endswith("container.image")
