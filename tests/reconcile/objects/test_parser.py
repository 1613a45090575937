from typing import Any

import pytest

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.kubernetes.problems import InvalidResource
from airflow_provider_spark_operator.core.models.parse import parse_application
from airflow_provider_spark_operator.reconcile.objects import parser
from airflow_provider_spark_operator.reconcile.objects.parser import ApplicationParser
from tests.reconcile.harness import build_application


def build_resource(name: str = "pi", generation: int | None = 1, uid: str = "u", **spec: Any) -> JsonObject:
    document = build_application(name, **spec)
    document["metadata"] |= {"uid": uid, "namespace": "jobs"}
    if generation is not None:
        document["metadata"]["generation"] = generation
    return document


def test_spec_of_the_same_generation_is_parsed_once() -> None:
    application_parser = ApplicationParser()
    first = application_parser.parse(build_resource())
    again = application_parser.parse({**build_resource(), "status": None})
    assert again.spec is first.spec
    assert again == parse_application(build_resource())


def test_metadata_and_status_are_parsed_each_time() -> None:
    application_parser = ApplicationParser()
    application_parser.parse(build_resource())
    document = build_resource()
    document["metadata"]["finalizers"] = ["theirs"]
    assert application_parser.parse(document).finalizers == parse_application(document).finalizers == ("theirs",)


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(build_resource(generation=2, mainClass="Other"), id="edited"),
        pytest.param(build_resource(uid="v", mainClass="Other"), id="new uid"),
        pytest.param(build_resource(generation=None, mainClass="Other"), id="no generation"),
    ],
)
def test_changed_spec_is_parsed_again(changed: JsonObject) -> None:
    application_parser = ApplicationParser()
    application_parser.parse(build_resource())
    assert application_parser.parse(changed).spec.main_class == "Other"


def test_large_application_is_not_kept() -> None:
    application_parser = ApplicationParser()
    first, again = (application_parser.parse(build_resource(driverArgs=["x" * 40_000])) for _ in range(2))
    assert again == first
    assert again.spec is not first.spec


def test_invalid_spec_is_rejected_each_time() -> None:
    application_parser = ApplicationParser()
    broken = build_resource(driverArgs=5)
    for _ in range(2):
        with pytest.raises(InvalidResource, match="driverArgs"):
            application_parser.parse(broken)


def test_least_recently_used_specs_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser, "_MAX_APPLICATIONS", 2)
    application_parser = ApplicationParser()
    specs = {uid: application_parser.parse(build_resource(uid=uid)).spec for uid in "abc"}
    cached = [uid for uid in "cba" if application_parser.parse(build_resource(uid=uid)).spec is specs[uid]]
    assert cached == ["c", "b"]
