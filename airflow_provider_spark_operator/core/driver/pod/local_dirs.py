"""The scratch directories of the driver."""

from ..configuration.text import split
from .pod import BuildContext, Changes, SparkPod, build_variable

_VOLUME_PREFIX = "spark-local-dir-"
_VARIABLE = "SPARK_LOCAL_DIRS"


def add_local_directories(submission: BuildContext, spark_pod: SparkPod) -> Changes:
    """Use the volumes named `spark-local-dir-*`. If there are none, add an emptyDir for each configured path."""
    marked = [
        str(mount.get("mountPath", ""))
        for mount in spark_pod.container.get("volumeMounts") or ()
        if str(mount.get("name", "")).startswith(_VOLUME_PREFIX)
    ]
    conf = submission.conf
    in_memory = conf.get_boolean("spark.kubernetes.local.dirs.tmpfs")
    if marked:
        return Changes(container={"env": [build_variable(_VARIABLE, ",".join(marked))]})
    configured = submission.inputs.environment.get(_VARIABLE, conf.get_text("spark.local.dir"))
    paths = split(submission.naming.local_directory if configured is None else configured, ",")
    directory = {"medium": "Memory"} if in_memory else {}
    names = [f"{_VOLUME_PREFIX}{number}" for number in range(1, len(paths) + 1)]
    return Changes(
        pod={"spec": {"volumes": [{"name": name, "emptyDir": dict(directory)} for name in names]}},
        container={
            "volumeMounts": [{"name": name, "mountPath": path} for name, path in zip(names, paths, strict=True)],
            "env": [build_variable(_VARIABLE, ",".join(paths))],
        },
    )
