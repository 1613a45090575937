import re

import pytest

from local_kubernetes.api.patterns import compile_pattern


@pytest.mark.parametrize(
    ("pattern", "fits", "does_not"),
    [
        ("^(?i)(abort|warn)?$", "Warn", "warning"),
        (r"^\d+\z", "12", "12\n"),
        (r"\\z", r"\z", "z"),
        ("^(?<unit>k|M)$", "M", "m"),
        ("^(?s).$", "\n", ""),
        ("^a$", "a", "A"),
    ],
)
def test_a_pattern_of_a_schema_means_what_it_means_in_kubernetes(pattern: str, fits: str, does_not: str) -> None:
    assert compile_pattern(pattern).search(fits)
    assert not compile_pattern(pattern).search(does_not)


@pytest.mark.parametrize("pattern", ["(", r"\pL", "a(?i)b"])
def test_what_python_cannot_read_is_no_pattern(pattern: str) -> None:
    with pytest.raises(re.error):
        compile_pattern(pattern)
