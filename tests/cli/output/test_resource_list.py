"""Lists of resources whose pages are printed when they arrive."""

import json
from typing import Any

import pytest
import yaml

from airflow_provider_spark_operator.cli.output.output import ResourceList

PODS = [
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"text": "a\nb ü"}}
    for name in ("one", "two", "three")
]


def print_list(output: str, *pages: list[dict[str, Any]]) -> None:
    printer = ResourceList(output)
    for page in pages:
        printer.print(page)
    printer.finish()


@pytest.mark.parametrize("pods", [PODS, PODS[:1], []], ids=["several", "one", "none"])
@pytest.mark.parametrize("output", ["json", "yaml"])
def test_pages_make_one_list(output: str, pods: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]) -> None:
    expected = {"apiVersion": "v1", "kind": "List", "items": pods}
    print_list(output, pods[:1], [], pods[1:])
    text = capsys.readouterr().out
    assert yaml.safe_load(text) == expected
    if output == "json":
        assert text == f"{json.dumps(expected, indent=2, ensure_ascii=False)}\n"


def test_names_are_those_of_all_pages(capsys: pytest.CaptureFixture[str]) -> None:
    print_list("name", PODS[:2], PODS[2:])
    assert capsys.readouterr().out == "pod/one\npod/two\npod/three\n"


@pytest.mark.parametrize("output", ["json", "yaml", "name"])
def test_page_is_printed_before_the_next_one_arrives(output: str, capsys: pytest.CaptureFixture[str]) -> None:
    printer = ResourceList(output)
    printer.print([])
    assert capsys.readouterr().out == ""
    printer.print(PODS[:2])
    text = capsys.readouterr().out
    assert "one" in text
    assert "two" in text
    printer.print(PODS[2:])
    assert "three" in capsys.readouterr().out


def test_json_without_the_last_page_is_not_valid(capsys: pytest.CaptureFixture[str]) -> None:
    ResourceList("json").print(PODS)
    with pytest.raises(json.JSONDecodeError):
        json.loads(capsys.readouterr().out)
