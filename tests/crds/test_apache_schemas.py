"""The project's CRDs accept every document that the CRDs of the Apache operator accept."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_spark_operator.crds import build_custom_resource_definitions

FOLDER = Path(__file__).parents[1] / "golden" / "apache_operator" / "schemas"
OURS = {definition["spec"]["names"]["plural"]: definition for definition in build_custom_resource_definitions()}
THEIRS: dict[str, dict[str, dict[str, Any]]] = {path.stem: json.loads(path.read_text()) for path in FOLDER.iterdir()}
KINDS = sorted(THEIRS)
FIELDS = [pytest.param(kind, path, id=f"{kind} {path}") for kind in KINDS for path in THEIRS[kind]]
OF_OUR_OWN = {
    "sparkapplications": {"apiVersion", "kind", "metadata", "status.outcome"},
    "sparkclusters": {"apiVersion", "kind", "metadata", "status.observedGeneration"},
}
POLICY = "spec.workerSpec.networkPolicy"
# The schemas were recorded before the release 1.1.0, which has these fields as well.
SINCE_1_1_0: dict[str, dict[str, dict[str, Any]]] = {
    "sparkapplications": {"spec.suspend": {"type": "boolean", "default": False}},
    "sparkclusters": {
        "spec.suspend": {"type": "boolean", "default": False},
        POLICY: {"type": "object", "required": ["metricsIngress", "metricsPort"]},
        f"{POLICY}.metricsPort": {"type": "integer", "minimum": 1, "maximum": 65535},
        f"{POLICY}.metricsIngress": {"type": "array"},
        f"{POLICY}.metricsIngress[]": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}


def iterate_parts(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    yield path, schema
    for name, part in schema.get("properties", {}).items():
        yield from iterate_parts(part, f"{path}.{name}".removeprefix("."))
    if "items" in schema:
        yield from iterate_parts(schema["items"], f"{path}[]")
    if "additionalProperties" in schema:
        yield from iterate_parts(schema["additionalProperties"], f"{path}{{}}")


def list_fields(kind: str) -> dict[str, dict[str, Any]]:
    return dict(iterate_parts(OURS[kind]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]))


@pytest.fixture(scope="module")
def ours() -> dict[str, dict[str, dict[str, Any]]]:
    return {kind: list_fields(kind) for kind in KINDS}


@pytest.mark.parametrize(("kind", "path"), FIELDS)
def test_field_accepts_every_value_of_the_apache_field(ours: Any, kind: str, path: str) -> None:
    their, our = THEIRS[kind][path], ours[kind][path]
    assert our["type"] == their["type"]
    added = {"Suspended"} if path.endswith(".currentStateSummary") else set()
    assert our.get("enum") == (sorted({*their["enum"], *added}) if "enum" in their else None)
    assert our.get("default") == their.get("default")
    assert our.get("x-kubernetes-preserve-unknown-fields", False) == their.get("open", False)
    assert set(our.get("required", ())) <= set(their.get("required", ()))


@pytest.mark.parametrize("kind", KINDS)
def test_additional_fields_are_the_documented_ones(ours: Any, kind: str) -> None:
    own = OF_OUR_OWN[kind] | SINCE_1_1_0[kind].keys()
    more = {
        path for path in ours[kind].keys() - THEIRS[kind].keys() if not path.endswith((".reason", ".suspendReason"))
    }
    assert more == own


@pytest.mark.parametrize("kind", KINDS)
def test_fields_of_release_1_1_0_have_its_types_defaults_and_limits(ours: Any, kind: str) -> None:
    for path, expected in SINCE_1_1_0[kind].items():
        keywords = ("default", "maximum", "minimum", "required", "type", "x-kubernetes-preserve-unknown-fields")
        assert {name: ours[kind][path][name] for name in keywords if name in ours[kind][path]} == expected
