import json
from collections.abc import Iterator
from typing import Any

import pytest

from airflow_provider_spark_operator.core.models.application import SparkApplicationSpec
from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.crds import build_custom_resource_definitions
from airflow_provider_spark_operator.crds.definitions import find_part

TOLERATIONS = "spec.applicationTolerations"


def build_definition(kind: str) -> dict[str, Any]:
    (definition,) = (each for each in build_custom_resource_definitions() if each["spec"]["names"]["kind"] == kind)
    return definition


@pytest.fixture
def definition() -> dict[str, Any]:
    return build_definition("SparkApplication")


@pytest.fixture
def schema(definition: dict[str, Any]) -> dict[str, Any]:
    schema: dict[str, Any] = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def iterate_parts(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield schema
    for part in (*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")):
        if part is not None:
            yield from iterate_parts(part)


def test_all_versions_share_one_schema_and_v1_is_stored(definition: dict[str, Any]) -> None:
    versions = definition["spec"]["versions"]
    assert [(each["name"], each["served"], each["storage"]) for each in versions] == [
        ("v1", True, True),
        ("v1beta1", True, False),
        ("v1alpha1", True, False),
    ]
    assert all(each["schema"] == versions[0]["schema"] for each in versions)
    assert all(each["subresources"] == {"status": {}} for each in versions)


@pytest.mark.parametrize("kind", ["SparkApplication", "SparkCluster"])
def test_every_version_except_v1_is_deprecated(kind: str) -> None:
    versions = build_definition(kind)["spec"]["versions"]
    assert {each["name"]: each.get("deprecationWarning") for each in versions if each.get("deprecated")} == {
        name: f"spark.apache.org/{name} {kind} is deprecated; use spark.apache.org/v1 {kind}"
        for name in ("v1beta1", "v1alpha1")
    }


def test_names_equal_those_of_the_apache_operator(definition: dict[str, Any]) -> None:
    assert definition["metadata"]["name"] == "sparkapplications.spark.apache.org"
    assert definition["spec"]["names"]["shortNames"] == ["sparkapp"]
    assert definition["spec"]["scope"] == "Namespaced"


def test_schema_is_structural(schema: dict[str, Any]) -> None:
    allowed = {
        "type",
        "description",
        "properties",
        "required",
        "items",
        "additionalProperties",
        "enum",
        "format",
        "nullable",
        "default",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-validations",
    }
    for part in iterate_parts(schema):
        assert set(part) <= allowed
        assert part["type"] in {"object", "array", "string", "integer", "boolean"}
        assert not ("properties" in part and "additionalProperties" in part)


def test_schema_has_every_field_of_the_model(schema: dict[str, Any]) -> None:
    aliases = {field.alias for field in SparkApplicationSpec.model_fields.values()}
    assert set(find_part(schema, "spec")["properties"]) == aliases


def test_required_fields_equal_those_of_the_apache_operator(schema: dict[str, Any]) -> None:
    required = {}
    for path in ("spec", "spec.runtimeVersions", "spec.applicationTolerations", "status", "status.currentState"):
        required[path] = find_part(schema, path).get("required")
    assert schema.get("required") is None
    assert required == {
        "spec": ["runtimeVersions"],
        "spec.runtimeVersions": ["sparkVersion"],
        "spec.applicationTolerations": None,
        "status": None,
        "status.currentState": None,
    }
    assert find_part(schema, "spec.configMapSpecs")["items"]["required"] == ["name"]


def test_defaults_equal_those_of_the_apache_operator(schema: dict[str, Any]) -> None:
    assert find_part(schema, f"{TOLERATIONS}.ttlAfterStopMillis")["default"] == -1
    assert find_part(schema, f"{TOLERATIONS}.resourceRetainDurationMillis")["default"] == -1
    assert find_part(schema, f"{TOLERATIONS}.restartConfig.restartCounterResetMillis")["default"] == -1
    assert find_part(schema, "spec.suspend")["default"] is False
    assert sum("default" in part for part in iterate_parts(schema)) == 4


def test_state_is_an_enumeration(schema: dict[str, Any]) -> None:
    history = find_part(schema, "status.stateTransitionHistory")["additionalProperties"]
    assert history["properties"]["currentStateSummary"]["enum"] == sorted(ApplicationState)


def test_kubernetes_types_preserve_unknown_fields(schema: dict[str, Any]) -> None:
    for path in ("spec.driverSpec.podTemplateSpec", "status.currentState.lastObservedDriverStatus"):
        part = find_part(schema, path)
        assert part["x-kubernetes-preserve-unknown-fields"] is True
        assert "properties" not in part


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("driverServiceIngressList", ("ingressMetadata", "ingressSpec")),
        ("driverHttpRouteList", ("httpRouteMetadata", "httpRouteSpec")),
        ("driverGrpcRouteList", ("grpcRouteMetadata", "grpcRouteSpec")),
    ],
)
def test_driver_route_entry_preserves_unknown_fields_in_its_parts(
    schema: dict[str, Any], path: str, names: tuple[str, str]
) -> None:
    entry = find_part(schema, f"spec.{path}")["items"]
    assert entry["required"] == sorted(["serviceMetadata", "serviceSpec", names[0]])
    assert set(entry["properties"]) == {"serviceMetadata", "serviceSpec", *names}
    assert all(part["x-kubernetes-preserve-unknown-fields"] for part in entry["properties"].values())


def test_integers_have_64_bits(schema: dict[str, Any]) -> None:
    assert {part["format"] for part in iterate_parts(schema) if part["type"] == "integer"} == {"int64"}


def test_each_call_returns_new_documents(definition: dict[str, Any]) -> None:
    definition["spec"]["versions"].clear()
    assert len(build_definition("SparkApplication")["spec"]["versions"]) == 3


def test_unknown_path_raises_key_error(schema: dict[str, Any]) -> None:
    with pytest.raises(KeyError):
        find_part(schema, "spec.nothing")


@pytest.mark.parametrize("kind", ["SparkApplication", "SparkCluster"])
def test_every_field_has_a_description(kind: str) -> None:
    schema = build_definition(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    described = [
        schema,
        *(part for path, part in list_named_fields(schema) if path not in {"apiVersion", "kind", "metadata"}),
    ]
    assert [part for part in described if not part.get("description", "").endswith((".", ")"))] == []


def list_named_fields(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the named fields and their schemas. The field describes the entries of its list or map."""
    for name, part in schema.get("properties", {}).items():
        yield f"{path}{name}", part
        yield from list_named_fields(part, f"{path}{name}.")
    for part in (schema.get("items"), schema.get("additionalProperties")):
        if part is not None:
            yield from list_named_fields(part, f"{path}[].")


@pytest.mark.parametrize("kind", ["SparkApplication", "SparkCluster"])
def test_definition_fits_into_the_kubectl_apply_annotation(kind: str) -> None:
    assert len(json.dumps(build_definition(kind)).encode()) < 262_144 // 2


def test_description_has_meaning_unit_and_default(schema: dict[str, Any]) -> None:
    described = find_part(schema, f"{TOLERATIONS}.applicationTimeoutConfig.driverStartTimeoutMillis")["description"]
    assert described == (
        "Time in milliseconds that the driver container may take to start after it was requested. "
        "0 disables the limit. Default: 300000."
    )


def test_outcome_is_a_printer_column(definition: dict[str, Any]) -> None:
    for version in definition["spec"]["versions"]:
        names = [column["name"] for column in version["additionalPrinterColumns"]]
        assert names == ["Current State", "Outcome", "Attempt", "Age"]
