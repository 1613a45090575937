"""The import graph of both packages. Contracts in pyproject.toml check the directions between packages."""

import ast
import graphlib
from pathlib import Path

import grimp
import pytest

import airflow_provider_spark_operator.core

ROOTS = ("airflow_provider_spark_operator", "local_kubernetes")
CORE = Path(airflow_provider_spark_operator.core.__file__).parent
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


def test_files_import_each_other_without_a_cycle() -> None:
    # import-linter compares siblings: it does not see a cycle between a package and its own __init__.py.
    graph = grimp.build_graph(*ROOTS, cache_dir=None)
    order = graphlib.TopologicalSorter(
        {module: graph.find_modules_directly_imported_by(module) for module in sorted(graph.modules)}
    )
    try:
        order.prepare()
    except graphlib.CycleError as error:
        pytest.fail(" -> ".join(reversed(error.args[1])))
