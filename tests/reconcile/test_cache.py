from typing import Any

import pytest

from airflow_provider_spark_operator.reconcile.cache import JsonObject, ObjectCache, ObjectKey, key_of

A = ObjectKey("ns", "a")


def document(name: str = "a", version: str = "5", *, namespace: str = "ns", uid: str = "u", **more: Any) -> JsonObject:
    metadata = {"name": name, "namespace": namespace, "uid": uid, "resourceVersion": version, **more}
    return {"metadata": metadata}


def owner(of: JsonObject) -> ObjectKey | None:
    name = of["metadata"].get("labels", {}).get("app")
    return ObjectKey(of["metadata"]["namespace"], name) if name else None


@pytest.fixture
def cache() -> ObjectCache:
    return ObjectCache(owner)


def version_of(cache: ObjectCache, key: ObjectKey = A) -> str | None:
    known = cache.get(key)
    return known["metadata"]["resourceVersion"] if known else None


def test_a_key_reads_as_namespace_and_name() -> None:
    assert str(A) == "ns/a"
    assert key_of({"metadata": {"name": "a", "namespace": "ns"}}) == A


@pytest.mark.parametrize(
    ("then", "kept"),
    [
        pytest.param("6", "6", id="newer"),
        pytest.param("4", "5", id="older"),
        pytest.param("10", "10", id="newer by number, not by letter"),
        pytest.param("opaque", "opaque", id="not a number"),
    ],
)
def test_the_newest_state_is_kept(cache: ObjectCache, then: str, kept: str) -> None:
    cache.put(document())
    assert cache.put(document(version=then)) is (kept == then)
    assert version_of(cache) == kept


def test_the_same_state_again_is_no_news(cache: ObjectCache) -> None:
    assert cache.put(document())
    assert not cache.put(document())


def test_managed_fields_are_not_kept(cache: ObjectCache) -> None:
    cache.put(document(managedFields=[{}]))
    known = cache.get(A)
    assert known is not None
    assert "managedFields" not in known["metadata"]


def test_an_answer_to_a_write_is_seen_before_its_event(cache: ObjectCache) -> None:
    cache.put(document(version="5"))
    assert cache.put_answer(document(version="7"))
    assert not cache.put(document(version="6"))
    assert version_of(cache) == "7"


def test_an_answer_overtaken_by_the_objects_deletion_does_not_bring_it_back(cache: ObjectCache) -> None:
    cache.put(document(version="5"))
    cache.remove(document(version="8"))
    assert not cache.put_answer(document(version="7"))
    assert cache.get(A) is None


def test_an_answer_to_a_creation_is_kept_until_its_event(cache: ObjectCache) -> None:
    cache.put(document("other", "5"))
    assert cache.put_answer(document("a", "6"))
    assert version_of(cache) == "6"


def test_a_late_deletion_of_a_former_object_leaves_its_successor(cache: ObjectCache) -> None:
    cache.put_answer(document(version="9", uid="new"))
    assert not cache.remove(document(version="8", uid="old"))
    assert version_of(cache) == "9"


def test_a_deletion_is_believed_whatever_version_it_bears(cache: ObjectCache) -> None:
    cache.put(document(version="9"))
    assert cache.remove(document(version="8"))
    assert not cache.remove(document(version="8"))


def test_a_list_adds_changes_and_removes(cache: ObjectCache) -> None:
    for name in ("same", "changed", "gone"):
        cache.put(document(name))
    cache.put(document("elsewhere", namespace="other"))
    changed = cache.replace("ns", [document("same"), document("changed", "6"), document("new", "7")])
    assert changed == {ObjectKey("ns", name) for name in ("changed", "gone", "new")}
    assert sorted(map(str, cache)) == ["ns/changed", "ns/new", "ns/same", "other/elsewhere"]


def test_a_list_of_all_namespaces_removes_everywhere(cache: ObjectCache) -> None:
    cache.put(document("elsewhere", namespace="other"))
    assert cache.replace(None, []) == {ObjectKey("other", "elsewhere")}
    assert len(cache) == 0


def test_objects_are_found_by_what_they_belong_to(cache: ObjectCache) -> None:
    cache.put(document("x-1", "1", labels={"app": "x"}))
    cache.put(document("x-2", "2", labels={"app": "x"}))
    cache.put(document("y-1", "3", labels={"app": "y"}))
    cache.put(document("stray", "4"))
    names = [found["metadata"]["name"] for found in cache.list_owned(ObjectKey("ns", "x"))]
    assert names == ["x-1", "x-2"]


def test_an_object_that_changes_hands_is_found_once(cache: ObjectCache) -> None:
    cache.put(document("x-1", "1", labels={"app": "x"}))
    cache.put(document("x-1", "2", labels={"app": "y"}))
    assert cache.list_owned(ObjectKey("ns", "x")) == []
    assert len(cache.list_owned(ObjectKey("ns", "y"))) == 1


def test_a_namespace_can_be_forgotten(cache: ObjectCache) -> None:
    cache.put(document("x-1", labels={"app": "x"}))
    cache.put(document("elsewhere", namespace="other"))
    cache.forget_namespace("ns")
    assert [key.namespace for key in cache] == ["other"]
    assert cache.list_owned(ObjectKey("ns", "x")) == []


def test_what_a_live_read_did_not_find_is_forgotten(cache: ObjectCache) -> None:
    cache.put(document())
    cache.forget(A)
    cache.forget(A)
    assert cache.get(A) is None


@pytest.mark.parametrize("listed", ["ns", None], ids=["by its name", "with all others"])
def test_what_is_done_in_a_namespace_that_was_left_does_not_bring_it_back(
    cache: ObjectCache, listed: str | None
) -> None:
    cache.put(document())
    cache.forget_namespace("ns")
    assert not cache.put_answer(document(version="6"))
    assert cache.get(A) is None
    cache.replace("elsewhere", [])
    assert not cache.put_answer(document(version="7"))
    cache.replace(listed, [])
    assert cache.put_answer(document(version="8"))


def test_the_last_memorable_object_whose_end_was_seen_is_remembered() -> None:
    cache = ObjectCache(owner, is_memorable=lambda document: "driver" in document["metadata"]["name"])
    for name, version in (("driver-1", "1"), ("driver-2", "2"), ("executor", "3")):
        cache.put(document(name, version, labels={"app": "x"}))
        cache.remove(document(name, version, labels={"app": "x"}))
    (departed,) = cache.list_deleted(ObjectKey("ns", "x"))
    assert departed["metadata"]["name"] == "driver-2"
    assert cache.list_deleted(ObjectKey("ns", "y")) == []


def test_what_was_not_seen_to_end_is_not_remembered() -> None:
    cache = ObjectCache(owner, is_memorable=lambda _: True)
    cache.put(document("x-1", "1", labels={"app": "x"}))
    cache.replace("ns", [])
    assert cache.list_deleted(ObjectKey("ns", "x")) == []


def test_no_more_is_remembered_than_may_end_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("airflow_provider_spark_operator.reconcile.cache._MAX_DELETED", 2)
    cache = ObjectCache(owner, is_memorable=lambda _: True)
    for number in range(3):
        cache.put(document(f"{number}-1", str(number + 1), labels={"app": str(number)}))
        cache.remove(document(f"{number}-1", str(number + 1), labels={"app": str(number)}))
    remembered = [number for number in range(3) if cache.list_deleted(ObjectKey("ns", str(number)))]
    assert remembered == [1, 2]
