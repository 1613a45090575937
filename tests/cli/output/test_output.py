import io
import json

import pytest
import yaml

from airflow_provider_spark_operator.cli.base.styles import style_state
from airflow_provider_spark_operator.cli.output.output import arrange, print_resource, print_table

PODS = [
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "status": {"phase": phase}}
    for name, phase in (("driver", "RunningHealthy"), ("executor-1", ""))
]
TITLES = ["NAME", "STATE"]
ROWS = [["driver", "RunningHealthy"], ["executor-1", ""]]


class FakeTerminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_table_is_aligned_and_has_no_trailing_space(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(TITLES, ROWS)
    assert capsys.readouterr().out == "NAME         STATE\ndriver       RunningHealthy\nexecutor-1   -\n"


def test_resources_that_follow_each_other_can_be_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    for pod in PODS:
        print_resource(pod, "yaml")
    assert list(yaml.safe_load_all(capsys.readouterr().out)) == PODS
    print_resource(PODS[0], "name")
    assert capsys.readouterr().out == "pod/driver\n"
    print_resource(PODS[0], "json")
    assert json.loads(capsys.readouterr().out) == PODS[0]


def test_control_characters_of_a_resource_do_not_reach_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["MESSAGE"], [["a\033[2Jb\nc\u202e"]])
    assert capsys.readouterr().out == "MESSAGE\na\\x1b[2Jb c\\u202e\n"


@pytest.mark.parametrize(("no_color", "is_coloured"), [("", True), ("1", False)])
def test_states_have_a_colour_on_a_terminal_unless_no_color_is_set(
    no_color: str, is_coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = FakeTerminal()
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("NO_COLOR", no_color)
    print_table(TITLES, ROWS, {"STATE": style_state})
    assert ("\033[32mRunningHealthy" in terminal.getvalue()) is is_coloured
    assert "[bold" not in terminal.getvalue()


def test_narrow_terminal_shows_every_character(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = FakeTerminal()
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setenv("COLUMNS", "12")
    monkeypatch.setenv("NO_COLOR", "1")
    print_table(TITLES, ROWS)
    text = terminal.getvalue()
    assert max(map(len, text.splitlines())) <= 12
    assert len(text.replace(" ", "").replace("\n", "")) >= len("NAMESTATEdriverRunningHealthyexecutor-1-")


def test_resource_is_arranged_as_kubectl_prints_it() -> None:
    resource = {
        "status": {},
        "spec": {},
        "metadata": {"name": "pi", "managedFields": []},
        "kind": "K",
        "apiVersion": "v1",
    }
    assert list(arrange(resource)) == ["apiVersion", "kind", "metadata", "spec", "status"]
    assert arrange(resource)["metadata"] == {"name": "pi"}
    assert arrange({"items": [1]}) == {"items": [1]}
