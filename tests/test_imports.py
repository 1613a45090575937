"""The import graph of both packages. Contracts in pyproject.toml check the directions between packages."""

import ast
import graphlib
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.util import resolve_name
from pathlib import Path

import grimp
import pytest

import airflow_provider_spark_operator.core
import local_kubernetes

ROOTS = ("airflow_provider_spark_operator", "local_kubernetes")
PROVIDER = Path(airflow_provider_spark_operator.core.__file__).parent.parent
CORE = PROVIDER / "core"
LOCAL_KUBERNETES = Path(local_kubernetes.__file__).parent
# Modules of the standard library without I/O, clock or randomness. Core uses only the level numbers of `logging`, and
# `datetime` only for given times: `find_impurities` finds the calls of the clock.
PURE_MODULES = {
    *("base64", "collections", "dataclasses", "datetime", "decimal", "difflib", "enum", "functools", "hashlib", "html"),
    *("copy", "ipaddress", "itertools", "json", "logging", "math", "posixpath", "re", "string", "typing"),
    *("abc", "bisect", "urllib.parse", "zlib"),
}
MODELING_MODULES = {"pydantic", "pydantic_core"}
# import-linter forbids the modules; classes and builtins that read the clock or a file need no forbidden import.
IMPURE_CALLS = {
    *("now", "utcnow", "today", "time", "monotonic", "perf_counter", "time_ns", "monotonic_ns"),
    *("random", "uuid1", "uuid4", "getrandbits", "token_hex", "token_bytes", "urandom"),
    *("open", "print", "input", "getenv", "read_text", "read_bytes", "write_text", "write_bytes", "__import__"),
}
IMPURE_ATTRIBUTES = {"environ", "argv", "stdin", "stdout", "stderr"}


def find_impurities(tree: ast.AST) -> list[tuple[int, str]]:
    """Return the line and name of every call of the clock, chance or I/O, and every use of the environment."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in IMPURE_CALLS:
                found.append((node.lineno, name))
        elif isinstance(node, ast.Attribute) and node.attr in IMPURE_ATTRIBUTES:
            found.append((node.lineno, node.attr))
    return found


@pytest.mark.parametrize("path", sorted(CORE.rglob("*.py")), ids=lambda path: str(path.relative_to(CORE)))
def test_core_uses_neither_clock_nor_chance_nor_io(path: Path) -> None:
    assert find_impurities(ast.parse(path.read_text())) == []


@pytest.mark.parametrize(
    "code",
    [
        *("datetime.now(UTC)", "datetime.utcnow()", "time.time()", "monotonic()", "time.perf_counter()"),
        *("random.random()", "uuid4()", "open('f')", "os.environ['HOME']", "os.getenv('HOME')"),
    ],
)
def test_impure_code_is_found(code: str) -> None:
    assert find_impurities(ast.parse(code))


def list_imports(path: Path) -> Iterator[str]:
    """Yield the full names of the modules that a file imports, at any place in the file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            module = resolve_name(module, name_package(path)) if node.level else module
            yield module
            if module in ("urllib", "importlib", "airflow_provider_spark_operator"):
                yield from (f"{module}.{alias.name}" for alias in node.names)


def name_package(path: Path) -> str:
    """Return the name of the package that contains a file."""
    root = LOCAL_KUBERNETES if path.is_relative_to(LOCAL_KUBERNETES) else PROVIDER
    return ".".join(path.parent.relative_to(root.parent).parts)


def find_other_imports(path: Path, allowed: set[str]) -> list[str]:
    """Return the imports of a file of core that are neither allowed nor a part of core."""
    known = {*allowed, "airflow_provider_spark_operator.core"}
    return [
        name
        for name in list_imports(path)
        if not any(name == one or (name.startswith(f"{one}.") and one != "logging") for one in known)
    ]


@pytest.mark.parametrize("path", sorted(CORE.rglob("*.py")), ids=lambda path: str(path.relative_to(CORE)))
def test_core_imports_only_pure_modules_and_pydantic(path: Path) -> None:
    assert find_other_imports(path, PURE_MODULES | MODELING_MODULES) == []


def test_what_dag_files_import_from_core_needs_only_the_standard_library() -> None:
    graph = grimp.build_graph("airflow_provider_spark_operator", cache_dir=None)
    compose = "airflow_provider_spark_operator.core.compose"
    roots = {compose, *graph.find_descendants(compose)}
    reached = roots.union(*(graph.find_upstream_modules(root) for root in roots))
    assert "airflow_provider_spark_operator.core.dialects.dialect" in reached
    found = {name: find_other_imports(find_file(name), PURE_MODULES) for name in sorted(reached)}
    assert {name: imports for name, imports in found.items() if imports} == {}


def find_file(module: str) -> Path:
    path = PROVIDER.parent.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@pytest.mark.parametrize(
    "code",
    [
        *("import urllib.request", "from urllib import request", "import platform", "import signal", "import socket"),
        *("import subprocess", "import importlib.resources", "from importlib import resources", "import fsspec"),
        *("import prometheus_client", "import logging.handlers", "from airflow_provider_spark_operator import kube"),
    ],
)
def test_import_outside_the_list_is_found(code: str, tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(code)
    assert find_other_imports(path, PURE_MODULES | MODELING_MODULES)


def test_local_kubernetes_imports_only_its_declared_dependencies() -> None:
    project = tomllib.loads((LOCAL_KUBERNETES.parent / "pyproject.toml").read_text())["project"]
    declared = {re.split(r"[^\w-]", one)[0].replace("pyyaml", "yaml") for one in project["dependencies"]}
    imported = {
        (name.partition(".")[0], path.name) for path in LOCAL_KUBERNETES.rglob("*.py") for name in list_imports(path)
    }
    foreign = {(name, file) for name, file in imported if name not in {*sys.stdlib_module_names, "local_kubernetes"}}
    assert {name for name, _ in foreign if name in declared} == declared
    # pytest itself loads the plugin, so that the plugin needs no dependency on pytest.
    assert {(name, file) for name, file in foreign if name not in declared} == {("pytest", "pytest_plugin.py")}


def test_files_import_each_other_without_a_cycle() -> None:
    # import-linter compares siblings: it does not see a cycle between a package and its own __init__.py.
    graph = grimp.build_graph(*ROOTS, cache_dir=None, exclude_type_checking_imports=True)
    order = graphlib.TopologicalSorter(
        {module: graph.find_modules_directly_imported_by(module) for module in sorted(graph.modules)}
    )
    try:
        order.prepare()
    except graphlib.CycleError as error:
        pytest.fail(" -> ".join(reversed(error.args[1])))
