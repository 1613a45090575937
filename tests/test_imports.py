"""The import graph as a whole; the directions between packages are contracts in pyproject.toml."""

import graphlib

import grimp
import pytest

ROOTS = ("airflow_provider_spark_operator", "local_kubernetes")


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
