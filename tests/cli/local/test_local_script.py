"""`local run` with a Python script."""

import asyncio
import re
from pathlib import Path
from urllib.request import urlopen

import pytest

from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.cli.local.local_application import compose_local_application
from airflow_provider_spark_operator.core.kubernetes.problems import InvalidResource
from airflow_provider_spark_operator.spark_task import MESSAGE_FILE, MESSAGE_VARIABLE
from tests.cli.local.test_local import list_folder, write
from tests.cli.process import read_line, run_command, start_command, wait_for_exit
from tests.cli.verbs import Verbs

SCRIPT = """
import sys, time
from pathlib import Path
from pyspark.sql import SparkSession
import module

spark = SparkSession.builder.getOrCreate()
print("count", spark.sparkContext.parallelize(range(10)).count(), module.NAME, *sys.argv[1:], flush=True)
while not Path("seen").exists():
    time.sleep(0.1)
"""


ONE_RESULT = """
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
print("rows", spark.range(1000).selectExpr("id % 7 as k").groupBy("k").count().count())
spark.stop()
"""


def read_page(url: str) -> str:
    with urlopen(url, timeout=30) as page:
        content: bytes = page.read()
    return content.decode()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "My Job_1.py").touch()
    return tmp_path


def test_script_is_run_in_place_by_the_installed_spark(folder: Path) -> None:
    values = {"py_files": ["lib.zip"], "driver_memory": "2g"}
    spec = compose_local_application("My Job_1.py", ["a", "--b"], values)["spec"]
    assert spec["pyFiles"] == f"local://{folder}/My%20Job_1.py,local://{folder}/lib.zip"
    assert spec["driverArgs"] == ["a", "--b"]
    assert spec["sparkConf"]["spark.executor.instances"] == "1"
    assert spec["sparkConf"]["spark.driver.memory"] == "2g"
    (container,) = spec["driverSpec"]["podTemplateSpec"]["spec"]["containers"]
    assert container["workingDir"] == str(folder)


def test_module_for_reports_is_added_unless_the_script_has_a_copy(folder: Path) -> None:
    (folder / "My Job_1.py").write_text("from spark_task import report\n")
    spec = compose_local_application("My Job_1.py", [], {})["spec"]
    assert spec["pyFiles"].endswith("/airflow_provider_spark_operator/spark_task.py")
    assert spec["sparkConf"][f"spark.kubernetes.driverEnv.{MESSAGE_VARIABLE}"] == MESSAGE_FILE
    (folder / "spark_task.py").touch()
    assert "," not in compose_local_application("My Job_1.py", [], {})["spec"]["pyFiles"]


@pytest.mark.parametrize(
    ("file", "name"),
    [("My Job_1.py", "my-job-1"), ("2024.py", "script-2024"), ("_.py", "script"), (f"{'a' * 80}.py", "a" * 40)],
)
def test_application_is_named_after_the_script(folder: Path, file: str, name: str) -> None:
    (folder / file).touch()
    assert compose_local_application(file, [], {})["metadata"]["name"] == name


@pytest.mark.usefixtures("folder")
def test_number_of_executors_can_be_a_property() -> None:
    document = compose_local_application("My Job_1.py", [], {"conf": {"spark.executor.instances": "3"}})
    assert document["spec"]["sparkConf"]["spark.executor.instances"] == "3"


def test_options_override_a_manifest(folder: Path) -> None:
    document = compose_local_application(write(folder, "true"), [], {"executor_memory": "3g"})
    assert document["spec"]["sparkConf"]["spark.executor.memory"] == "3g"


@pytest.mark.usefixtures("folder")
def test_invalid_memory_is_reported() -> None:
    with pytest.raises(InvalidResource, match="--driver-memory: must be"):
        compose_local_application("My Job_1.py", [], {"driver_memory": "much"})


def test_missing_script_is_reported(run_verb: Verbs) -> None:
    error = run_verb("local run gone.py", ExitCode.INVALID).err
    assert error == "spark-operator: error: gone.py: cannot be read: no such file or directory\n"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("package", "message"),
    [
        ("emoji", "--packages: 'emoji' is not a package of Maven. For a Python package, run `pip install emoji`"),
        ("emoji>=2", "For a Python package, run `pip install 'emoji>=2'`"),
        ("org.example:lib", "--packages: 'org.example:lib' must have the form <group>:<artifact>:<version>"),
    ],
)
def test_package_that_is_not_of_maven_is_refused(package: str, message: str, run_verb: Verbs) -> None:
    assert message in run_verb(["local", "run", "My Job_1.py", "--packages", package], ExitCode.INVALID).err


@pytest.mark.parametrize("prefix", ["", "file:"])
def test_folder_of_modules_is_refused(folder: Path, run_verb: Verbs, prefix: str) -> None:
    (folder / "my package").mkdir()
    assert run_verb(["local", "run", "My Job_1.py", "--py-files", f"{prefix}my package"], ExitCode.INVALID).err == (
        f"spark-operator: error: --py-files {prefix}my package: a folder is not supported. "
        "Pack the folder into a .zip file\n"
    )


def test_manifest_with_arguments_is_refused(folder: Path, run_verb: Verbs) -> None:
    path = write(folder, "true")
    assert run_verb(["local", "run", path, "a"], ExitCode.INVALID).err == (
        f"spark-operator: error: {path}: a manifest takes no arguments: set spec.driverArgs, or run a .py file\n"
    )


@pytest.mark.spark
@pytest.mark.timeout(300)
async def test_script_runs_with_its_module_and_a_reachable_spark_ui(folder: Path) -> None:
    (folder / "job.py").write_text(SCRIPT)
    (folder / "module.py").write_text("NAME = 'side'")
    words = ("local", "run", "job.py", "a", "--driver-memory", "512m", "--executor-memory", "512m", "--", "--b")
    note, url = "spark-operator: Spark UI: ", ""
    async with start_command(*words, home=folder) as process:
        assert process.stderr is not None
        async for line in process.stderr:
            if line.decode().startswith(note):
                url = line.decode().removeprefix(note).strip()
                break
        assert await read_line(process, "count ") == "count 10 side a --b"
        assert "Spark Jobs" in await asyncio.to_thread(read_page, f"{url}/jobs/")
        (folder / "seen").touch()
        exit_code, _, err = await wait_for_exit(process)
    assert exit_code == ExitCode.SUCCESS, err
    logs = err.splitlines()[-1].removeprefix("spark-operator: the logs of the driver and the executors are in ")
    assert any(name.endswith("-exec-1.log") for name in list_folder(Path(logs)))


@pytest.mark.spark
@pytest.mark.timeout(300)
async def test_script_with_one_result_prints_at_most_25_lines(folder: Path) -> None:
    (folder / "ok.py").write_text(ONE_RESULT)
    exit_code, out, err = await run_command("local", "run", "ok.py", "--logs", str(folder / "logs"), home=folder)
    assert exit_code == ExitCode.SUCCESS, err
    assert "rows 7" in out.splitlines()
    assert len([*out.splitlines(), *err.splitlines()]) <= 25, out + err
    assert " RunningHealthy: " in err
    assert " INFO SparkContext: Running Spark version " in (folder / "logs" / "ok-0-driver.log").read_text()


@pytest.mark.spark
@pytest.mark.timeout(200)
async def test_job_of_the_guide_runs_as_described(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[3] / "docs" / "guides" / "develop.md").read_text()
    (job,) = re.findall(r"^```python\n(# job.py\n.*?)^```", page, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.py").write_text(job)
    async with start_command("local", "run", "job.py", home=tmp_path) as process:
        exit_code, out, err = await wait_for_exit(process, 180)
    assert exit_code == 0, err
    assert "'to': 2" in out
