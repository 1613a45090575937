"""The files that a config map holds, and the paths where Spark finds them."""

import pytest

from airflow_provider_spark_operator.core.compose.files import (
    CONFIG_MAP_BYTES,
    LocalFile,
    build_mounted_files,
    build_mounted_uri,
    convert_to_spark_url,
    list_paths,
    locate_files,
    needs_report_module,
    pack_files,
)
from airflow_provider_spark_operator.core.kubernetes.problems import InvalidResource
from airflow_provider_spark_operator.core.parameters.parameters import Parameters

JOB = LocalFile("jobs/job.py", "job.py", b"x = 1\n")
ARCHIVE = LocalFile("lib.zip", "lib.zip", b"PK\x03\xff")
ODD = LocalFile("my job.py", "my job.py", b"")
LARGE = LocalFile("large.txt", "large.txt", b"#" * CONFIG_MAP_BYTES)
SIGNS = LocalFile("page.xml", "page.xml", b"<a></a>" * 80_000)


def test_text_files_are_mounted_and_other_files_uploaded() -> None:
    packing = pack_files([JOB, ARCHIVE, ODD], can_mount=True, can_upload=True)
    assert (packing.mounted, packing.uploaded) == ((JOB,), (ARCHIVE, ODD))


@pytest.mark.parametrize("large", [LARGE, SIGNS])
def test_files_exceeding_config_map_limit_are_uploaded(large: LocalFile) -> None:
    assert pack_files([JOB, large], can_mount=True, can_upload=True).uploaded == (JOB, large)


@pytest.mark.parametrize(
    ("files", "can_mount", "message"),
    [
        ([JOB], False, "Kubeflow's SparkApplication has no field for local files"),
        ([JOB, LARGE], True, "the files have 921606 bytes in total, more than"),
        ([SIGNS], True, "bytes as JSON, more than"),
        ([JOB, ODD], True, "names contain only letters, digits"),
    ],
)
def test_file_that_cannot_be_mounted_requires_folder(files: list[LocalFile], can_mount: bool, message: str) -> None:
    with pytest.raises(InvalidResource, match=f"cannot be stored in a ConfigMap .*{message}"):
        pack_files(files, can_mount=can_mount, can_upload=False)


def test_local_paths_are_replaced_by_uris() -> None:
    given = Parameters(py_file="jobs/job.py", py_files="lib.zip, s3a://b/other.zip", main_class=None)
    found = locate_files(given, {"jobs/job.py": build_mounted_uri(JOB), "lib.zip": "s3a://b/lib.zip"})
    assert found.py_file == "local:///opt/airflow-task/job.py"
    assert found.py_files == ["s3a://b/lib.zip", "s3a://b/other.zip"]
    assert found.jars is None
    assert locate_files(Parameters(), {}).py_file is None


def test_list_paths_starts_with_script() -> None:
    assert list_paths(Parameters(py_file="a.py", jars="b.jar,c.jar", files=["d"])) == ["a.py", "d", "b.jar", "c.jar"]


@pytest.mark.parametrize(
    ("names", "expected"), [(["job.py"], True), (["job.txt"], False), (["job.py", "spark_task.py"], False), ([], False)]
)
def test_report_module_is_added_to_scripts_that_import_it(names: list[str], expected: bool) -> None:
    files = [LocalFile(name, name, b"from spark_task import report\n") for name in names]
    assert needs_report_module(files) is expected
    assert not needs_report_module([JOB])


@pytest.mark.parametrize(
    ("parameters", "executors"),
    [(Parameters(py_file="jobs/job.py"), False), (Parameters(py_file="x.py", py_files=["jobs/job.py"]), True)],
)
def test_files_are_mounted_in_executors_except_script(parameters: Parameters, executors: bool) -> None:
    mounted = build_mounted_files([JOB], parameters, "pi", "id-1")
    assert mounted
    assert (mounted.contents, mounted.executors) == ({"job.py": "x = 1\n"}, executors)
    assert mounted.name.startswith("pi-files-")


def test_each_try_has_its_own_config_map() -> None:
    first, again, second = (
        build_mounted_files([JOB], Parameters(), "pi", try_id) for try_id in ("id-1", "id-1", "id-2")
    )
    assert first
    assert first == again
    assert second
    assert second.name != first.name


def test_no_config_map_is_built_without_files() -> None:
    assert build_mounted_files([], Parameters(), "pi", "id-1") is None


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("s3://store@bucket/jobs", "s3a://bucket/jobs"),
        ("s3://bucket", "s3a://bucket"),
        ("gs://store@bucket/jobs/a@b", "gs://bucket/jobs/a@b"),
    ],
)
def test_url_for_spark_has_no_connection(url: str, expected: str) -> None:
    assert convert_to_spark_url(url) == expected
