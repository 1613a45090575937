"""The Hadoop configuration files of the driver."""

from ...kubernetes.json_object import JsonObject
from ..configuration.errors import DriverBuildError
from ..configuration.text import decode_text
from ..pod.pod import BuildContext, Changes, SparkPod, build_config_map, build_variable

_CONFIG_MAP_KEY = "spark.kubernetes.hadoop.configMapName"
_DIRECTORY = "/opt/hadoop/conf"
_VOLUME = "hadoop-properties"


def mount_hadoop_configuration(submission: BuildContext, _: SparkPod) -> Changes:
    """Mount the local Hadoop configuration, or an existing ConfigMap that contains one.

    Raises:
        DriverBuildError: Both are set, or a file is not a text file.
    """
    files = submission.inputs.hadoop_files
    existing = submission.conf.get_text(_CONFIG_MAP_KEY)
    if files is not None and existing is not None:
        raise DriverBuildError(
            _CONFIG_MAP_KEY, "cannot be combined with the variable HADOOP_CONF_DIR: unset one of them"
        )
    if existing is not None:
        return _mount(existing, {"name": existing}, ())
    if files is None:
        return Changes()
    name = f"{submission.naming.prefix}-hadoop-config"
    data = {file: decode_text(f"HADOOP_CONF_DIR/{file}", files[file]) for file in sorted(files)}
    items = [{"key": file, "path": file} for file in data]
    return _mount(name, {"name": name, **({"items": items} if items else {})}, (_build_config_map(name, data),))


def _build_config_map(name: str, data: dict[str, str]) -> JsonObject:
    """Build a ConfigMap without `data` if it is empty, as Spark's client library sends it."""
    return {key: value for key, value in build_config_map(name, data).items() if key != "data" or value}


def _mount(name: str, source: JsonObject, resources: tuple[JsonObject, ...]) -> Changes:
    return Changes(
        pod={"spec": {"volumes": [{"name": _VOLUME, "configMap": source}]}},
        container={
            "volumeMounts": [{"name": _VOLUME, "mountPath": _DIRECTORY}],
            "env": [build_variable("HADOOP_CONF_DIR", _DIRECTORY)],
        },
        properties={"spark.kubernetes.executor.hadoopConfigMapName": name},
        resources=resources,
    )
