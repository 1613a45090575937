"""Rare inputs of spark-submit. The comparison with the real one found these cases; these tests run without it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from airflow_provider_spark_operator.core.driver.build import DriverResources, build_driver
from airflow_provider_spark_operator.core.driver.configuration.configuration import DriverBuildError
from airflow_provider_spark_operator.core.driver.configuration.inputs import SubmissionInputs
from airflow_provider_spark_operator.core.driver.configuration.resource_names import build_submit_naming
from airflow_provider_spark_operator.core.driver.submission import (
    SubmitContext,
    build_submission_inputs,
    parse_command_line,
)

K = "spark.kubernetes."
JAR = "local:///app.jar"
VOLUME = f"{K}driver.volumes.emptyDir.a"
COMMON_PORT = "spark.blockManager.port"
KERBEROS = {"spark.kerberos.principal": "me"}
TOKENS = {f"{K}kerberos.tokenSecret.name": "tokens", f"{K}kerberos.tokenSecret.itemKey": "item"}


def build_inputs(
    *words: str, conf: Mapping[str, str] | None = None, resource: str = JAR, **context: Any
) -> SubmissionInputs:
    settings = {f"{K}container.image": "spark", f"{K}file.upload.path": "s3a://bucket", **(conf or {})}
    written = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    target = ["--master", "k8s://https://api", "--deploy-mode", "cluster"]
    named = [] if "main_class" in context else ["--class", "Main"]
    command = parse_command_line([*target, *named, *words, *written, resource])
    given: dict[str, Any] = {"user": "me", "submit_time": 0} | context
    return build_submission_inputs(command, SubmitContext(**given))


def build(*words: str, files: Mapping[str, bytes] | None = None, **given: Any) -> DriverResources:
    inputs = replace(build_inputs(*words, **given), files=files or {})
    return build_driver(inputs, build_submit_naming("job", inputs.conf, "seed", inputs.environment))


def get_variables(driver: DriverResources) -> dict[str, str | None]:
    return {each["name"]: each.get("value") for each in driver.pod["spec"]["containers"][-1]["env"]}


def get_refused_field(*words: str, **given: Any) -> str:
    with pytest.raises(DriverBuildError) as refused:
        build(*words, **given)
    return refused.value.field


def test_main_class_is_read_from_a_local_jar() -> None:
    asked: list[str] = []

    def read_main_class(path: str) -> str:
        asked.append(path)
        return "a.B"

    inputs = build_inputs(resource="/a b.jar", main_class=read_main_class)
    assert (inputs.main_class, asked) == ("a.B", ["/a b.jar"])
    assert get_refused_field(resource="/a.jar", main_class=lambda _: None) == "--class"
    assert get_refused_field(resource="https://host/a.jar", main_class=lambda _: "a.B") == "--class"


def test_only_long_flags_can_have_a_value_after_an_equals_sign() -> None:
    assert build_inputs("--name=a=b").conf["spark.app.name"] == "a=b"
    assert build_inputs("--verbose=x").conf["spark.app.name"] == "Main"
    assert get_refused_field("--name=") == "--name="
    assert get_refused_field("-c=spark.x=y") == "-c=spark.x=y"


def test_empty_variables_count_as_set() -> None:
    assert get_variables(build(environment={"SPARK_USER": ""}))["SPARK_USER"] == ""
    python = get_variables(build(resource="local:///job.py", environment={"PYSPARK_PYTHON": ""}))
    assert (python["PYSPARK_PYTHON"], python["PYSPARK_DRIVER_PYTHON"]) == ("", "")
    assert get_variables(build(environment={"SPARK_LOCAL_DIRS": ""}))["SPARK_LOCAL_DIRS"] == ""


def test_scratch_directories_are_split_as_java_does() -> None:
    assert get_variables(build(conf={"spark.local.dir": "/a,/b,,"}))["SPARK_LOCAL_DIRS"] == "/a,/b"
    nothing = build(environment={"SPARK_LOCAL_DIRS": ","})
    assert get_variables(nothing)["SPARK_LOCAL_DIRS"] == ""
    assert [each["name"] for each in nothing.pod["spec"]["volumes"]] == ["spark-conf-volume-driver"]


def test_local_keytab_is_mounted_from_a_secret() -> None:
    conf = {"spark.kerberos.keytab": "/etc/me.keytab", **KERBEROS, **TOKENS}
    driver = build(conf=conf, files={"/etc/me.keytab": b"key"})
    secret = next(each for each in driver.resources if each["kind"] == "Secret")
    assert secret["data"] == {"me.keytab": "a2V5"}
    assert driver.properties["spark.kerberos.keytab"] == "/mnt/secrets/kerberos-keytab/me.keytab"
    assert "HADOOP_TOKEN_FILE_LOCATION" not in get_variables(driver)
    assert get_refused_field(conf=conf) == "spark.kerberos.keytab"


def test_keytab_in_the_image_does_not_replace_the_token_secret() -> None:
    driver = build(conf={"spark.kerberos.keytab": "local:///k", **KERBEROS, **TOKENS})
    assert get_variables(driver)["HADOOP_TOKEN_FILE_LOCATION"] == "/mnt/secrets/hadoop-credentials/item"


def test_former_names_of_keys_are_supported() -> None:
    driver = build(conf={"spark.yarn.driver.memoryOverhead": "1g"})
    assert driver.pod["spec"]["containers"][-1]["resources"]["limits"]["memory"] == "2048Mi"
    both = build(conf={"spark.yarn.driver.memoryOverhead": "1g", "spark.driver.memoryOverhead": "2g"})
    assert both.pod["spec"]["containers"][-1]["resources"]["limits"]["memory"] == "3072Mi"
    properties = build(conf={"spark.yarn.keytab": "local:///k", "spark.yarn.principal": "me"}).properties
    assert properties["spark.kerberos.keytab"] == "local:///k"
    assert properties["spark.kerberos.principal"] == "me"


def test_alias_is_kept_for_archives_only() -> None:
    driver = build("--archives", "/a.zip#env", "--files", "/a%20b.txt#x")
    assert [each.source for each in driver.uploads] == ["/a b.txt", "/a.zip"]
    assert driver.properties["spark.archives"].endswith("/a.zip#env")
    assert driver.properties["spark.files"].endswith("/a b.txt")


def test_pattern_without_matches_is_dropped() -> None:
    assert build_inputs("--jars", "/none*.jar,local:///b.jar", expand=lambda _: []).conf["spark.jars"] == (
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
def test_input_that_spark_submit_refuses_is_refused_with_its_field(
    words: tuple[str, ...], given: dict[str, Any], field: str
) -> None:
    assert get_refused_field(*words, **given) == field


def test_infinite_factor_is_limited_to_32_bits() -> None:
    limits = build(conf={"spark.driver.memoryOverheadFactor": "Infinity"}).pod["spec"]["containers"][-1]["resources"]
    assert limits["limits"]["memory"] == f"{1024 + (1 << 31) - 1}Mi"
