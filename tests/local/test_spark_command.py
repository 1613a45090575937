import stat
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from airflow_provider_spark_operator.core.spark.properties import parse_properties
from airflow_provider_spark_operator.local.authentication import SharedSecret
from airflow_provider_spark_operator.local.java import Java
from airflow_provider_spark_operator.local.programs import MASTER, WORKER
from airflow_provider_spark_operator.local.software import SparkInstallation
from airflow_provider_spark_operator.local.spark import (
    ContainerPlace,
    build_command,
    build_daemon_command,
    build_environment,
)
from local_kubernetes.kubelet.node.access import ApiAccess
from local_kubernetes.kubelet.node.runtime import PathMap, StartError

JAVA = Java(Path("/java"), 21, frozenset({"java.base"}))
SPARK = SparkInstallation(Path("/site-packages/pyspark"), JAVA)
SECRET = "value of the secret"
API = ApiAccess("https://127.0.0.1:6443", Path("/ca.crt"), "token")


@pytest.fixture
def place(tmp_path: Path) -> ContainerPlace:
    (tmp_path / "tmp").mkdir()
    paths = PathMap({"/opt/spark": SPARK.home, "/opt/spark/conf": tmp_path / "conf"})
    secret = SharedSecret(SECRET, tmp_path / "spark-conf")
    return ContainerPlace(tmp_path / "work", tmp_path / "tmp", tmp_path / "credentials", paths.rewrite, secret)


def build_driver_command(
    place: ContainerPlace, properties: str, *words: str, environment: dict[str, str] | None = None
) -> list[str]:
    file = place.scratch.parent / "given.properties"
    file.write_text(properties)
    arguments = ["driver", "--properties-file", str(file), "--class", "Main", *words]
    return build_command(SPARK, arguments, environment or {}, place, API)


def read_settings(command: list[str]) -> dict[str, str]:
    pairs = [command[index + 1] for index, word in enumerate(command) if word == "--conf"]
    return dict(pair.partition("=")[::2] for pair in pairs)


def test_driver_command_is_a_submission_in_client_mode(place: ContainerPlace) -> None:
    command = build_driver_command(place, "spark.driver.memory=512\n", "app.py", "--flag", "")

    assert command[0] == "/java/bin/java"
    main = command.index("org.apache.spark.deploy.SparkSubmit")
    assert "-Xmx512m" in command[:main]
    assert command[main - 1] == "/site-packages/pyspark/jars/*"
    assert command[command.index("--deploy-mode") + 1] == "client"
    assert command[-5:] == ["--class", "Main", "app.py", "--flag", ""]


def test_driver_gets_free_ports_and_access_to_the_api(place: ContainerPlace) -> None:
    given = read_settings(build_driver_command(place, "spark.driver.port=7078\n"))

    assert given["spark.driver.port"] == given["spark.driver.blockManager.port"] == given["spark.ui.port"] == "0"
    assert given["spark.driver.host"] == given["spark.driver.bindAddress"] == "127.0.0.1"
    assert given["spark.kubernetes.driver.master"] == API.url
    prefix = "spark.kubernetes.authenticate.driver.mounted."
    assert given[f"{prefix}oauthTokenFile"] == str(place.credentials / "token")
    assert given[f"{prefix}caCertFile"] == str(place.credentials / "ca.crt")
    assert not any(value == "token" for value in given.values())


@pytest.mark.parametrize(
    ("master", "has_property"),
    [("spark://127.0.0.1:17077", True), ("k8s://https://x", False), ("spark://far:7077", False)],
)
def test_secret_of_a_local_master_is_not_in_the_properties_of_a_driver(
    place: ContainerPlace, master: str, has_property: bool
) -> None:
    text = f"spark.master={master}\nspark.authenticate=false\nspark.redaction.regex=nothing\n"
    command = build_driver_command(place, text)

    written = Path(command[command.index("--properties-file") + 1])
    assert stat.S_IMODE(written.stat().st_mode) == 0o600
    assert ("spark.authenticate.secret" in parse_properties(written.read_text())) == has_property
    assert SECRET not in written.read_text()
    assert read_settings(command)["spark.authenticate"] == "true"
    assert not any(SECRET in word for word in command)


def test_driver_properties_with_an_invalid_escape_are_rejected(place: ContainerPlace) -> None:
    with pytest.raises(StartError, match=r"^--properties-file .*: contains a \\u without four hexadecimal digits"):
        build_driver_command(place, "a\\u00zz=1\n")


def test_driver_keeps_a_property_without_a_key(place: ContainerPlace) -> None:
    command = build_driver_command(place, "=v\n")

    written = Path(command[command.index("--properties-file") + 1])
    assert parse_properties(written.read_text(encoding="utf-8")) == {"": "v"}


def test_driver_properties_have_paths_of_this_machine(place: ContainerPlace) -> None:
    properties = (
        "spark.jars=local\\:///opt/spark/jars/a.jar\n"
        "spark.kubernetes.executor.volumes.hostPath.x.options.path=/opt/spark\n"
    )

    command = build_driver_command(place, properties)

    written = Path(command[command.index("--properties-file") + 1])
    assert parse_properties(written.read_text()) == {
        "spark.jars": "local:///site-packages/pyspark/jars/a.jar",
        "spark.kubernetes.executor.volumes.hostPath.x.options.path": "/opt/spark",
    }


def test_driver_in_a_folder_of_the_user_does_not_copy_files_there(place: ContainerPlace, tmp_path: Path) -> None:
    (tmp_path / "a b.py").touch()
    (tmp_path / "package").mkdir()
    location = f"local://{tmp_path}"
    properties = (
        "spark.master=k8s://https://10.0.0.1:6443\n"
        f"spark.jars={location}/a.jar\n"
        f"spark.submit.pyFiles={location}/a%20b.py,{location}/package\n"
        f"spark.archives={location}/a%20b.py#env, http://example.org/b.zip\n"
    )

    command = build_driver_command(replace(place, owns_directory=False), properties)

    settings = read_settings(command)
    assert settings["spark.kubernetes.submitInDriver"] == "false"
    assert settings["spark.master"] == f"k8s://{API.url}"
    assert settings["spark.kubernetes.authenticate.oauthTokenFile"] == str(place.credentials / "token")
    assert settings["spark.kubernetes.authenticate.caCertFile"] == str(place.credentials / "ca.crt")
    written = parse_properties(Path(command[command.index("--properties-file") + 1]).read_text())
    assert written["spark.jars"] == f"{location}/a.jar"
    assert written["spark.submit.pyFiles"] == f"file://{tmp_path}/a%20b.py,{location}/package"
    assert written["spark.archives"] == f"file://{tmp_path}/a%20b.py#env,http://example.org/b.zip"


@pytest.mark.parametrize("alias", ["../env", "a/../../env", "%2e%2e/env"])
def test_name_of_a_dependency_outside_of_the_folder_is_refused(place: ContainerPlace, alias: str) -> None:
    with pytest.raises(StartError, match=r"^spark\.archives: local:///a\.zip#.*: the name after # must not contain"):
        build_driver_command(place, f"spark.archives=local:///b.zip#b,local:///a.zip#{alias}\n")


def test_uri_with_a_space_is_refused(place: ContainerPlace) -> None:
    with pytest.raises(
        StartError, match=r"^spark\.files: local:///a b\.zip: a URI must not contain a space\. Write %20"
    ):
        build_driver_command(place, "spark.files=local:///c.zip, local:///a b.zip\n")


def test_driver_java_options_and_class_path_are_used(place: ContainerPlace) -> None:
    properties = (
        "spark.driver.defaultJavaOptions=-Da=1\n"
        'spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=4 -Db="x y"\n'
        "spark.driver.extraClassPath=/opt/spark/extra\n"
        "spark.driver.memory=1G\n"
    )

    command = build_driver_command(place, properties, environment={"SPARK_CONF_DIR": "/conf"})

    assert command.index("-XX:TieredStopAtLevel=4") > command.index("-XX:TieredStopAtLevel=1")
    assert command.index("-Da=1") < command.index("-Db=x y")
    assert "-Xmx1g" in command
    expected = "/site-packages/pyspark/extra:/site-packages/pyspark/jars/*:/conf"
    assert command[command.index("-cp") + 1] == expected


def test_executor_command_comes_from_the_environment(place: ContainerPlace) -> None:
    environment = {
        "SPARK_DRIVER_URL": "spark://CoarseGrainedScheduler@127.0.0.1:4000",
        "SPARK_EXECUTOR_ID": "7",
        "SPARK_EXECUTOR_CORES": "2",
        "SPARK_EXECUTOR_MEMORY": "512m",
        "SPARK_APPLICATION_ID": "spark-1",
        "SPARK_RESOURCE_PROFILE_ID": "0",
        "SPARK_EXECUTOR_POD_NAME": "pi-exec-7",
        "SPARK_CLASSPATH": "/extra",
        "SPARK_JAVA_OPT_10": "-Dten",
        "SPARK_JAVA_OPT_2": "-Dtwo",
        "SPARK_JAVA_OPT_0": "--add-modules=jdk.incubator.vector",
    }

    command = build_command(SPARK, ["executor"], environment, place, API)

    main = command.index("org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend")
    options, words = command[:main], command[main + 1 :]
    assert {"-Xms512m", "-Xmx512m"} <= set(options)
    assert options.index("-Dtwo") < options.index("-Dten")
    assert "--add-modules=jdk.incubator.vector" not in options
    assert options[-1] == "/extra:/site-packages/pyspark/jars/*"
    assert dict(zip(words[::2], words[1::2], strict=True)) == {
        "--driver-url": "spark://CoarseGrainedScheduler@127.0.0.1:4000",
        "--executor-id": "7",
        "--cores": "2",
        "--app-id": "spark-1",
        "--hostname": "127.0.0.1",
        "--resourceProfileId": "0",
        "--podName": "pi-exec-7",
    }


@pytest.mark.parametrize("wanted", [None, "python3", "/no/such/python"])
def test_python_defaults_to_the_running_interpreter(wanted: str | None) -> None:
    given = {"PYSPARK_PYTHON": wanted} if wanted else {}

    assert build_environment(SPARK, given)["PYSPARK_PYTHON"] == sys.executable
    assert build_environment(SPARK, {"PYSPARK_PYTHON": "/bin/sh"})["PYSPARK_PYTHON"] == "/bin/sh"


def test_missing_python_is_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        build_environment(SPARK, {"PYSPARK_PYTHON": "./environment/bin/python"})
    message = f"this machine has no Python ./environment/bin/python: {sys.executable} runs instead, with its packages"
    assert caplog.messages == [message]


def test_python_path_of_the_pod_comes_first() -> None:
    assert build_environment(SPARK, {"PYTHONPATH": "/mine"})["PYTHONPATH"] == "/mine:/site-packages"


@pytest.mark.parametrize(("configured", "port"), [("", 4040), ("spark.ui.port=4050\n", 4050)])
def test_driver_serves_its_page_on_the_port_that_replaces_the_configured_one(
    place: ContainerPlace, configured: str, port: int
) -> None:
    place = replace(place, assign_port=lambda number: number + 10000)

    assert read_settings(build_driver_command(place, configured))["spark.ui.port"] == str(port + 10000)


def test_master_listens_on_assigned_ports(place: ContainerPlace) -> None:
    options = '-Da="b \\"c\\"" -Dspark.master.rest.enabled=true -Dspark.authenticate=false'
    environment = {"SPARK_MASTER_OPTS": options, "SPARK_DAEMON_MEMORY": "2g"}

    command = build_daemon_command(MASTER, SPARK, environment, place, lambda port: port + 10000)

    main = command.index("org.apache.spark.deploy.master.Master")
    assert command[main + 1 :] == ["--host", "127.0.0.1", "--port", "17077", "--webui-port", "18080"]
    assert '-Da=b "c"' in command[:main]
    assert "-Xmx2g" in command[:main]
    assert command.index("-Dspark.master.rest.enabled=false") > command.index("-Dspark.master.rest.enabled=true")
    assert command.index("-Dspark.authenticate=true") > command.index("-Dspark.authenticate=false")
    assert not any(SECRET in word for word in command)


def test_worker_listens_on_free_ports_and_uses_its_own_folder(place: ContainerPlace) -> None:
    command = build_daemon_command(WORKER, SPARK, {}, place, lambda port: port)

    assert command[command.index("--port") + 1] == command[command.index("--webui-port") + 1] == "0"
    assert command[command.index("--work-dir") + 1] == str(place.work / "work")
    assert "-Dspark.shuffle.service.port=0" in command


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"SPARK_MASTER_OPTS": '-Da="b'}, "SPARK_MASTER_OPTS could not be split into options: No closing quotation"),
        ({"SPARK_MASTER_PORT": "tcp://10.0.0.1:7077"}, "invalid port 'tcp://10.0.0.1:7077' in SPARK_MASTER_PORT"),
    ],
)
def test_invalid_daemon_settings_fail_the_start(
    place: ContainerPlace, environment: dict[str, str], message: str
) -> None:
    with pytest.raises(StartError, match=message):
        build_daemon_command(MASTER, SPARK, environment, place, lambda port: port)


def test_invalid_driver_options_fail_the_start(place: ContainerPlace) -> None:
    with pytest.raises(StartError, match=r"spark\.driver\.extraJavaOptions could not be split into options"):
        build_driver_command(place, "spark.driver.extraJavaOptions=-Da='b\n")
