import pytest

from airflow_provider_spark_operator.core.models.parse import parse_application
from airflow_provider_spark_operator.core.problems import InvalidResource
from airflow_provider_spark_operator.reconcile import reading
from airflow_provider_spark_operator.reconcile.cache import JsonObject
from airflow_provider_spark_operator.reconcile.reading import ApplicationReader
from tests.reconcile.stage import application


def stored(name: str = "pi", generation: int | None = 1, uid: str = "u", **spec: object) -> JsonObject:
    document = application(name, **spec)
    document["metadata"] |= {"uid": uid, "namespace": "jobs"}
    if generation is not None:
        document["metadata"]["generation"] = generation
    return document


def test_a_spec_is_not_read_again_while_its_generation_is_the_same() -> None:
    reader = ApplicationReader()
    first = reader.read(stored())
    again = reader.read({**stored(), "status": None})
    assert again.spec is first.spec
    assert again == parse_application(stored())


def test_metadata_and_status_are_read_anew() -> None:
    reader = ApplicationReader()
    reader.read(stored())
    document = stored()
    document["metadata"]["finalizers"] = ["theirs"]
    assert reader.read(document).finalizers == parse_application(document).finalizers == ("theirs",)


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(stored(generation=2, mainClass="Other"), id="edited"),
        pytest.param(stored(uid="v", mainClass="Other"), id="created again under its name"),
        pytest.param(stored(generation=None, mainClass="Other"), id="of an API that counts no generations"),
    ],
)
def test_a_changed_spec_is_read(changed: JsonObject) -> None:
    reader = ApplicationReader()
    reader.read(stored())
    assert reader.read(changed).spec.main_class == "Other"


def test_what_cannot_be_read_is_refused_each_time() -> None:
    reader = ApplicationReader()
    broken = stored(driverArgs=5)
    for _ in range(2):
        with pytest.raises(InvalidResource, match="driverArgs"):
            reader.read(broken)


def test_specs_of_those_that_were_not_read_for_long_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_MOST_SPECS", 2)
    reader = ApplicationReader()
    specs = {uid: reader.read(stored(uid=uid)).spec for uid in "abc"}
    kept = [uid for uid in "cba" if reader.read(stored(uid=uid)).spec is specs[uid]]
    assert kept == ["c", "b"]
