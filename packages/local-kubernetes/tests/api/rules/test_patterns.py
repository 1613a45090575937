import re

import pytest

from local_kubernetes.api.rules.patterns import compile_pattern


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
def test_pattern_matches_as_in_go(pattern: str, fits: str, does_not: str) -> None:
    assert compile_pattern(pattern).search(fits)
    assert not compile_pattern(pattern).search(does_not)


@pytest.mark.parametrize("pattern", ["(", r"\pL", "a(?i)b"])
def test_pattern_without_python_equivalent_is_rejected(pattern: str) -> None:
    with pytest.raises(re.error):
        compile_pattern(pattern)
