import pytest

from local_kubernetes.api.kinds.kinds import PODS
from local_kubernetes.api.kinds.selectors import parse_field_selector, parse_label_selector
from local_kubernetes.api.kinds.status import ApiStatusError

LABELLED = {"metadata": {"labels": {"app": "web", "tier": "", "n": "5", "example.com/role": "driver"}}}
RUNNING = {"metadata": {"name": "p"}, "spec": {"hostNetwork": True}, "status": {"phase": "Running"}}


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        (" ", True),
        ("app", True),
        ("!app", False),
        ("nope", False),
        ("!nope", True),
        ("! nope", True),
        ("app=web", True),
        ("app == web", True),
        ("app=flink", False),
        ("app!=flink", True),
        ("nope!=x", True),
        ("tier=", True),
        ("tier!=", False),
        ("app in (web, other)", True),
        ("app in (flink)", False),
        ("app notin (flink)", True),
        ("nope notin (x)", True),
        ("nope in (x)", False),
        ("example.com/role=driver,app=web", True),
        ("example.com/role=driver , app=flink", False),
        ("app in (web),!nope,n", True),
    ],
)
def test_label_selector_selects_matching_objects(text: str, matches: bool) -> None:
    assert parse_label_selector(text).matches(LABELLED) is matches


@pytest.mark.parametrize(
    "text", ["a b", "a===b", "a=b,", ",a", "a in b", "a in (b", "=b", "a!b", "a>x", "a in (b c)", "a=b=c", "é"]
)
def test_invalid_label_selector_is_rejected(text: str) -> None:
    with pytest.raises(ApiStatusError) as error:
        parse_label_selector(text)
    assert error.value.code == 400


def test_object_without_labels_matches_negative_requirements() -> None:
    assert parse_label_selector("!a").matches({"metadata": {}})
    assert not parse_label_selector("a").matches({})


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        ("metadata.name=p", True),
        ("metadata.name==p,status.phase=Running", True),
        ("status.phase!=Running", False),
        ("status.phase!=Failed", True),
        ("spec.nodeName=", True),
        ("spec.nodeName!=", False),
        ("spec.hostNetwork=true", True),
    ],
)
def test_field_selector_selects_matching_objects(text: str, matches: bool) -> None:
    assert parse_field_selector(text, PODS).matches(RUNNING) is matches


@pytest.mark.parametrize("text", ["spec.foo=x", "metadata.name", "=x"])
def test_invalid_field_selector_is_rejected(text: str) -> None:
    with pytest.raises(ApiStatusError) as error:
        parse_field_selector(text, PODS)
    assert error.value.code == 400
