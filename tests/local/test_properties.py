import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_spark_operator.local.properties import read_properties, write_properties

TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=20)


@given(st.dictionaries(TEXT.filter(bool), TEXT, max_size=5))
def test_written_properties_can_be_read(entries: dict[str, str]) -> None:
    assert read_properties(write_properties(entries)) == entries


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("# a comment\n! another\n\na=1\n", {"a": "1"}),
        ("spark.master=k8s\\://https\\://127.0.0.1\\:16443", {"spark.master": "k8s://https://127.0.0.1:16443"}),
        ("a : b\n c   d e\nf", {"a": "b", "c": "d e", "f": ""}),
        ("a=one \\\n   two", {"a": "one two"}),
        ("a=\\u00e9\\t\\q", {"a": "é\tq"}),
        ("a\\ b=\\ c", {"a b": " c"}),
        ("a=1\na=2", {"a": "2"}),
        ("empty=", {"empty": ""}),
    ],
)
def test_properties_are_read_as_java_reads_them(text: str, entries: dict[str, str]) -> None:
    assert read_properties(text) == entries
