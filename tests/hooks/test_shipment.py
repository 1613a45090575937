"""Shipping of local files to the driver."""

from pathlib import Path
from typing import Any

import pytest

from airflow_provider_spark_operator.airflow_compat import AirflowException, AirflowFailException
from airflow_provider_spark_operator.core.compose.application import TaskSettings
from airflow_provider_spark_operator.core.compose.document import new_application, override_metadata
from airflow_provider_spark_operator.core.compose.files import CONFIG_MAP_BYTES, convert_to_spark_url
from airflow_provider_spark_operator.core.kubernetes.problems import InvalidResource, filter_errors
from airflow_provider_spark_operator.core.parameters.parameters import Parameters
from airflow_provider_spark_operator.core.validation.application import validate_application
from airflow_provider_spark_operator.follow.submission.composition import Composition
from airflow_provider_spark_operator.follow.submission.shipment import FileUnavailable, UploadFailed
from airflow_provider_spark_operator.follow.submission.stamp import TaskStamp
from airflow_provider_spark_operator.hooks.manifest import compose_in_airflow, write_object
from tests.cluster import Cluster, succeed
from tests.operators.tasks import operator
from tests.task import TaskInstance, run

BINARY = b"PK\x03\x04\xff\xfe"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of the DAG, with a job and its files."""
    (tmp_path / "dags").mkdir()
    for name, text in {"job.py": "import lib\n", "lib.py": "x = 1\n", "job.toml": "day = 3\n"}.items():
        (tmp_path / "dags" / name).write_text(text)
    (tmp_path / "dags" / "lib.zip").write_bytes(BINARY)
    return tmp_path / "dags"


@pytest.fixture
def bucket(tmp_path: Path) -> str:
    """A store without a service: a folder that fsspec accesses."""
    return f"file://{tmp_path}/bucket"


def ship(
    folder: Path,
    document: dict[str, Any] | None = None,
    upload_to: str | None = None,
    try_id: str = "id-1",
    **parameters: Any,
) -> dict[str, Any]:
    document = override_metadata(document or new_application(), name="pi", namespace="jobs")
    given, stamp = Parameters(spark_version="4.3.0", **parameters), TaskStamp("dag", "task", "run", -1, 1, try_id)
    download_from = "s3a://jobs" if upload_to else None
    composition = Composition(document, given, TaskSettings(), [str(folder)], upload_to, download_from, stamp=stamp)
    result = composition.compose(write_object)
    assert filter_errors(validate_application(result)) == []
    spec: dict[str, Any] = result["spec"]
    return spec


def list_mounts(spec: dict[str, Any], role: str) -> dict[str, str]:
    """Return the mounts of the config map in the pods of a role, by container name."""
    pod = spec[f"{role}Spec"]["podTemplateSpec"]["spec"]
    (volume,) = [one for one in pod["volumes"] if "configMap" in one]
    assert volume["configMap"]["name"] == spec["configMapSpecs"][-1]["name"]
    return {
        container["name"]: mount["mountPath"]
        for container in pod["containers"]
        for mount in container.get("volumeMounts", ())
        if mount["name"] == volume["name"]
    }


def test_script_is_mounted_into_the_driver(folder: Path) -> None:
    spec = ship(folder, py_file="job.py")
    assert spec["pyFiles"] == "local:///opt/airflow-task/job.py"
    assert spec["configMapSpecs"][0]["data"] == {"job.py": "import lib\n"}
    assert list_mounts(spec, "driver") == {"spark-kubernetes-driver": "/opt/airflow-task"}
    assert "executorSpec" not in spec


def test_other_files_are_mounted_into_the_executors_too(folder: Path) -> None:
    spec = ship(folder, py_file="job.py", py_files=["lib.py", "s3a://lib/other.zip"], files="job.toml")
    assert spec["pyFiles"] == "local:///opt/airflow-task/job.py,local:///opt/airflow-task/lib.py,s3a://lib/other.zip"
    assert spec["sparkConf"]["spark.files"] == "local:///opt/airflow-task/job.toml"
    assert set(spec["configMapSpecs"][0]["data"]) == {"job.py", "lib.py", "job.toml"}
    assert list_mounts(spec, "executor") == {"spark-kubernetes-executor": "/opt/airflow-task"}


def test_pod_templates_of_the_document_are_kept(folder: Path) -> None:
    pod = {
        "containers": [{"name": "sidecar"}, {"name": "spark-kubernetes-driver", "image": "i", "env": []}],
        "volumes": [{"name": "a"}],
    }
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod}
    document = new_application() | {
        "spec": {"driverSpec": {"podTemplateSpec": template}, "configMapSpecs": [{"name": "own", "data": {}}]}
    }
    spec = ship(folder, document, py_file="job.py")
    assert list_mounts(spec, "driver") == {"spark-kubernetes-driver": "/opt/airflow-task"}
    made = spec["driverSpec"]["podTemplateSpec"]
    assert made["metadata"] == {"labels": {"a": "b"}}
    assert made["spec"]["volumes"][0] == {"name": "a"}
    assert spec["configMapSpecs"][0]["name"] == "own"


def test_configured_driver_container_gets_the_files(folder: Path) -> None:
    document = new_application() | {"spec": {"sparkConf": {"spark.kubernetes.driver.podTemplateContainerName": "main"}}}
    assert list_mounts(ship(folder, document, py_file="job.py"), "driver") == {"main": "/opt/airflow-task"}


def test_each_try_and_content_has_its_own_config_map(folder: Path) -> None:
    def name(**how: Any) -> str:
        return str(ship(folder, py_file="job.py", **how)["configMapSpecs"][0]["name"])

    first = name()
    assert first == name()
    assert first != name(try_id="id-2")
    (folder / "job.py").write_text("print()")
    assert first != name()


def test_files_in_the_image_or_at_a_url_are_not_read(folder: Path) -> None:
    spec = ship(folder, py_file="local:///opt/job.py", files=["https://example.com/a.json"])
    assert "configMapSpecs" not in spec


def test_binary_file_is_uploaded(folder: Path, bucket: str, tmp_path: Path) -> None:
    spec = ship(folder, py_file="job.py", py_files=["lib.zip"], upload_to=bucket)
    script, archive = spec["pyFiles"].split(",")
    assert script == "local:///opt/airflow-task/job.py"
    assert archive.startswith("s3a://jobs/")
    assert (tmp_path / "bucket" / archive.removeprefix("s3a://jobs/")).read_bytes() == BINARY
    assert "executorSpec" not in spec


def test_large_file_is_uploaded(folder: Path, bucket: str, tmp_path: Path) -> None:
    (folder / "lib.py").write_text("#" * CONFIG_MAP_BYTES)
    spec = ship(folder, py_file="job.py", py_files=["lib.py"], upload_to=bucket)
    assert "configMapSpecs" not in spec
    assert [uri.rpartition("/")[2] for uri in spec["pyFiles"].split(",")] == ["job.py", "lib.py"]


def test_same_content_is_uploaded_once(
    folder: Path, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = ship(folder, py_file="job.py", py_files=["lib.zip"], upload_to=bucket)
    (stored,) = (tmp_path / "bucket").rglob("lib.zip")
    before = stored.stat().st_mtime_ns
    assert ship(folder, py_file="job.py", py_files=["lib.zip"], upload_to=bucket)["pyFiles"] == first["pyFiles"]
    assert stored.stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("url", "read"),
    [
        ("s3://aws@bucket/jobs/", "s3a://bucket/jobs"),
        ("s3://bucket", "s3a://bucket"),
        ("gs://google@bucket/jobs", "gs://bucket/jobs"),
    ],
)
def test_url_is_converted_for_spark(url: str, read: str) -> None:
    assert convert_to_spark_url(url).rstrip("/") == read


def test_rejected_upload_names_the_store(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "bucket").write_text("a file in the way")
    with pytest.raises(UploadFailed, match=r"could not upload lib\.zip to .*bucket"):
        ship(folder, py_file="job.py", py_files=["lib.zip"], upload_to=f"file://{tmp_path}/bucket")


@pytest.mark.parametrize(
    ("file", "error", "message"),
    [
        ("gone.py", AirflowFailException, "could not find file 'gone.py'"),
        ("lib.zip", AirflowException, r"could not upload lib\.zip to .*bucket"),
    ],
)
def test_failure_is_translated_for_tasks(
    folder: Path, tmp_path: Path, file: str, error: type[Exception], message: str
) -> None:
    (tmp_path / "bucket").write_text("a file in the way")
    composition = Composition(
        document=override_metadata(new_application(), name="pi", namespace="jobs"),
        parameters=Parameters(py_file=file, spark_version="4.3.0"),
        settings=TaskSettings(),
        folders=[str(folder)],
        upload_to=f"file://{tmp_path}/bucket",
    )
    with pytest.raises(AirflowException, match=message) as raised:
        compose_in_airflow(composition)
    assert type(raised.value) is error


WRONG = [
    ({"py_file": "gone.py"}, r"could not find file 'gone.py' in .*dags\. For a file in the image"),
    (
        {"py_file": "job.py", "py_files": ["lib.zip"]},
        r"lib\.zip cannot be stored .* \(a ConfigMap holds only text files .*\): set upload",
    ),
    ({"py_file": "my job.py"}, r"my job\.py cannot be stored .* names contain only letters, digits, -, _ and \."),
    ({"py_file": "job.py", "upload_to": "bucket/jobs"}, "upload_to: must be the URL of a folder"),
    (
        {"py_file": "lib.zip", "upload_to": "s4://bucket"},
        "could not upload lib.zip to s4://bucket: (Unsupp|No filesystem)",
    ),
    ({"py_file": "job.py", "files": ["sub/job.py"]}, r"job\.py and sub/job\.py have the same name"),
]


@pytest.mark.parametrize(("parameters", "message"), WRONG)
def test_file_that_cannot_be_shipped_is_reported(folder: Path, parameters: dict[str, Any], message: str) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "job.py").write_text("")
    (folder / "my job.py").write_text("")
    with pytest.raises((FileUnavailable, UploadFailed, InvalidResource), match=message):
        ship(folder, **parameters)


def test_size_is_reported_if_files_do_not_fit_into_a_config_map(folder: Path) -> None:
    (folder / "lib.py").write_text("#" * CONFIG_MAP_BYTES)
    with pytest.raises(InvalidResource, match=r"job\.py, lib\.py cannot be stored .*the files have 9\d+ bytes"):
        ship(folder, py_file="job.py", py_files=["lib.py"])


def test_file_that_is_too_large_after_escaping_is_uploaded(folder: Path, bucket: str) -> None:
    (folder / "page.xml").write_text("<a></a>" * 80_000)
    with pytest.raises(InvalidResource, match=r"page\.xml cannot be stored .*the files have 2\d+ bytes as JSON"):
        ship(folder, py_file="job.py", files=["page.xml"])
    assert "configMapSpecs" not in ship(folder, upload_to=bucket, py_file="job.py", files=["page.xml"])


def test_operator_ships_the_file_next_to_its_dag(cluster: Cluster, folder: Path, tmp_path: Path) -> None:
    from airflow.sdk import DAG

    cluster.script = succeed
    with DAG("ships", schedule=None) as dag:
        task = operator(deferrable=False, application=None, py_file="job.py", image="spark:4.3.0")
    dag.fileloc = str(folder / "ships.py")
    assert run(task, TaskInstance()) == "pi"
    (config_map,) = cluster.application()["spec"]["configMapSpecs"]
    assert config_map["data"] == {"job.py": "import lib\n"}
    assert config_map["name"].startswith("pi-files-")
