import pytest

from airflow_provider_spark_operator.reconcile.properties import parse_properties


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        pytest.param("a=b", {"a": "b"}, id="equals"),
        pytest.param("a:b", {"a": "b"}, id="colon"),
        pytest.param("a b c", {"a": "b c"}, id="blank"),
        pytest.param("  a \t=  b ", {"a": "b "}, id="blanks around the sign, kept at the end"),
        pytest.param("a", {"a": ""}, id="no value"),
        pytest.param("# a=1\n! b=2\n\n \nc=3", {"c": "3"}, id="comments and empty lines"),
        pytest.param("a=1\\\n   2\nb=3", {"a": "12", "b": "3"}, id="continued line"),
        pytest.param("a=1\\\\\nb=2", {"a": "1\\", "b": "2"}, id="escaped backslash at the end"),
        pytest.param("a\\=b=c", {"a=b": "c"}, id="escaped sign in the key"),
        pytest.param("a=\\u00e9\\t\\q", {"a": "é\tq"}, id="escapes"),
        pytest.param("a=1\r\nb=2\rc=3", {"a": "1", "b": "2", "c": "3"}, id="line ends of every kind"),
        pytest.param("a=1\na=2", {"a": "2"}, id="last writer is this controller"),
        pytest.param("a=1\\", {"a": "1"}, id="continued into nothing"),
        pytest.param("", {}, id="empty"),
    ],
)
def test_properties_are_parsed_as_in_java(text: str, entries: dict[str, str]) -> None:
    assert parse_properties(text) == entries
