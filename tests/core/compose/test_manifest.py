from typing import Any

import pytest

from airflow_provider_spark_operator.core.compose.manifest import rename_derived_objects

LONG = "a" * 50


def build(name: object, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": spec}


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("spark.kubernetes.executor.podNamePrefix", "pi", "pi-2"),
        ("spark.kubernetes.driver.pod.name", "pi-driver", "pi-2-driver"),
        ("spark.app.name", "pipeline", "pipeline"),
        ("spark.sql.catalog", "pi", "pi"),
    ],
)
def test_property_is_renamed_if_it_names_pods_after_the_application(key: str, value: str, expected: str) -> None:
    renamed = rename_derived_objects(build("pi", sparkConf={key: value}), "pi-2")
    assert renamed["spec"]["sparkConf"] == {key: expected}


def test_config_map_is_renamed_with_its_references_if_its_name_begins_with_that_of_the_application() -> None:
    volumes = [{"configMap": {"name": "pi-files-1"}}, {"configMap": {"name": "shared"}}]
    maps = [{"name": "pi-files-1", "data": {"a": "pi"}}, {"name": "shared"}]
    document = build("pi", configMapSpecs=maps, driverSpec={"volumes": volumes})
    renamed = rename_derived_objects(document, "pi-2")["spec"]
    first, second = (each["name"] for each in renamed["configMapSpecs"])
    assert first.startswith("pi-2-files-")
    assert second == "shared"
    assert renamed["driverSpec"]["volumes"] == [{"configMap": {"name": first}}, {"configMap": {"name": "shared"}}]
    assert renamed["configMapSpecs"][0]["data"] == {"a": "pi"}
    assert document["spec"]["driverSpec"]["volumes"] == volumes


def test_long_names_with_the_same_beginning_get_different_config_maps() -> None:
    document = build(f"{LONG}-1", configMapSpecs=[{"name": f"{LONG[:46]}-files-1"}])
    names = {
        rename_derived_objects(document, f"{LONG}-{number}")["spec"]["configMapSpecs"][0]["name"]
        for number in range(1, 4)
    }
    assert len(names) == 3


@pytest.mark.parametrize(
    "document", [{}, build("pi"), build(None, sparkConf={}), {"metadata": {"name": "x"}, "spec": 7}]
)
def test_manifest_without_derived_names_stays_unchanged(document: dict[str, Any]) -> None:
    assert rename_derived_objects(document, "pi") == document
    assert rename_derived_objects(build("x", jars="a"), "pi") == build("x", jars="a")
