import pytest

from local_kubernetes.kubelet.containers.environment import expand

VARIABLES = {"A": "a", "B": "$(A)", "with space": "s"}


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("$(A)", "a"),
        ("x$(A)y$(A)z", "xayaz"),
        ("$(B)", "$(A)"),
        ("$(NONE)", "$(NONE)"),
        ("$(with space)", "s"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$a"),
        ("$$$$", "$$"),
        ("$A $ $", "$A $ $"),
        ("$", "$"),
        ("$(A", "$(A"),
        ("$(A $$ $(", "$(A $ $("),
        (") $(A", ") $(A"),
        ("$()", "$()"),
        ("", ""),
    ],
)
def test_references_to_variables_are_replaced(text: str, result: str) -> None:
    assert expand(text, VARIABLES) == result


@pytest.mark.parametrize("text", ["$(" * 500_000, "$(" * 500_000 + ")", ")" + "$(" * 500_000, "$" * 1_000_000])
def test_expansion_is_linear_in_the_length_of_the_text(text: str) -> None:
    assert expand(text, {}).rstrip("$") in (text, "")
