import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_spark_operator.core.kubernetes.problems import InvalidResource, Problem
from airflow_provider_spark_operator.core.spark.properties import format_properties, parse_properties

# Surrogates cannot be encoded, so that Java cannot write them.
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
KEYS = TEXT.filter(bool)


@given(st.dictionaries(KEYS, TEXT))
def test_formatted_properties_are_parsed_to_the_same_values(values: dict[str, str]) -> None:
    assert parse_properties(format_properties(values, "comment")) == values


@given(st.dictionaries(KEYS, TEXT))
def test_each_entry_is_one_line_after_the_comment(values: dict[str, str]) -> None:
    assert format_properties(values, "comment").count("\n") == len(values) + 1


def test_properties_are_formatted_as_java_does() -> None:
    values = {
        "spark.x.colon": "a:b=c#d!e",
        "spark.x.lead": "  lead",
        "spark.x.trail": "trail  ",
        "spark.x.nl": "one\ntwo\ttab",
        "spark.x.uni": "日本 é",
        "spark.x.key with blank": "v",
    }
    assert format_properties(values, "made up").splitlines() == [
        "#made up",
        r"spark.x.colon=a\:b\=c\#d\!e",
        r"spark.x.key\ with\ blank=v",
        r"spark.x.lead=\  lead",
        r"spark.x.nl=one\ntwo\ttab",
        "spark.x.trail=trail  ",
        "spark.x.uni=日本 é",
    ]


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("a b", {"a": "b"}),
        ("a : b", {"a": "b"}),
        ("a=", {"a": ""}),
        ("a", {"a": ""}),
        ("  # no entry\n! nor this\n\n a=1", {"a": "1"}),
        ("a=1,\\\n   2", {"a": "1,2"}),
        ("a=ends with a backslash\\\\\nb=2", {"a": "ends with a backslash\\", "b": "2"}),
        ("a=\\u0041\\q", {"a": "Aq"}),
        ("a=1\r\na=2", {"a": "2"}),
        ("=no key", {"": "no key"}),
        ("", {}),
        ("a\\ b\\=c=\\ d", {"a b=c": " d"}),
        ("  a \t=  b ", {"a": "b "}),
        ("a=1\rb=2\r\nc=3", {"a": "1", "b": "2", "c": "3"}),
        ("a=\\u00e9\\t\\q", {"a": "é\tq"}),
        ("a=1\\", {"a": "1"}),
    ],
)
def test_properties_are_parsed_as_java_does(text: str, entries: dict[str, str]) -> None:
    assert parse_properties(text) == entries


@pytest.mark.parametrize("text", ["a\\u00zz=1", "a=\\u12", "a=\\\\\\u12", "a=1\\\n  \\u12"])
def test_invalid_unicode_escape_is_a_problem_of_its_line(text: str) -> None:
    with pytest.raises(InvalidResource) as caught:
        parse_properties(f"# secrets\nsecret=hidden\n{text}", "spark.properties")
    message = "contains a \\u without four hexadecimal digits, in the entry of line 3"
    assert caught.value.problems == (Problem("spark.properties", message),)


def test_escaped_backslash_before_u_is_not_an_escape() -> None:
    assert parse_properties("a=\\\\users") == {"a": "\\users"}
