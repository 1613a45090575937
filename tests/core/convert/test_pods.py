"""Scratch folders become Spark properties, other volumes go to the pod templates."""

from typing import Any

from airflow_provider_spark_operator.core.convert.conversion import Conversion, Status
from airflow_provider_spark_operator.core.convert.document import convert_document
from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from tests.core.convert.documents import build_document

SCRATCH = "spark-local-dir-1"


def convert(volume: JsonObject, *mounts: JsonObject) -> Conversion:
    driver: Any = {"volumeMounts": list(mounts)}
    (conversion,) = convert_document(build_document(volumes=[volume], driver=driver))
    return conversion


def test_scratch_volume_of_another_kind_is_refused() -> None:
    conversion = convert({"name": SCRATCH, "configMap": {"name": "c"}}, {"name": SCRATCH, "mountPath": "/x"})
    assert conversion.status is Status.REFUSED
    assert "spec.volumes" in [problem.path for problem in conversion.problems]


def test_read_only_scratch_volume_keeps_its_options() -> None:
    claim = {"name": SCRATCH, "persistentVolumeClaim": {"claimName": "claim"}}
    conversion = convert(claim, {"name": SCRATCH, "mountPath": "/x", "readOnly": True})
    assert conversion.document is not None
    conf = conversion.document["spec"]["sparkConf"]
    prefix = f"spark.kubernetes.driver.volumes.persistentVolumeClaim.{SCRATCH}"
    assert {key: value for key, value in conf.items() if key.startswith(prefix)} == {
        f"{prefix}.mount.path": "/x",
        f"{prefix}.mount.readOnly": "true",
        f"{prefix}.options.claimName": "claim",
    }


def test_volume_mounted_twice_is_added_once() -> None:
    mounts = [{"name": "data", "mountPath": path} for path in ("/a", "/b")]
    conversion = convert({"name": "data", "emptyDir": {}}, *mounts)
    assert conversion.document is not None
    pod = conversion.document["spec"]["driverSpec"]["podTemplateSpec"]["spec"]
    assert [volume["name"] for volume in pod["volumes"]] == ["data"]
    assert pod["containers"][0]["volumeMounts"] == mounts
