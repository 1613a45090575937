"""The driver's scratch directories."""

from airflow_provider_spark_operator.core.driver.pod import (
    Changes,
    JsonObject,
    SparkPod,
    Submission,
    variable,
)

_VOLUME_PREFIX = "spark-local-dir-"
_VARIABLE = "SPARK_LOCAL_DIRS"


def local_directories(submission: Submission, spark_pod: SparkPod) -> Changes:
    """Use volumes whose name marks them as scratch space, else an empty directory per configured path."""
    marked = [
        str(mount.get("mountPath", ""))
        for mount in spark_pod.container.get("volumeMounts") or ()
        if str(mount.get("name", "")).startswith(_VOLUME_PREFIX)
    ]
    if marked:
        return Changes(container={"env": [variable(_VARIABLE, ",".join(marked))]})
    conf = submission.conf
    configured = submission.inputs.environment.get(_VARIABLE) or conf.text("spark.local.dir")
    paths = (configured or submission.naming.local_directory).split(",")
    directory: JsonObject = {"medium": "Memory"} if conf.boolean("spark.kubernetes.local.dirs.tmpfs") else {}
    names = [f"{_VOLUME_PREFIX}{number}" for number in range(1, len(paths) + 1)]
    return Changes(
        pod={"spec": {"volumes": [{"name": name, "emptyDir": dict(directory)} for name in names]}},
        container={
            "volumeMounts": [{"name": name, "mountPath": path} for name, path in zip(names, paths, strict=True)],
            "env": [variable(_VARIABLE, ",".join(paths))],
        },
    )
