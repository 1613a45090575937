"""The labels of a driver, and the placeholders in its labels and annotations."""

import re

from ...kubernetes import names
from ..configuration.errors import DriverBuildError
from ..configuration.resource_names import build_application_name_label
from .pod import BuildContext

LABEL_PREFIX = "spark.kubernetes.driver.label."
_DEFAULT_NAME = "spark"


def build_selector_label(submission: BuildContext) -> dict[str, str]:
    """Return the label that all resources of the application share."""
    return {names.LABEL_APPLICATION_SELECTOR: submission.naming.application_id}


def build_driver_labels(submission: BuildContext) -> dict[str, str]:
    """Return the labels of the user and of Spark. The service selects the driver by all of them.

    Raises:
        DriverBuildError: The user sets a label that is reserved for Spark.
    """
    name = submission.conf.get_text("spark.app.name")
    reserved = {
        names.LABEL_SPARK_VERSION: _build_version_label(submission.inputs.spark_version),
        **build_selector_label(submission),
        names.LABEL_SPARK_NAME: build_application_name_label(_DEFAULT_NAME if name is None else name),
        names.LABEL_ROLE: names.ROLE_DRIVER,
    }
    labels = submission.conf.get_by_prefix(LABEL_PREFIX)
    for name in reserved.keys() & labels.keys():
        raise DriverBuildError(f"{LABEL_PREFIX}{name}", "is reserved for Spark: choose another label")
    return {name: replace_placeholders(submission, value) for name, value in labels.items()} | reserved


def _build_version_label(version: str) -> str:
    """Return a version such as `4.3.0+build` as a valid label value."""
    return re.sub(r"[^-A-Za-z0-9_.]", "_", version)[: names.LONGEST_LABEL_VALUE].strip("-_.")


def replace_placeholders(submission: BuildContext, value: str) -> str:
    """Return the value with `{{APP_ID}}` replaced, and `{{EXECUTOR_ID}}` removed because a driver has none."""
    return value.replace("{{APP_ID}}", submission.naming.application_id).replace("{{EXECUTOR_ID}}", "")
