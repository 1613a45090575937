"""The inputs of the driver build. The caller has already read all files."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

PYTHON_RUNNER = "org.apache.spark.deploy.PythonRunner"
R_RUNNER = "org.apache.spark.deploy.RRunner"
DRIVER_TEMPLATE_KEY = "spark.kubernetes.driver.podTemplateFile"
NO_RESOURCE = "spark-internal"
SPARK_VERSION = "4.3.0"
"""The version of Spark by whose rules the driver pod is built. The image can contain another version."""


class ApplicationKind(StrEnum):
    """The language of the main resource: the value of `spark.kubernetes.resource.type`.

    A Spark Connect server is a Java application without a main resource.
    """

    JAVA = "java"
    PYTHON = "python"
    R = "r"


@dataclass(frozen=True)
class SubmissionInputs:
    """The inputs of the driver build for one application.

    Attributes:
        kind: The language of the main resource.
        namespace: The namespace of all resources.
        conf: The complete Spark configuration before the first step. It is never changed.
        main_class: The value of `--class`.
        main_resource: The URI of the jar or script, or None for an application without one.
        arguments: The arguments of the application, passed on unchanged.
        proxy_user: The value of `--proxy-user`, or None.
        user: The value of `SPARK_USER` if `proxy_user` is not set.
        spark_version: The value of the label, and of `{{SPARK_VERSION}}` in image names.
        environment: The environment variables of spark-submit (`PYSPARK_PYTHON`, `SPARK_LOCAL_DIRS`, …).
        conf_files: All files of the configuration directory by name. The build selects among them.
        hadoop_files: The files of `HADOOP_CONF_DIR` by name, or None if the variable is not set.
        files: The contents of the files that the configuration names, by path. None if there is no local disk, as for
            a SparkApplication.
        driver_template: The parsed pod template of the driver, or None.
        driver_template_field: The source of that template, for messages.
        executor_template: The text of the pod template of the executors. Only the driver parses it.
        pod_group_template: The parsed template of Volcano's PodGroup.
        mount_namespace: Whether to mount the entry `spark.kubernetes.namespace` of the ConfigMap in the driver. The
            Apache operator mounts it, spark-submit does not.
    """

    kind: ApplicationKind
    namespace: str
    conf: Mapping[str, str]
    main_class: str
    main_resource: str | None = None
    arguments: tuple[str, ...] = ()
    proxy_user: str | None = None
    user: str = "spark"
    spark_version: str = SPARK_VERSION
    environment: Mapping[str, str] = field(default_factory=dict)
    conf_files: Mapping[str, bytes] = field(default_factory=dict)
    hadoop_files: Mapping[str, bytes] | None = None
    files: Mapping[str, bytes] | None = None
    driver_template: Mapping[str, Any] | None = None
    driver_template_field: str = DRIVER_TEMPLATE_KEY
    executor_template: str | None = None
    pod_group_template: Mapping[str, Any] | None = None
    mount_namespace: bool = False
