"""Labels of a driver, and the placeholders that labels and annotations may hold."""

from airflow_provider_spark_operator.core.driver.errors import DriverBuildError
from airflow_provider_spark_operator.core.driver.naming import application_name_label
from airflow_provider_spark_operator.core.driver.pod import Submission
from airflow_provider_spark_operator.core.names import (
    LABEL_APPLICATION_SELECTOR,
    LABEL_ROLE,
    LABEL_SPARK_VERSION,
    ROLE_DRIVER,
)

LABEL_PREFIX = "spark.kubernetes.driver.label."
_LABEL_SPARK_NAME = "spark-app-name"
_DEFAULT_NAME = "spark"


def selector_label(submission: Submission) -> dict[str, str]:
    """The one label that all resources of the application share."""
    return {LABEL_APPLICATION_SELECTOR: submission.naming.application_id}


def driver_labels(submission: Submission) -> dict[str, str]:
    """The user's labels and Spark's own; the service selects the driver by all of them.

    Raises:
        DriverBuildError: the user gives one of Spark's own.
    """
    name = submission.conf.text("spark.app.name")
    reserved = {
        LABEL_SPARK_VERSION: submission.inputs.spark_version,
        **selector_label(submission),
        _LABEL_SPARK_NAME: application_name_label(_DEFAULT_NAME if name is None else name),
        LABEL_ROLE: ROLE_DRIVER,
    }
    labels = submission.conf.with_prefix(LABEL_PREFIX)
    for name in reserved.keys() & labels.keys():
        raise DriverBuildError(f"{LABEL_PREFIX}{name}", "is reserved for Spark's own bookkeeping: choose another label")
    return {name: with_ids(submission, value) for name, value in labels.items()} | reserved


def with_ids(submission: Submission, value: str) -> str:
    """The value with `{{APP_ID}}` filled in, and `{{EXECUTOR_ID}}` emptied: a driver has none."""
    return value.replace("{{APP_ID}}", submission.naming.application_id).replace("{{EXECUTOR_ID}}", "")
