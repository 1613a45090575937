import re
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_spark_operator.kube.yaml_text import BoundedLoader, load
from airflow_provider_spark_operator.kube.yaml_writer import dump, quote


class CoreLoader(yaml.SafeLoader):
    """A parser of YAML 1.2: the core schema of chapter 10.3 of its specification."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - of the library


for tag, pattern in {
    "null": "null|Null|NULL|~|",
    "bool": "true|True|TRUE|false|False|FALSE",
    "int": r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+",
    "float": r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
}.items():
    CoreLoader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(rf"(?:{pattern})\Z"), None)

SPECIAL = "y N on Off 1e3 0o17 08 0x1F 1_0 1:30 2026-01-01 T00:00:00Z .5 - + = << ~ null : # | > ' \" " + "\\ % @ ` & *"
BLANKS = [" ", "  ", "\n", "\n\n", "\t", "\r", "\x00", "\x7f", "\x85", "\xa0", "\u2028", "\ufeff", "x" * 90]
FRAGMENTS = st.sampled_from([*SPECIAL.split(), *"!{}[],aeé😀_", "---", "...", *BLANKS])
TEXTS = st.one_of(
    st.lists(FRAGMENTS, max_size=5).map("".join),
    st.text(max_size=6),
    st.from_regex(r"[-+.0-9xob_e:,]{1,6}", fullmatch=True),
)
NUMBERS = st.one_of(st.integers(-(2**63), 2**63 - 1), st.floats(-(2**53), 2**53))
VALUES = st.recursive(
    st.one_of(TEXTS, NUMBERS, st.booleans(), st.none()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=5,
)


@given(st.dictionaries(TEXTS, VALUES, max_size=3), st.booleans(), st.booleans())
def test_written_value_is_read_alike_by_all_parsers(value: object, is_document: bool, allow_unicode: bool) -> None:
    text = dump(value, is_document=is_document, allow_unicode=allow_unicode)
    assert text.isascii() or allow_unicode
    for loader in (yaml.SafeLoader, yaml.CSafeLoader, CoreLoader, BoundedLoader):
        assert yaml.load(text, loader) == value


@pytest.mark.parametrize("text", ["pi", "1e3", "y", "a: b", "a\nb"])
def test_quoted_text_is_one_scalar(text: str) -> None:
    assert load(f"name: {quote(text)}\nother: 1") == {"name": text, "other": 1}


@pytest.mark.parametrize(
    "text",
    ["4.3.0", "512m", "1g", "--overwrite", "local:///opt/a.jar", "apache/spark:4.3.0", "/x", "spark.x", "a b", "Größe"],
)
def test_text_that_is_never_a_value_has_no_quotes(text: str) -> None:
    assert quote(text) == text


def test_shared_parts_are_copied() -> None:
    part = {"a": ["b"]}
    assert dump({"c": part, "d": part}) == "c:\n  a:\n  - b\nd:\n  a:\n  - b\n"
