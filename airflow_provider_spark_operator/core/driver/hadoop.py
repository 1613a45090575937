"""Hadoop's configuration files in the driver."""

from airflow_provider_spark_operator.core.driver.errors import DriverBuildError
from airflow_provider_spark_operator.core.driver.pod import (
    Changes,
    JsonObject,
    SparkPod,
    Submission,
    config_map,
    variable,
)
from airflow_provider_spark_operator.core.driver.text import decoded

_CONFIG_MAP_KEY = "spark.kubernetes.hadoop.configMapName"
_DIRECTORY = "/opt/hadoop/conf"
_VOLUME = "hadoop-properties"


def hadoop(submission: Submission, _: SparkPod) -> Changes:
    """Mount the submitter's Hadoop configuration, or an existing config map with one.

    Raises:
        DriverBuildError: both are given, or a file is no text.
    """
    files = submission.inputs.hadoop_files
    existing = submission.conf.text(_CONFIG_MAP_KEY)
    if files is not None and existing is not None:
        raise DriverBuildError(_CONFIG_MAP_KEY, "excludes the variable HADOOP_CONF_DIR: unset one of them")
    if existing is not None:
        return _mounted(existing, {"name": existing}, ())
    if files is None:
        return Changes()
    name = f"{submission.naming.prefix}-hadoop-config"
    data = {file: decoded(f"HADOOP_CONF_DIR/{file}", files[file]) for file in sorted(files)}
    items = [{"key": file, "path": file} for file in data]
    return _mounted(name, {"name": name, **({"items": items} if items else {})}, (_map(name, data),))


def _map(name: str, data: dict[str, str]) -> JsonObject:
    """Spark's client library sends no empty `data`."""
    return {key: value for key, value in config_map(name, data).items() if key != "data" or value}


def _mounted(name: str, source: JsonObject, resources: tuple[JsonObject, ...]) -> Changes:
    return Changes(
        pod={"spec": {"volumes": [{"name": _VOLUME, "configMap": source}]}},
        container={
            "volumeMounts": [{"name": _VOLUME, "mountPath": _DIRECTORY}],
            "env": [variable("HADOOP_CONF_DIR", _DIRECTORY)],
        },
        properties={"spark.kubernetes.executor.hadoopConfigMapName": name},
        resources=resources,
    )
