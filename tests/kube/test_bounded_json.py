"""JSON of any depth is read: the API server stores objects that are too deep for most parsers."""

import pytest

from airflow_provider_spark_operator.kube.bounded_json import DEEPEST, read_json


def build_nested(levels: int) -> str:
    return '{"a":' * levels + '"{[\\"}"' + "}" * levels


def measure_depth(value: object) -> int:
    levels = 0
    while isinstance(value, dict) and value.get("a") is not None:
        levels, value = levels + 1, value["a"]
    return levels


def test_deeply_nested_value_is_cut_and_its_neighbours_are_read() -> None:
    text = (
        f'{{"items": [{{"name": "one", "spec": {build_nested(5000)}}}, {{"name": "two", "spec": {build_nested(20)}}}]}}'
    )
    document = read_json(text.encode())
    first, second = document["items"]
    assert (first["name"], second["name"]) == ("one", "two")
    assert measure_depth(first["spec"]) < DEEPEST
    assert measure_depth(second["spec"]) == 20


@pytest.mark.parametrize("text", [b"", b"{", b'{"a": ' + b"[" * 5000, b"]" * 5000])
def test_text_that_is_not_json_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match="line 1"):
        read_json(text)
