import pytest

from airflow_provider_spark_operator.core.validation.application import validate_application
from airflow_provider_spark_operator.core.validation.configuration import format_conf_path
from tests.builders import build_application_document

DYNAMIC = {"spark.dynamicAllocation.enabled": "TRUE"}


def find_problems(conf: dict[str, str]) -> list[tuple[str, str]]:
    return [(each.path, each.message) for each in validate_application(build_application_document(conf=conf))]


@pytest.mark.parametrize(
    ("conf", "key", "expected"),
    [
        ({"spark.driver.memory": "1gigs"}, "spark.driver.memory", "invalid memory size"),
        ({"spark.executor.memory": "1gigs"}, "spark.executor.memory", "invalid memory size"),
        ({"spark.executor.memory": "0g"}, "spark.executor.memory", "must be greater than 0"),
        ({"spark.driver.memoryOverhead": "much"}, "spark.driver.memoryOverhead", "invalid memory size"),
        ({"spark.executor.pyspark.memory": "1.5g"}, "spark.executor.pyspark.memory", "invalid memory size"),
        ({"spark.driver.cores": "two"}, "spark.driver.cores", "must be an integer, but is 'two'"),
        ({"spark.executor.cores": "0"}, "spark.executor.cores", "must be at least 1, but is 0"),
        (
            {"spark.executor.instances": "0"},
            "spark.executor.instances",
            "must be at least 1, but is 0. Set spark.dynamicAllocation.enabled to allow 0",
        ),
        ({"spark.executor.instances": "-2"} | DYNAMIC, "spark.executor.instances", "must be at least 0, but is -2"),
        ({"spark.executor.instances": "2000000000"}, "spark.executor.instances", "use at most 150000"),
        (
            {"spark.dynamicAllocation.minExecutors": "3", "spark.dynamicAllocation.maxExecutors": "2"} | DYNAMIC,
            "spark.dynamicAllocation.minExecutors",
            "is 3, more than spark.dynamicAllocation.maxExecutors (2)",
        ),
        (
            {"spark.dynamicAllocation.initialExecutors": "3", "spark.dynamicAllocation.maxExecutors": "2"} | DYNAMIC,
            "spark.dynamicAllocation.initialExecutors",
            "is 3, more than spark.dynamicAllocation.maxExecutors (2)",
        ),
        (
            {"spark.dynamicAllocation.maxExecutors": "many"} | DYNAMIC,
            "spark.dynamicAllocation.maxExecutors",
            "must be an integer, but is 'many'",
        ),
        (
            {"spark.dynamicAllocation.minExecutors": "-1", "spark.dynamicAllocation.maxExecutors": "2"} | DYNAMIC,
            "spark.dynamicAllocation.minExecutors",
            "must not be negative, but is -1",
        ),
        (
            {"spark.kubernetes.container.image": "a b:c"},
            "spark.kubernetes.container.image",
            "white space, but is 'a b:c'",
        ),
        (
            {"spark.kubernetes.executor.container.image": "spark:4\n"},
            "spark.kubernetes.executor.container.image",
            "must not contain white space",
        ),
        (
            {"spark.dynamicAllocation.enabled": "yes"},
            "spark.dynamicAllocation.enabled",
            "must be true or false, but is 'yes'",
        ),
        ({"spark.network.timeout": "12 parsecs"}, "spark.network.timeout", "such as 120s, but is '12 parsecs'"),
        ({"spark.network.timeout": "1.5h"}, "spark.network.timeout", "must be an integer with a unit"),
    ],
)
def test_value_that_spark_rejects_is_an_error(conf: dict[str, str], key: str, expected: str) -> None:
    ((path, message),) = find_problems(conf)
    assert path == format_conf_path(key) == f"spec.sparkConf['{key}']"
    assert expected in message


def test_archive_that_executors_do_not_unpack_is_a_warning() -> None:
    conf = {"spark.archives": "s3a://a/b.zip, local:///data/env.tar.gz#env,local:///c.zip"}
    (problem,) = validate_application(build_application_document(conf=conf))
    message = "only the driver unpacks local:///data/env.tar.gz#env. If executors need the archive, use a URL"
    assert str(problem).startswith(f"spec.sparkConf['spark.archives']: {message}")
    assert not problem.is_error


@pytest.mark.parametrize(
    "conf",
    [
        {"spark.archives": "s3a://a/b.zip#env"},
        {"spark.driver.memory": "1g", "spark.executor.memory": "512m", "spark.executor.memoryOverhead": "384"},
        {"spark.driver.memory": "${spark.my.memory}", "spark.my.memory": "1g"},
        {"spark.executor.instances": "0"} | DYNAMIC,
        {"spark.dynamicAllocation.minExecutors": "3", "spark.dynamicAllocation.maxExecutors": "2"},
        {"spark.dynamicAllocation.minExecutors": "3"} | DYNAMIC,
        {"spark.kubernetes.container.image": "registry:5000/team/spark:{{SPARK_VERSION}}"},
        {"spark.ui.enabled": " False ", "spark.eventLog.enabled": "${spark.my.switch}", "spark.my.switch": "true"},
        {"spark.network.timeout": "120", "spark.locality.wait": " 3S ", "spark.rpc.askTimeout": "2min"},
        {"spark.dynamicAllocation.minExecutors": "0", "spark.dynamicAllocation.maxExecutors": "2147483647"} | DYNAMIC,
    ],
)
def test_value_that_spark_accepts_has_no_problem(conf: dict[str, str]) -> None:
    assert find_problems(conf) == []
