import copy
from typing import Any

import pytest

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.reconcile.loop.informer import Caches
from airflow_provider_spark_operator.reconcile.objects.cache import (
    ObjectCache,
    ObjectKey,
    key_of,
    pack_pod,
    trim_pod,
    unpack,
)
from tests.builders import build_driver_pod

A = ObjectKey("ns", "a")


def build_document(
    name: str = "a", version: str = "5", *, namespace: str = "ns", uid: str = "u", **more: Any
) -> JsonObject:
    metadata = {"name": name, "namespace": namespace, "uid": uid, "resourceVersion": version, **more}
    return {"metadata": metadata}


def find_owner(of: JsonObject) -> ObjectKey | None:
    name = of["metadata"].get("labels", {}).get("app")
    return ObjectKey(of["metadata"]["namespace"], name) if name else None


@pytest.fixture(params=[None, 0, 1], ids=["documents", "JSON", "both"])
def cache(request: pytest.FixtureRequest) -> ObjectCache:
    return ObjectCache(find_owner, most_parsed=request.param)


def version_of(cache: ObjectCache, key: ObjectKey = A) -> str | None:
    known = cache.get(key)
    return known["metadata"]["resourceVersion"] if known else None


def test_key_is_formatted_as_namespace_and_name() -> None:
    assert str(A) == "ns/a"
    assert key_of({"metadata": {"name": "a", "namespace": "ns"}}) == A


@pytest.mark.parametrize(
    ("then", "newest"),
    [
        pytest.param("6", "6", id="newer"),
        pytest.param("4", "5", id="older"),
        pytest.param("10", "10", id="newer by number"),
        pytest.param("opaque", "opaque", id="not a number"),
    ],
)
def test_cache_keeps_the_newest_state(cache: ObjectCache, then: str, newest: str) -> None:
    cache.put(build_document())
    assert cache.put(build_document(version=then)) is (newest == then)
    assert version_of(cache) == newest


def test_number_after_a_version_that_is_not_a_number_counts_as_newer(cache: ObjectCache) -> None:
    cache.put(build_document(version="opaque"))
    assert cache.put(build_document(version="1"))
    assert version_of(cache) == "1"


def test_put_returns_false_for_an_unchanged_object(cache: ObjectCache) -> None:
    assert cache.put(build_document())
    assert not cache.put(build_document())


def test_cache_drops_managed_fields_of_an_answer(cache: ObjectCache) -> None:
    cache.put_answer(build_document(managedFields=[{}]))
    known = cache.get(A)
    assert known is not None
    assert "managedFields" not in known["metadata"]


def test_cache_returns_the_answer_to_a_write_before_its_watch_event(cache: ObjectCache) -> None:
    cache.put(build_document(version="5"))
    assert cache.put_answer(build_document(version="7"))
    assert not cache.put(build_document(version="6"))
    assert version_of(cache) == "7"


@pytest.mark.parametrize("answered", ["7", "8"], ids=["older", "the deletion itself"])
def test_answer_not_newer_than_the_deletion_is_not_stored(cache: ObjectCache, answered: str) -> None:
    cache.put(build_document(version="5"))
    cache.remove(build_document(version="8"))
    assert not cache.put_answer(build_document(version=answered))
    assert cache.get(A) is None


def test_answer_older_than_a_list_without_its_object_is_not_stored(cache: ObjectCache) -> None:
    cache.put(build_document(version="5"))
    list(cache.replace("ns", [build_document("other", "9"), build_document("third", "6")]))
    assert not cache.put_answer(build_document(version="7"))
    assert cache.get(A) is None


def test_answer_for_a_known_object_is_stored_after_events_of_other_objects(cache: ObjectCache) -> None:
    cache.put(build_document(version="5"))
    cache.put(build_document("other", "9"))
    assert cache.put_answer(build_document(version="7"))
    assert version_of(cache) == "7"


def test_answer_whose_version_is_not_a_number_is_stored(cache: ObjectCache) -> None:
    cache.put(build_document("other", "9"))
    assert cache.put_answer(build_document(version="opaque"))
    assert version_of(cache) == "opaque"


def test_answer_to_a_creation_is_stored_before_its_watch_event(cache: ObjectCache) -> None:
    cache.put(build_document("other", "5"))
    assert cache.put_answer(build_document("a", "6"))
    assert version_of(cache) == "6"


def test_late_deletion_event_keeps_the_new_object_of_the_same_name(cache: ObjectCache) -> None:
    cache.put(build_document(version="9", uid="new"))
    assert not cache.remove(build_document(version="8", uid="old"))
    assert version_of(cache) == "9"


def test_deletion_event_with_an_older_version_removes_the_object(cache: ObjectCache) -> None:
    cache.put(build_document(version="9"))
    assert cache.remove(build_document(version="8"))
    assert not cache.remove(build_document(version="8"))


def test_deletion_event_of_a_newer_object_removes_the_old_object_of_the_same_name(cache: ObjectCache) -> None:
    cache.put(build_document(version="5", uid="old"))
    assert cache.remove(build_document(version="8", uid="new"))
    assert cache.get(A) is None


def test_changes_are_reported_unless_the_object_was_recreated(cache: ObjectCache) -> None:
    changes: list[tuple[JsonObject, JsonObject]] = []
    cache.on_replace = lambda old, new: changes.append((old, new))
    first, second, recreated = build_document(), build_document(version="6"), build_document(version="7", uid="new")
    for document in (first, second, second, recreated):
        cache.put(document)
    assert changes == [(first, second)]


def test_replace_adds_changes_and_removes_objects(cache: ObjectCache) -> None:
    for name in ("same", "changed", "gone"):
        cache.put(build_document(name))
    cache.put(build_document("elsewhere", namespace="other"))
    changed = cache.replace("ns", [build_document("same"), build_document("changed", "6"), build_document("new", "7")])
    assert {str(key_of(each)) for each in changed} == {"ns/changed", "ns/gone", "ns/new"}
    assert sorted(map(str, cache)) == ["ns/changed", "ns/new", "ns/same", "other/elsewhere"]


def test_replace_of_all_namespaces_removes_objects_of_every_namespace(cache: ObjectCache) -> None:
    cache.put(build_document("elsewhere", namespace="other"))
    assert list(cache.replace(None, [])) == [build_document("elsewhere", namespace="other")]
    assert len(cache) == 0


def test_list_owned_returns_the_objects_of_an_owner(cache: ObjectCache) -> None:
    cache.put(build_document("x-1", "1", labels={"app": "x"}))
    cache.put(build_document("x-2", "2", labels={"app": "x"}))
    cache.put(build_document("y-1", "3", labels={"app": "y"}))
    cache.put(build_document("stray", "4"))
    names = [found["metadata"]["name"] for found in cache.list_owned(ObjectKey("ns", "x"))]
    assert names == ["x-1", "x-2"]
    cache.forget(ObjectKey("ns", "x-1"))
    assert len(cache.list_owned(ObjectKey("ns", "x"))) == 1


def test_object_with_a_new_owner_is_listed_only_there(cache: ObjectCache) -> None:
    cache.put(build_document("x-1", "1", labels={"app": "x"}))
    cache.put(build_document("x-1", "2", labels={"app": "y"}))
    assert cache.list_owned(ObjectKey("ns", "x")) == []
    assert len(cache.list_owned(ObjectKey("ns", "y"))) == 1


def test_forget_namespace_removes_its_objects(cache: ObjectCache) -> None:
    cache.put(build_document("x-1", labels={"app": "x"}))
    cache.put(build_document("elsewhere", namespace="other"))
    cache.forget_namespace("ns")
    assert [key.namespace for key in cache] == ["other"]
    assert cache.list_owned(ObjectKey("ns", "x")) == []


def test_forget_removes_an_object(cache: ObjectCache) -> None:
    cache.put(build_document())
    cache.forget(A)
    cache.forget(A)
    assert cache.get(A) is None


@pytest.mark.parametrize("listed", ["ns", None], ids=["by its name", "with all others"])
def test_answers_of_a_forgotten_namespace_are_not_stored(cache: ObjectCache, listed: str | None) -> None:
    cache.put(build_document())
    cache.forget_namespace("ns")
    assert not cache.put_answer(build_document(version="6"))
    assert cache.get(A) is None
    list(cache.replace("elsewhere", []))
    assert not cache.put_answer(build_document(version="7"))
    list(cache.replace(listed, []))
    assert cache.put_answer(build_document(version="8"))


def test_only_the_objects_that_changed_last_are_kept_as_documents() -> None:
    cache = ObjectCache(most_parsed=2)
    for name, version in (("a", "1"), ("b", "2"), ("c", "3"), ("a", "4")):
        cache.put(build_document(name, version))
    parsed = [key.name for key in cache if cache.get(key) is cache.get(key)]
    assert sorted(parsed) == ["a", "c"]


def test_packed_pod_shows_only_its_version() -> None:
    pod = build_driver_pod()
    pod["metadata"]["resourceVersion"] = "7"
    packed = copy.deepcopy(pod)
    pack_pod(packed)
    trim_pod(pod)
    assert packed["metadata"] == {"resourceVersion": "7"}
    assert unpack(packed) == pod
    assert unpack({**pod, "packed": "by the user"}) == {**pod, "packed": "by the user"}


def test_last_states_of_deleted_objects_are_remembered() -> None:
    remembered: list[JsonObject] = []
    cache = ObjectCache(find_owner, remembered.append)
    first, second, third = (build_document(name, version) for name, version in (("a", "1"), ("b", "2"), ("c", "3")))
    for document in (first, second):
        cache.put(document)
    last = build_document("a", "4", annotations={"final": "state"})
    cache.remove(last)
    cache.remove(third)  # a live read has already dropped it
    list(cache.replace("ns", []))
    assert remembered == [last, third, second]


def test_deletion_of_a_replaced_object_is_not_remembered() -> None:
    remembered: list[JsonObject] = []
    cache = ObjectCache(find_owner, remembered.append)
    cache.put(build_document(version="9", uid="new"))
    assert not cache.remove(build_document(version="8", uid="old"))
    assert remembered == []


def test_cache_of_pods_drops_what_no_decision_reads() -> None:
    cache = Caches.empty().pods
    document = build_document(annotations={"x": "x" * 1_300_000}, labels={"spark-role": "driver", "other": "x"})
    cache.put_answer({**document, "spec": {"volumes": [{"name": "x"}]}, "status": {"phase": "Running"}})
    known = cache.get(key_of(document))
    assert known is not None
    assert known["metadata"]["labels"] == {"spark-role": "driver"}
    assert "annotations" not in known["metadata"]
    assert "volumes" not in known["spec"]
    assert known["status"] == {"phase": "Running"}
