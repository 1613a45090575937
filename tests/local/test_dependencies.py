"""Applications with every kind of dependency, with real Spark: no file in the folder of the user changes."""

import json
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.resources import PODS, SPARK_APPLICATIONS
from airflow_provider_spark_operator.local.cluster import run_cluster
from tests.cli.local.test_local import DRIVER
from tests.cli.process import start_command, wait_for_exit
from tests.reconcile.harness import build_application

from kubelet.running_node import wait_until_async

DEADLINE = 380
pytestmark = [pytest.mark.spark, pytest.mark.timeout(400)]

SCRIPT = """
import json, os, sys
from pathlib import Path
from pyspark import SparkFiles
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
context = spark.sparkContext

def read(name):
    return Path(name).read_text()

def import_on_executor(_):
    import helper, packed, tool
    names = ("config.json", "env/packed.py", "plain.zip/packed.py")
    return [helper.NAME, packed.NAME, tool.NAME, *map(read, names)]

import helper, packed, tool
names = ("config.json", "env/packed.py", "plain.zip/packed.py")
result = {
    "driver": [helper.NAME, packed.NAME],
    "classes": [
        context._jvm.java.lang.Thread.currentThread().getContextClassLoader().getResource(name) is not None
        for name in ("library.txt", "package.txt")
    ],
}
if sys.argv[1] == "here":
    import neighbour
    result["neighbour"] = neighbour.NAME
    result["executor"] = context.parallelize([0], 1).map(import_on_executor).first()
    result["relative"] = [read("data.csv"), spark.read.text("data.csv").first()[0]]
    result["files"] = [read(SparkFiles.get(name)) for name in names]
else:
    result["files"] = [read(name) for name in names]
print("RESULT", json.dumps(result), flush=True)
"""
MODULE = "NAME = 'packed'"
IVY_SETTINGS = """<ivysettings>
  <settings defaultResolver="files"/>
  <resolvers><filesystem name="files" m2compatible="true">
    <ivy pattern="{0}/[module]-[revision].pom"/><artifact pattern="{0}/[module]-[revision].[ext]"/>
  </filesystem></resolvers>
</ivysettings>"""
POM = """<project><modelVersion>4.0.0</modelVersion>
<groupId>org.example</groupId><artifactId>extra</artifactId><version>1.0</version></project>"""


def pack(archive: Path, name: str, content: str) -> None:
    with ZipFile(archive, "w") as file:
        file.writestr(name, content)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder whose files have the names of everything that Spark copies."""
    folder = tmp_path / "mine"
    theirs = folder / "other"
    theirs.mkdir(parents=True)
    (folder / "job.py").write_text(SCRIPT)
    (folder / "neighbour.py").write_text("NAME = 'neighbour'")
    (folder / "data.csv").write_text("data")
    (folder / "helper.py").write_text("NAME = 'helper'")
    (folder / "tool.py").write_text("NAME = 'my tool'")
    (theirs / "tool.py").write_text("NAME = 'tool'")
    (folder / "config.json").write_text("mine")
    (theirs / "config.json").write_text("config")
    (folder / "env").mkdir()
    (folder / "env" / "file").write_text("mine")
    pack(folder / "packed.zip", "packed.py", MODULE)
    (folder / "plain.zip").write_text("mine")
    pack(theirs / "plain.zip", "packed.py", MODULE)
    pack(folder / "library.jar", "library.txt", "library")
    (folder / "org.example_extra-1.0.jar").write_text("mine")
    pack(theirs / "extra-1.0.jar", "package.txt", "package")
    (theirs / "extra-1.0.pom").write_text(POM)
    (theirs / "ivy.xml").write_text(IVY_SETTINGS.format(theirs))
    return folder


def read_tree(folder: Path) -> dict[str, bytes | None]:
    """Return the content of each file in a folder by its path; None for a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def build_conf(folder: Path) -> dict[str, str]:
    location = f"local://{folder}"
    return {
        "spark.files": f"{location}/other/config.json",
        "spark.jars": f"{location}/library.jar",
        "spark.archives": f"{location}/packed.zip#env,{location}/other/plain.zip",
        "spark.jars.packages": "org.example:extra:1.0",
        "spark.jars.ivySettings": f"{folder}/other/ivy.xml",
    }


def build_result(**more: Any) -> dict[str, Any]:
    unpacked = ["config", MODULE, MODULE]
    return {"driver": ["helper", "packed"], "classes": [True, True], "files": unpacked, **more}


def read_result(log: str) -> dict[str, Any]:
    (line,) = (line for line in log.splitlines() if line.startswith("RESULT "))
    result: dict[str, Any] = json.loads(line.removeprefix("RESULT "))
    return result


HERE = build_result(
    neighbour="neighbour", relative=["data", "data"], executor=["helper", "packed", "tool", "config", MODULE, MODULE]
)


async def test_script_with_dependencies_leaves_the_files_of_the_user_unchanged(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    before = read_tree(folder)
    conf = [word for key, value in build_conf(folder).items() for word in ("--conf", f"{key}={value}")]
    words = ["job.py", "here", "--py-files", "helper.py,packed.zip,other/tool.py", *conf]
    async with start_command("local", "run", *words, home=tmp_path) as process:
        exit_code, out, err = await wait_for_exit(process, DEADLINE)
    assert exit_code == 0, f"{out}{err}"
    assert read_result(out) == HERE
    assert read_tree(folder) == before


def build_manifest(folder: Path, name: str, pod: dict[str, Any]) -> dict[str, Any]:
    conf = build_conf(folder)
    uris = (f"local://{folder}/{path}" for path in ("job.py", "helper.py", "packed.zip", "other/tool.py"))
    return build_application(
        name,
        jars=conf.pop("spark.jars"),
        files=conf.pop("spark.files"),
        pyFiles=",".join(uris),
        conf={**conf, "spark.kubernetes.container.image": "spark:4.3.0", "spark.executor.instances": "1"},
        mainClass="org.apache.spark.deploy.PythonRunner",
        driverArgs=[name],
        driverSpec={"podTemplateSpec": {"spec": pod}},
        executorSpec={"podTemplateSpec": {"spec": pod}},
        applicationTolerations={"resourceRetainPolicy": "Always"},
    )


async def test_manifests_with_dependencies_leave_the_files_of_the_user_unchanged(folder: Path, tmp_path: Path) -> None:
    container = {"name": DRIVER, "workingDir": "/work", "volumeMounts": [{"name": "mine", "mountPath": "/work"}]}
    mounted = {"containers": [container], "volumes": [{"name": "mine", "hostPath": {"path": str(folder)}}]}
    before = read_tree(folder)
    results = {}
    async with run_cluster(tmp_path / "home") as cluster:
        for name, pod in (("here", mounted), ("elsewhere", {})):
            await cluster.client.create(SPARK_APPLICATIONS, build_manifest(folder, name, pod), "default")
        for name in ("here", "elsewhere"):
            results[name] = await read_driver_result(cluster.client, name)
    assert results == {"here": HERE, "elsewhere": build_result()}
    assert read_tree(folder) == before


async def read_driver_result(client: KubeClient, name: str) -> dict[str, Any]:
    """Wait until the driver of an application ends. Return the result in its log."""
    driver = f"{name}-0-driver"

    async def has_ended() -> bool:
        pods = (await client.list(PODS, "default", field_selector=f"metadata.name={driver}")).items
        return any(pod["status"].get("phase") in ("Succeeded", "Failed") for pod in pods)

    await wait_until_async(has_ended, seconds=DEADLINE)
    return read_result("\n".join([line async for line in client.logs("default", driver)]))
