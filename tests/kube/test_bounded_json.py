"""JSON of any depth and size is read: the API server stores objects that are too much for a parser or an event loop."""

import asyncio
import json
from typing import Any

import pytest

from airflow_provider_spark_operator.kube import bounded_json
from airflow_provider_spark_operator.kube.bounded_json import DEEPEST, read_json

LONGEST = 100


@pytest.fixture(autouse=True)
def low_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_json, "LONGEST", LONGEST)
    monkeypatch.setattr(bounded_json, "_MAX_ENTRIES", 300)
    monkeypatch.setattr(bounded_json, "_TOKENS_IN_SLICE", 50)


def build_nested(levels: int) -> str:
    return '{"a":' * levels + '"{[\\"}"' + "}" * levels


def build_list(*specs: str) -> bytes:
    items = (f'{{"metadata": {{"name": "n{number}"}}, "spec": {spec}}}' for number, spec in enumerate(specs))
    return f'{{"items": [{", ".join(items)}], "metadata": {{"continue": "x"}}}}'.encode()


def measure_depth(value: object) -> int:
    levels = 0
    while isinstance(value, dict) and value.get("a") is not None:
        levels, value = levels + 1, value["a"]
    return levels


async def test_deeply_nested_value_is_cut_and_its_neighbours_are_read() -> None:
    document = await read_json(build_list(build_nested(5000), build_nested(20)))
    first, second = document["items"]
    assert (first["metadata"]["name"], second["metadata"]["name"]) == ("n0", "n1")
    assert measure_depth(first["spec"]) < DEEPEST
    assert measure_depth(second["spec"]) == 20


@pytest.mark.parametrize("value", ["[]", "1", '{"a":[1,2]}', '"]"', "[" * 9 + "]" * 9])
async def test_field_with_too_many_values_is_shortened_and_its_neighbours_are_read(value: str) -> None:
    many = ",".join([value] * (4 * LONGEST))
    ordinary = {"conf": {"b": [1, {"c": "}"}]}, "jars": "a,b"}
    text = build_list(f'{{"args": [{many}], "conf": {{"a": 1}}}}', json.dumps(ordinary), f"[{many}]", f"[{many}]")
    document = await read_json(text, 2)
    assert document["metadata"] == {"continue": "x"}
    assert [item["metadata"]["name"] for item in document["items"]] == ["n0", "n1", "n2", "n3"]
    first, second, third, _ = (item["spec"] for item in document["items"])
    assert (first["conf"], second) == ({"a": 1}, ordinary)
    assert count_values(first["args"]) <= LONGEST + 9
    assert len(third) <= LONGEST + 1


async def test_object_with_too_many_keys_is_shortened() -> None:
    keys = ",".join(f'"k{number}":{{"a":[]}}' for number in range(5 * LONGEST))
    document = await read_json(f'{{"spec": {{"a": {{{keys}}}}}, "status": {{}}}}'.encode(), 0)
    assert document["status"] == {}
    assert LONGEST // 4 < len(document["spec"]["a"]) < LONGEST


async def test_other_tasks_run_while_a_text_is_shortened() -> None:
    reading = asyncio.create_task(read_json(f'{{"spec": {{"a": [{"1," * 1000} 1]}}}}'.encode(), 0))
    turns = 0
    while not reading.done():
        await asyncio.sleep(0)
        turns += 1
    assert turns > 10


@pytest.mark.parametrize("text", [b"", b"{", b'{"a": ' + b"[" * 5000, b"]" * 5000, b'{"a": [' + b"1," * 1000, b'"\\'])
async def test_text_that_is_not_json_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match="line 1"):
        await read_json(text, 0)


def count_values(value: Any) -> int:
    if isinstance(value, dict | list):
        return 1 + sum(map(count_values, value.values() if isinstance(value, dict) else value))
    return 1
