"""The page of the classes agrees with the docstrings."""

import inspect
import re
from importlib import import_module
from typing import Any

import pytest

from airflow_provider_spark_operator.hooks.async_spark_application import AsyncSparkApplicationHook
from airflow_provider_spark_operator.hooks.spark_application import SparkApplicationHook
from airflow_provider_spark_operator.provider import get_provider_info
from docs import list_classes
from local_kubernetes.cluster import LocalCluster
from local_kubernetes.kubelet.node import runtime
from local_kubernetes.kubelet.node.images import ImageRule

REFERENCE = list_classes.FOLDER / "reference"
PAGES = {name: (REFERENCE / name).read_text(encoding="utf-8") for name in list_classes.PAGES.values()}
PAGE = "\n".join(PAGES.values())
LOCAL_PAGE = (list_classes.FOLDER / "internals" / "local-kubernetes.md").read_text(encoding="utf-8")
CLASSES = {
    name: found
    for _, modules in list_classes.CHAPTERS
    for module, names in modules
    for name in names
    if inspect.isclass(found := getattr(import_module(f"{list_classes.PACKAGE}.{module}"), name))
}
# Only the scripted cluster creates these objects.
NOT_FOR_USERS = {"Application": {"cluster"}, "ScriptedSparkCluster": {"cluster"}}
# The types of the local cluster on the page of its Python API.
LOCAL_TYPES = (LocalCluster, ImageRule, runtime.ContainerFolders, runtime.ContainerSetup, runtime.ContainerCommand)


def list_parameters(function: Any) -> set[str]:
    return set(inspect.signature(function).parameters) - {"self"}


def find_section(heading: str) -> str:
    return PAGE.split(f"\n## {heading}\n", 1)[1].split("\n## ")[0].split("\n# ")[0]


def list_rows(section: str) -> set[str]:
    return set(re.findall(r"^\| `\*{0,2}(\w+)` \|", section, re.MULTILINE))


def test_page_is_up_to_date() -> None:
    assert list_classes.build_pages() == PAGES, "run python docs/list_classes.py"


def test_page_has_all_classes_of_the_provider() -> None:
    info = get_provider_info()
    modules = [module for part in ("operators", "sensors", "triggers") for module in info[part][0]["python-modules"]]
    assert [module for module in modules if f"`{module}`" not in PAGE] == []
    links = [link.rpartition(".")[2] for link in info["extra-links"]]
    assert [link for link in links if f"## {link}\n" not in PAGE] == []


def test_each_parameter_on_the_page_has_a_meaning() -> None:
    rows = re.findall(r"^\| `[^`]+` \|(?: [^|]*\|)* ?([^|]*) \|$", PAGE.replace("\\|", ""), re.MULTILINE)
    assert len(rows) > 100
    assert all(rows)


@pytest.mark.parametrize("name", CLASSES)
def test_page_has_exactly_the_parameters_of_the_class(name: str) -> None:
    found = CLASSES[name]
    section = find_section(list_classes.USED_AS.get(name, name))
    constructor = vars(found).get("__init__")
    parameters = list_parameters(constructor) - NOT_FOR_USERS.get(name, set()) if constructor else set()
    assert parameters <= list_rows(section)
    described = list_classes.Docstring.parse(found).sections.get("Args", {})
    assert {parameter.lstrip("*") for parameter in described} <= parameters


@pytest.mark.parametrize("name", sorted(list_classes.WITH_METHODS | list_classes.WITH_METHOD_SECTIONS))
def test_docstring_of_each_method_has_exactly_its_parameters(name: str) -> None:
    for method in list_classes.list_methods(CLASSES[name]).values():
        described = list_classes.Docstring.parse(method).sections.get("Args", {})
        assert {parameter.lstrip("*") for parameter in described} == list_parameters(method), method


def test_page_has_the_parameters_of_each_method_of_the_hook() -> None:
    section = find_section("SparkApplicationHook")
    for name, method in list_classes.list_methods(SparkApplicationHook).items():
        part = section.split(f"\n### `{name}`\n")[1].split("\n### ")[0]
        assert list_parameters(method) == list_rows(part.split("| Raises | |")[0])


def test_methods_of_both_hooks_have_the_same_parameters() -> None:
    blocking = list_classes.list_methods(SparkApplicationHook)
    asynchronous = list_classes.list_methods(AsyncSparkApplicationHook)
    assert blocking.keys() - asynchronous.keys() == {"test_connection"}
    assert asynchronous.keys() <= blocking.keys()
    for name, method in asynchronous.items():
        assert _list_defaults(method) == _list_defaults(blocking[name]), name
    parameters = _list_defaults(AsyncSparkApplicationHook.__init__)
    assert parameters.pop("access") == (inspect.Parameter.KEYWORD_ONLY, None)
    assert parameters == _list_defaults(SparkApplicationHook.__init__)


def test_methods_of_the_asynchronous_hook_are_coroutines_or_generators() -> None:
    streams = {"stream_driver_log", "stream_executor_log"}
    for name, method in list_classes.list_methods(AsyncSparkApplicationHook).items():
        assert inspect.isasyncgenfunction(method) == (name in streams)
        assert inspect.iscoroutinefunction(method) == (name not in streams)


def test_page_names_each_method_of_the_asynchronous_hook() -> None:
    (names,) = re.findall(r"describes the methods: (.*)\.", find_section("AsyncSparkApplicationHook"))
    assert names.replace("`", "").split(", ") == [*list_classes.list_methods(AsyncSparkApplicationHook)]


@pytest.mark.parametrize("found", LOCAL_TYPES)
def test_page_of_the_local_cluster_has_the_parameters(found: type) -> None:
    name = found.__name__
    section = LOCAL_PAGE.split(f"\n### {name}\n" if f"\n### {name}\n" in LOCAL_PAGE else f"\n| `{name}` |", 1)[1]
    table = section.split("\n|---", 1)[1].split("\n\n")[0]
    assert list_parameters(found) == list_rows(table)


def test_page_of_the_local_cluster_has_the_members_of_a_runtime() -> None:
    section = LOCAL_PAGE.split("\n### Runtime\n")[1]
    members = {name for name in vars(runtime.Runtime) if not name.startswith("_")}
    named = re.findall(r"^\| `(?:async )?(\w+)(?:\([\w, ]*\))?` \|", section.split("\n\nThe types")[0], re.MULTILINE)
    assert members == set(named)


def _list_defaults(function: Any) -> dict[str, tuple[Any, Any]]:
    """Return the kind and the default of each parameter."""
    parameters = inspect.signature(function).parameters
    return {name: (one.kind, one.default) for name, one in parameters.items() if name != "self"}
