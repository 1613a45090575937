"""What spark-submit makes of the less usual: found by comparison with it, kept without it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from airflow_provider_spark_operator.core.driver.build import DriverResources, build_driver
from airflow_provider_spark_operator.core.driver.command_line import parse_command_line
from airflow_provider_spark_operator.core.driver.errors import DriverBuildError
from airflow_provider_spark_operator.core.driver.inputs import SubmissionInputs
from airflow_provider_spark_operator.core.driver.naming import submit_naming
from airflow_provider_spark_operator.core.driver.submission import Surroundings, submission_inputs

K = "spark.kubernetes."
JAR = "local:///app.jar"
VOLUME = f"{K}driver.volumes.emptyDir.a"
COMMON_PORT = "spark.blockManager.port"
KERBEROS = {"spark.kerberos.principal": "me"}
TOKENS = {f"{K}kerberos.tokenSecret.name": "tokens", f"{K}kerberos.tokenSecret.itemKey": "item"}


def inputs_of(
    *words: str, conf: Mapping[str, str] | None = None, resource: str = JAR, **surroundings: Any
) -> SubmissionInputs:
    settings = {f"{K}container.image": "spark", f"{K}file.upload.path": "s3a://bucket", **(conf or {})}
    written = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    target = ["--master", "k8s://https://api", "--deploy-mode", "cluster"]
    named = [] if "main_class" in surroundings else ["--class", "Main"]
    command = parse_command_line([*target, *named, *words, *written, resource])
    given: dict[str, Any] = {"user": "me", "submit_time": 0} | surroundings
    return submission_inputs(command, Surroundings(**given))


def built(*words: str, files: Mapping[str, bytes] | None = None, **given: Any) -> DriverResources:
    inputs = replace(inputs_of(*words, **given), files=files or {})
    return build_driver(inputs, submit_naming("job", inputs.conf, "seed", inputs.environment))


def variables(driver: DriverResources) -> dict[str, str | None]:
    return {each["name"]: each.get("value") for each in driver.pod["spec"]["containers"][-1]["env"]}


def refusal(*words: str, **given: Any) -> str:
    with pytest.raises(DriverBuildError) as refused:
        built(*words, **given)
    return refused.value.field


def test_the_main_class_may_be_that_of_a_local_jar() -> None:
    asked: list[str] = []

    def main_class(path: str) -> str:
        asked.append(path)
        return "a.B"

    inputs = inputs_of(resource="/a b.jar", main_class=main_class)
    assert (inputs.main_class, asked) == ("a.B", ["/a b.jar"])
    assert refusal(resource="/a.jar", main_class=lambda _: None) == "--class"
    assert refusal(resource="https://host/a.jar", main_class=lambda _: "a.B") == "--class"


def test_only_long_flags_take_a_joined_value_and_no_empty_one() -> None:
    assert inputs_of("--name=a=b").conf["spark.app.name"] == "a=b"
    assert inputs_of("--verbose=x").conf["spark.app.name"] == "Main"
    assert refusal("--name=") == "--name="
    assert refusal("-c=spark.x=y") == "-c=spark.x=y"


def test_variables_that_are_empty_are_set() -> None:
    assert variables(built(environment={"SPARK_USER": ""}))["SPARK_USER"] == ""
    python = variables(built(resource="local:///job.py", environment={"PYSPARK_PYTHON": ""}))
    assert (python["PYSPARK_PYTHON"], python["PYSPARK_DRIVER_PYTHON"]) == ("", "")
    assert variables(built(environment={"SPARK_LOCAL_DIRS": ""}))["SPARK_LOCAL_DIRS"] == ""


def test_scratch_directories_are_split_as_java_splits() -> None:
    assert variables(built(conf={"spark.local.dir": "/a,/b,,"}))["SPARK_LOCAL_DIRS"] == "/a,/b"
    nothing = built(environment={"SPARK_LOCAL_DIRS": ","})
    assert variables(nothing)["SPARK_LOCAL_DIRS"] == ""
    assert [each["name"] for each in nothing.pod["spec"]["volumes"]] == ["spark-conf-volume-driver"]


def test_a_keytab_of_the_submitter_goes_into_a_secret() -> None:
    conf = {"spark.kerberos.keytab": "/etc/me.keytab", **KERBEROS, **TOKENS}
    driver = built(conf=conf, files={"/etc/me.keytab": b"key"})
    secret = next(each for each in driver.resources if each["kind"] == "Secret")
    assert secret["data"] == {"me.keytab": "a2V5"}
    assert driver.properties["spark.kerberos.keytab"] == "/mnt/secrets/kerberos-keytab/me.keytab"
    assert "HADOOP_TOKEN_FILE_LOCATION" not in variables(driver)
    assert refusal(conf=conf) == "spark.kerberos.keytab"


def test_a_keytab_in_the_image_leaves_the_tokens_to_their_secret() -> None:
    driver = built(conf={"spark.kerberos.keytab": "local:///k", **KERBEROS, **TOKENS})
    assert variables(driver)["HADOOP_TOKEN_FILE_LOCATION"] == "/mnt/secrets/hadoop-credentials/item"


def test_former_names_of_keys_are_read() -> None:
    driver = built(conf={"spark.yarn.driver.memoryOverhead": "1g"})
    assert driver.pod["spec"]["containers"][-1]["resources"]["limits"]["memory"] == "2048Mi"
    both = built(conf={"spark.yarn.driver.memoryOverhead": "1g", "spark.driver.memoryOverhead": "2g"})
    assert both.pod["spec"]["containers"][-1]["resources"]["limits"]["memory"] == "3072Mi"
    properties = built(conf={"spark.yarn.keytab": "local:///k", "spark.yarn.principal": "me"}).properties
    assert properties["spark.kerberos.keytab"] == "local:///k"
    assert properties["spark.kerberos.principal"] == "me"


def test_an_alias_goes_with_its_archive_and_a_file_without_it() -> None:
    driver = built("--archives", "/a.zip#env", "--files", "/a%20b.txt#x")
    assert [each.source for each in driver.uploads] == ["/a b.txt", "/a.zip"]
    assert driver.properties["spark.archives"].endswith("/a.zip#env")
    assert driver.properties["spark.files"].endswith("/a b.txt")


def test_a_file_that_no_pattern_finds_is_left_out() -> None:
    assert inputs_of("--jars", "/none*.jar,local:///b.jar", expand=lambda _: []).conf["spark.jars"] == (
        f"local:///b.jar,{JAR}"
    )


@pytest.mark.parametrize(
    ("words", "given", "field"),
    [
        (("--proxy-user", ""), {}, "--proxy-user"),
        (("--packages", "a:b"), {}, "spark.jars.packages"),
        (("--jars", "/a?.jar"), {}, "spark.jars"),
        (("--jars", "/[ab].jar"), {}, "spark.jars"),
        (("--files", "/*#x"), {"expand": lambda _: ["/a", "/b"]}, "spark.files"),
        ((), {"environment": {"SPARK_REMOTE": "sc://host"}}, "SPARK_REMOTE"),
        ((), {"conf": {"spark.remote": "sc://host"}}, "spark.remote"),
        ((), {"conf": {"spark.cores.max": "0"}}, "spark.cores.max"),
        ((), {"conf": {f"{K}namespace": "Not One"}}, f"{K}namespace"),
        ((), {"conf": {f"{K}authenticate.submission.oauthToken": "a\nb"}}, f"{K}authenticate.submission.oauthToken"),
        ((), {"conf": {f"{K}local.dirs.tmpfs": "x"}}, f"{K}local.dirs.tmpfs"),
        ((), {"conf": {f"{K}legacy.useReadWriteOnceAccessMode": "x"}}, f"{K}legacy.useReadWriteOnceAccessMode"),
        ((), {"conf": {"spark.driver.port": " 7078 "}}, "spark.driver.port"),
        ((), {"conf": {"spark.driver.port": "${spark.p}", "spark.p": "7078"}}, "spark.driver.port"),
        ((), {"conf": {"spark.driver.blockManager.port": "1", COMMON_PORT: "x"}}, COMMON_PORT),
        ((), {"conf": {"spark.driver.memory": "8388608t"}}, "spark.driver.memory"),
        ((), {"conf": {"spark.driver.memoryOverhead": "9223372036854775807"}}, "spark.driver.memory"),
        (
            (),
            {"conf": {f"{VOLUME}.mount.path": "/x", f"{VOLUME}.options.sizeLimit": "9" * 20}},
            f"{VOLUME}.options.sizeLimit",
        ),
    ],
    ids=lambda value: str(value) if isinstance(value, str) else "",
)
def test_what_spark_submit_refuses_is_refused_by_its_field(
    words: tuple[str, ...], given: dict[str, Any], field: str
) -> None:
    assert refusal(*words, **given) == field


def test_a_factor_without_end_stays_within_32_bits() -> None:
    limits = built(conf={"spark.driver.memoryOverheadFactor": "Infinity"}).pod["spec"]["containers"][-1]["resources"]
    assert limits["limits"]["memory"] == f"{1024 + (1 << 31) - 1}Mi"
