"""Everything a driver is built from; whatever lies in a file has been read by the caller."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

PYTHON_RUNNER = "org.apache.spark.deploy.PythonRunner"
R_RUNNER = "org.apache.spark.deploy.RRunner"
DRIVER_TEMPLATE_KEY = "spark.kubernetes.driver.podTemplateFile"
NO_RESOURCE = "spark-internal"
SPARK_VERSION = "4.3.0"
"""The Spark whose rules are followed, whatever version the image carries."""


class ApplicationKind(StrEnum):
    """The language of the main resource: the value of `spark.kubernetes.resource.type`.

    A Spark Connect server is a Java application without a main resource.
    """

    JAVA = "java"
    PYTHON = "python"
    R = "r"


@dataclass(frozen=True)
class SubmissionInputs:
    """One application, ready to be built.

    Attributes:
        kind: language of the main resource.
        namespace: where all resources go.
        conf: the whole Spark configuration, as it stands before the first step; never changed.
        main_class: what `--class` names.
        main_resource: URI of the jar or script, None for an application without one.
        arguments: the application's own arguments, passed on unchanged.
        proxy_user: `--proxy-user`, if any.
        user: who submits, for `SPARK_USER`, unless there is a proxy user.
        spark_version: value of the label and of `{{SPARK_VERSION}}` in image names.
        environment: the submitter's variables (`PYSPARK_PYTHON`, `SPARK_LOCAL_DIRS`, …).
        conf_files: the files of the configuration directory by name, all of them: the rules choose.
        hadoop_files: the files of `HADOOP_CONF_DIR` by name; None where it is not set.
        files: content of the files that the configuration names, by the path it gives; None where no
            submitter's disk takes part, as for a resource.
        driver_template: the pod template, parsed; None where there is none.
        driver_template_field: where that template comes from, for messages.
        executor_template: text of the executors' pod template, which only the driver parses.
        pod_group_template: Volcano's PodGroup template, parsed.
        mount_namespace: project the entry `spark.kubernetes.namespace` of the config map into the driver
            as well: the Apache operator does, spark-submit does not.
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
