import io
import json
from typing import Any

import pytest
import yaml

from airflow_provider_spark_operator.cli.output import Column, print_resource, print_resources, print_table
from airflow_provider_spark_operator.cli.styles import style_state

PODS = [
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "status": {"phase": phase}}
    for name, phase in (("driver", "RunningHealthy"), ("executor-1", ""))
]
COLUMNS = (
    Column("NAME", lambda pod: str(pod["metadata"]["name"])),
    Column("STATE", lambda pod: str(pod["status"]["phase"]), style=style_state),
    Column("KIND", lambda pod: str(pod["kind"]), is_wide=True),
)


class FakeTerminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_table_is_aligned_and_has_no_trailing_space(capsys: pytest.CaptureFixture[str]) -> None:
    print_resources(PODS, COLUMNS, "table")
    assert capsys.readouterr().out == "NAME         STATE\ndriver       RunningHealthy\nexecutor-1   -\n"


def test_wide_table_has_all_columns(capsys: pytest.CaptureFixture[str]) -> None:
    print_resources(PODS, COLUMNS, "wide")
    assert capsys.readouterr().out.splitlines()[0].split() == ["NAME", "STATE", "KIND"]


def test_structured_formats_have_the_whole_resources(capsys: pytest.CaptureFixture[str]) -> None:
    expected: dict[str, Any] = {"apiVersion": "v1", "kind": "List", "items": PODS}
    print_resources(PODS, COLUMNS, "json")
    assert json.loads(capsys.readouterr().out) == expected
    print_resources(PODS, COLUMNS, "yaml")
    assert yaml.safe_load(capsys.readouterr().out) == expected
    print_resource(PODS[0], COLUMNS, "json")
    assert json.loads(capsys.readouterr().out) == PODS[0]
    print_resources(PODS, COLUMNS, "name")
    assert capsys.readouterr().out == "pod/driver\npod/executor-1\n"
    print_resources(PODS, COLUMNS, "jsonpath={.items[*].metadata.name}")
    assert capsys.readouterr().out == "driver executor-1"


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
    print_resources(PODS, COLUMNS, "table")
    assert ("\033[32mRunningHealthy" in terminal.getvalue()) is is_coloured
    assert "[bold" not in terminal.getvalue()


def test_narrow_terminal_shows_every_character(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = FakeTerminal()
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setenv("COLUMNS", "12")
    monkeypatch.setenv("NO_COLOR", "1")
    print_resources(PODS, COLUMNS, "table")
    text = terminal.getvalue()
    assert max(map(len, text.splitlines())) <= 12
    assert len(text.replace(" ", "").replace("\n", "")) >= len("NAMESTATEdriverRunningHealthyexecutor-1-")
