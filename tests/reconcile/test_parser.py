from typing import Any

import pytest

from airflow_provider_spark_operator.core.models.parse import parse_application
from airflow_provider_spark_operator.core.problems import InvalidResource
from airflow_provider_spark_operator.reconcile import parser
from airflow_provider_spark_operator.reconcile.cache import JsonObject
from airflow_provider_spark_operator.reconcile.parser import ApplicationParser
from tests.reconcile.stage import application


def stored(name: str = "pi", generation: int | None = 1, uid: str = "u", **spec: Any) -> JsonObject:
    document = application(name, **spec)
    document["metadata"] |= {"uid": uid, "namespace": "jobs"}
    if generation is not None:
        document["metadata"]["generation"] = generation
    return document


def test_a_spec_is_not_read_again_while_its_generation_is_the_same() -> None:
    application_parser = ApplicationParser()
    first = application_parser.parse(stored())
    again = application_parser.parse({**stored(), "status": None})
    assert again.spec is first.spec
    assert again == parse_application(stored())


def test_metadata_and_status_are_read_anew() -> None:
    application_parser = ApplicationParser()
    application_parser.parse(stored())
    document = stored()
    document["metadata"]["finalizers"] = ["theirs"]
    assert application_parser.parse(document).finalizers == parse_application(document).finalizers == ("theirs",)


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(stored(generation=2, mainClass="Other"), id="edited"),
        pytest.param(stored(uid="v", mainClass="Other"), id="created again under its name"),
        pytest.param(stored(generation=None, mainClass="Other"), id="of an API that counts no generations"),
    ],
)
def test_a_changed_spec_is_read(changed: JsonObject) -> None:
    application_parser = ApplicationParser()
    application_parser.parse(stored())
    assert application_parser.parse(changed).spec.main_class == "Other"


def test_what_cannot_be_read_is_refused_each_time() -> None:
    application_parser = ApplicationParser()
    broken = stored(driverArgs=5)
    for _ in range(2):
        with pytest.raises(InvalidResource, match="driverArgs"):
            application_parser.parse(broken)


def test_specs_of_those_that_were_not_read_for_long_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser, "_MAX_SPECS", 2)
    application_parser = ApplicationParser()
    specs = {uid: application_parser.parse(stored(uid=uid)).spec for uid in "abc"}
    kept = [uid for uid in "cba" if application_parser.parse(stored(uid=uid)).spec is specs[uid]]
    assert kept == ["c", "b"]
