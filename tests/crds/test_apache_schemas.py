"""Our CRDs accept every document that the CRDs of the Apache operator accept."""

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
OF_OUR_OWN = {"apiVersion", "kind", "metadata", "spec.suspend", "status.outcome"}


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
    assert our.get("enum") == (sorted(their["enum"]) if "enum" in their else None)
    assert our.get("default") == their.get("default")
    assert our.get("x-kubernetes-preserve-unknown-fields", False) == their.get("open", False)
    assert set(our.get("required", ())) <= set(their.get("required", ()))


@pytest.mark.parametrize("kind", KINDS)
def test_additional_fields_are_the_documented_ones(ours: Any, kind: str) -> None:
    own = OF_OUR_OWN if kind == "sparkapplications" else OF_OUR_OWN - {"spec.suspend", "status.outcome"}
    more = {path for path in ours[kind].keys() - THEIRS[kind].keys() if not path.endswith(".reason")}
    assert more == own
