"""The spec of a SparkApplication of spark.apache.org; more of it is tested with its composition."""

from airflow_provider_spark_operator.core.dialects.dialect import APACHE

DOCUMENT = {"spec": {"sparkConf": {"spark.driver.memory": "2g", "spark.executor.memory": 3, "spark.x": "y"}}}


def test_memory_is_read_from_the_properties() -> None:
    assert APACHE.read_memory(DOCUMENT) == {"spark.driver.memory": "2g"}


def test_memory_is_written_to_the_properties() -> None:
    made = APACHE.write_memory(DOCUMENT, {"spark.driver.memory": "4g"})
    assert made["spec"]["sparkConf"] == DOCUMENT["spec"]["sparkConf"] | {"spark.driver.memory": "4g"}
    assert APACHE.write_memory(DOCUMENT, {}) is DOCUMENT


def test_time_to_live_is_changed_by_a_patch() -> None:
    assert APACHE.patch_ttl
    assert APACHE.patch_ttl(5) == {"spec": {"applicationTolerations": {"ttlAfterStopMillis": 5000}}}
