import json

import pytest
import yaml

from airflow_provider_spark_operator.kube.yaml_text import (
    DEEPEST,
    MAX_VALUES,
    BoundedLoader,
    DuplicateKey,
    ExcessiveYaml,
    load,
    load_all,
)
from tests.kube.kubectl_readings import READINGS, REFUSALS


def build_bomb(item: str, first: str, levels: int = 12) -> str:
    """Return aliases of aliases: ten times as many values at each level, each level written as `item`."""
    ten = [", ".join([f"*a{level}"] * 10) for level in range(levels)]
    lines = [f"a{level}: &a{level} {item.format(ten[level - 1])}" for level in range(1, levels)]
    return "\n".join([f"a0: &a0 {first}", *lines])


@pytest.mark.parametrize(("text", "value"), READINGS, ids=repr)
def test_value_is_read_as_kubectl_reads_it(text: str, value: object) -> None:
    (document,) = load_all(text)
    assert json.dumps(document, sort_keys=True) == json.dumps(value, sort_keys=True)


@pytest.mark.parametrize("text", REFUSALS, ids=repr)
def test_value_that_kubectl_refuses_is_rejected_with_its_position(text: str) -> None:
    with pytest.raises(yaml.MarkedYAMLError) as caught:
        load(text)
    assert caught.value.problem_mark is not None


@pytest.mark.parametrize("text", ["~: a", "? [a]\n: b"])
def test_key_that_is_not_a_string_is_rejected_with_advice(text: str) -> None:
    with pytest.raises(yaml.MarkedYAMLError) as caught:
        load(text)
    assert str(caught.value.problem).endswith("is not a string: put the key in quotes")


@pytest.mark.parametrize("text", ["[a:]", "{emptyDir:}", "[a :, b]"])
def test_colon_that_kubectl_reads_as_part_of_the_text_is_rejected(text: str) -> None:
    with pytest.raises(yaml.YAMLError, match="ambiguous text: put it in quotes, or write a space after its colon"):
        load(text)


def test_escaped_surrogate_pairs_of_json_are_one_character() -> None:
    assert load(json.dumps({"a😀": "b😀"})) == {"a😀": "b😀"}


def test_only_documents_of_one_text_are_loaded() -> None:
    assert load("") is None
    with pytest.raises(yaml.YAMLError):
        load("a\n---\nb")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param(build_bomb("[{}]", "[x]"), f"more than {MAX_VALUES} values", id="aliases"),
        pytest.param(build_bomb("{{<<: [{}]}}", "{k: v}"), f"more than {MAX_VALUES} values", id="merges"),
        pytest.param(f"a: &a {'x' * 64_000}\nb: [{'*a, ' * 1000}]", f"more than {MAX_VALUES} values", id="text"),
        pytest.param("[" * 3000, f"more than {DEEPEST} levels of nesting", id="brackets"),
        pytest.param("- " * 3000, f"more than {DEEPEST} levels of nesting", id="dashes"),
        pytest.param("a: &y [*y]", "a value that contains itself", id="list in itself"),
        pytest.param("&y {a: {b: *y}}", "a value that contains itself", id="object in itself"),
        pytest.param("&y {<<: *y}", "a value that contains itself", id="merged into itself"),
    ],
)
def test_yaml_out_of_bounds_is_rejected(text: str, problem: str) -> None:
    with pytest.raises(ExcessiveYaml) as caught:
        list(load_all(text))
    assert caught.value.problem == problem
    assert caught.value.problem_mark is not None


def test_bounds_hold_for_each_document() -> None:
    loader = BoundedLoader("[1, 2, 3]\n--- {a: b}\n--- [4, 5, 6]", most_values=4)
    assert [loader.get_data() for _ in range(3)] == [[1, 2, 3], {"a": "b"}, [4, 5, 6]]
    with pytest.raises(ExcessiveYaml, match="more than 4 values"):
        load("[1, 2, 3, 4]", most_values=4)


def test_as_many_levels_as_allowed_are_read() -> None:
    (document,) = load_all("[" * DEEPEST + "x" + "]" * DEEPEST)
    assert document != "x"
    with pytest.raises(ExcessiveYaml):
        list(load_all("[" * (DEEPEST + 1) + "]" * (DEEPEST + 1)))


@pytest.mark.parametrize(
    ("value", "tag"),
    [
        ("!!timestamp x", "timestamp"),
        ("!!int ''", "int"),
        ("!!int x", "int"),
        ("!!bool x", "bool"),
        ("!!float x", "float"),
        ("!!float on", "float"),
        (".inf", "float"),
        ("-.INF", "float"),
        (".nan", "float"),
        ("!!int 1e3", "int"),
        ("!!binary '?'", "binary"),
        (r'"\uD800"', "str"),
    ],
)
def test_value_that_does_not_fit_its_tag_is_a_yaml_error(value: str, tag: str) -> None:
    with pytest.raises(yaml.MarkedYAMLError) as caught:
        list(load_all(f"a:\n  b: {value}"))
    assert caught.value.problem == f"invalid {tag}: put the value in quotes"
    assert caught.value.problem_mark is not None
    assert (caught.value.problem_mark.line, caught.value.problem_mark.column) == (1, 5)


def test_documents_before_an_error_are_yielded() -> None:
    documents = load_all("a: 1\n---\nb: [\n")
    assert next(documents) == {"a": 1}
    with pytest.raises(yaml.YAMLError):
        next(documents)


@pytest.mark.parametrize(
    ("text", "problem", "line"),
    [
        pytest.param("a: 1\nb: 2\na: 3\n", "duplicate key 'a', already defined in line 1", 3, id="document"),
        pytest.param("a:\n  b: 1\n  c: 2\n  b: 1\n", "duplicate key 'b', already defined in line 2", 4, id="nested"),
        pytest.param('[{"a": 1, "a": 1}]', "duplicate key 'a', already defined in line 1", 1, id="json"),
        pytest.param("a: 1\n? a\n: 2\n", "duplicate key 'a', already defined in line 1", 2, id="explicit"),
    ],
)
def test_duplicate_key_is_rejected_with_its_line(text: str, problem: str, line: int) -> None:
    with pytest.raises(DuplicateKey) as caught:
        list(load_all(text))
    assert caught.value.problem == problem
    assert caught.value.problem_mark is not None
    assert caught.value.problem_mark.line + 1 == line
