import json
from collections.abc import Iterator
from typing import Any

import pytest

from airflow_provider_spark_operator.core.models.application import SparkApplicationSpec
from airflow_provider_spark_operator.core.states import ApplicationState
from airflow_provider_spark_operator.crds import custom_resource_definitions
from airflow_provider_spark_operator.crds.schema import at

TOLERATIONS = "spec.applicationTolerations"


def definition_of(kind: str) -> dict[str, Any]:
    (definition,) = (each for each in custom_resource_definitions() if each["spec"]["names"]["kind"] == kind)
    return definition


@pytest.fixture
def definition() -> dict[str, Any]:
    return definition_of("SparkApplication")


@pytest.fixture
def schema(definition: dict[str, Any]) -> dict[str, Any]:
    schema: dict[str, Any] = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def parts(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield schema
    for part in (*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")):
        if part is not None:
            yield from parts(part)


def test_one_schema_is_served_in_three_versions_and_stored_in_v1(definition: dict[str, Any]) -> None:
    versions = definition["spec"]["versions"]
    assert [(each["name"], each["served"], each["storage"]) for each in versions] == [
        ("v1", True, True),
        ("v1beta1", True, False),
        ("v1alpha1", True, False),
    ]
    assert all(each["schema"] == versions[0]["schema"] for each in versions)
    assert all(each["subresources"] == {"status": {}} for each in versions)


def test_the_names_are_the_apache_operators(definition: dict[str, Any]) -> None:
    assert definition["metadata"]["name"] == "sparkapplications.spark.apache.org"
    assert definition["spec"]["names"]["shortNames"] == ["sparkapp"]
    assert definition["spec"]["scope"] == "Namespaced"


def test_the_schema_is_structural(schema: dict[str, Any]) -> None:
    allowed = {
        "type",
        "description",
        "properties",
        "required",
        "items",
        "additionalProperties",
        "enum",
        "format",
        "default",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-validations",
    }
    for part in parts(schema):
        assert set(part) <= allowed
        assert part["type"] in {"object", "array", "string", "integer", "boolean"}
        assert not ("properties" in part and "additionalProperties" in part)


def test_every_field_of_the_model_is_in_the_schema(schema: dict[str, Any]) -> None:
    aliases = {field.alias for field in SparkApplicationSpec.model_fields.values()}
    assert set(at(schema, "spec")["properties"]) == aliases


def test_only_what_the_apache_operator_needs_is_required(schema: dict[str, Any]) -> None:
    required = {}
    for path in ("spec", "spec.runtimeVersions", "spec.applicationTolerations", "status", "status.currentState"):
        required[path] = at(schema, path).get("required")
    assert schema.get("required") is None
    assert required == {
        "spec": ["runtimeVersions"],
        "spec.runtimeVersions": ["sparkVersion"],
        "spec.applicationTolerations": None,
        "status": None,
        "status.currentState": None,
    }
    assert at(schema, "spec.configMapSpecs")["items"]["required"] == ["name"]


def test_defaults_are_the_apache_operators_and_no_others(schema: dict[str, Any]) -> None:
    assert at(schema, f"{TOLERATIONS}.ttlAfterStopMillis")["default"] == -1
    assert at(schema, f"{TOLERATIONS}.resourceRetainDurationMillis")["default"] == -1
    assert at(schema, f"{TOLERATIONS}.restartConfig.restartCounterResetMillis")["default"] == -1
    assert sum("default" in part for part in parts(schema)) == 3


def test_state_words_are_enumerated(schema: dict[str, Any]) -> None:
    history = at(schema, "status.stateTransitionHistory")["additionalProperties"]
    assert history["properties"]["currentStateSummary"]["enum"] == sorted(ApplicationState)


def test_kubernetes_own_types_keep_all_their_fields(schema: dict[str, Any]) -> None:
    for path in ("spec.driverSpec.podTemplateSpec", "status.currentState.lastObservedDriverStatus"):
        part = at(schema, path)
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
def test_an_entry_of_a_way_to_the_driver_has_four_open_parts(
    schema: dict[str, Any], path: str, names: tuple[str, str]
) -> None:
    entry = at(schema, f"spec.{path}")["items"]
    assert entry["required"] == sorted(["serviceMetadata", "serviceSpec", names[0]])
    assert set(entry["properties"]) == {"serviceMetadata", "serviceSpec", *names}
    assert all(part["x-kubernetes-preserve-unknown-fields"] for part in entry["properties"].values())


def test_numbers_have_64_bits(schema: dict[str, Any]) -> None:
    assert {part["format"] for part in parts(schema) if part["type"] == "integer"} == {"int64"}


def test_every_call_returns_documents_of_its_own(definition: dict[str, Any]) -> None:
    definition["spec"]["versions"].clear()
    assert len(definition_of("SparkApplication")["spec"]["versions"]) == 3


def test_a_path_that_is_not_there_is_an_error(schema: dict[str, Any]) -> None:
    with pytest.raises(KeyError):
        at(schema, "spec.nothing")


@pytest.mark.parametrize("kind", ["SparkApplication", "SparkCluster"])
def test_every_field_is_described_for_kubectl_explain(kind: str) -> None:
    schema = definition_of(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    described = [
        schema,
        *(part for path, part in named_fields(schema) if path not in {"apiVersion", "kind", "metadata"}),
    ]
    assert [part for part in described if not part.get("description", "").endswith((".", ")"))] == []


def named_fields(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """The fields that have a name of their own; entries of lists and maps are described by their field."""
    for name, part in schema.get("properties", {}).items():
        yield f"{path}{name}", part
        yield from named_fields(part, f"{path}{name}.")
    for part in (schema.get("items"), schema.get("additionalProperties")):
        if part is not None:
            yield from named_fields(part, f"{path}[].")


@pytest.mark.parametrize("kind", ["SparkApplication", "SparkCluster"])
def test_a_definition_fits_into_the_annotation_of_kubectl_apply(kind: str) -> None:
    assert len(json.dumps(definition_of(kind)).encode()) < 262_144 // 2


def test_a_description_says_meaning_unit_and_default(schema: dict[str, Any]) -> None:
    described = at(schema, f"{TOLERATIONS}.applicationTimeoutConfig.driverStartTimeoutMillis")["description"]
    assert described == (
        "Time in milliseconds that the driver container may take to start after it was requested. "
        "0 disables the limit. Default: 300000."
    )


def test_the_outcome_is_a_column(definition: dict[str, Any]) -> None:
    for version in definition["spec"]["versions"]:
        names = [column["name"] for column in version["additionalPrinterColumns"]]
        assert names == ["Current State", "Outcome", "Attempt", "Age"]
