import importlib
import pkgutil
import subprocess
import sys
from importlib.metadata import distribution, entry_points
from pathlib import Path

import pytest

from airflow_provider_spark_operator.provider import get_provider_info


def test_entry_point_loads_the_metadata() -> None:
    (entry_point,) = [
        one for one in entry_points(group="apache_airflow_provider") if one.value.startswith("airflow_provider_spark")
    ]
    assert entry_point.load() is get_provider_info


def test_package_name_is_the_name_of_the_distribution() -> None:
    assert get_provider_info()["package-name"] == distribution("airflow-provider-spark-operator").name


@pytest.mark.parametrize("part", ["operators", "sensors", "hooks", "triggers"])
def test_each_listed_module_exists(part: str) -> None:
    info = get_provider_info()
    integrations = {one["integration-name"] for one in info["integrations"]}
    for modules in info[part]:
        assert modules["integration-name"] in integrations
        for name in modules["python-modules"]:
            importlib.import_module(name)


def test_each_listed_class_and_function_exists() -> None:
    info = get_provider_info()
    for path in [*info["extra-links"], *(one["class-name"] for one in info["task-decorators"])]:
        assert callable(pkgutil.resolve_name(":".join(path.rsplit(".", 1))))


def test_logo_and_guides_exist() -> None:
    repository = Path(__file__).parents[1]
    for integration in get_provider_info()["integrations"]:
        for path in [integration["logo"], *integration["how-to-guide"]]:
            assert (repository / path.removeprefix("/")).is_file()
        assert "<svg" in (repository / integration["logo"].removeprefix("/")).read_text()


def test_each_option_is_documented() -> None:
    page = (Path(__file__).parents[1] / "docs" / "reference" / "configuration.md").read_text()
    (options,) = (section["options"] for section in get_provider_info()["config"].values())
    assert [name for name in options if name not in page] == []


def test_airflow_accepts_the_metadata() -> None:
    from airflow.providers_manager import ProvidersManager

    providers = ProvidersManager().providers  # type: ignore[no-untyped-call]
    assert providers["airflow-provider-spark-operator"].data["name"] == "Spark Kubernetes Operator"


# Airflow itself loads some of these modules, so the test checks which modules of the provider import them.
HEAVY = ("aiohttp", "kubernetes", "kubernetes_asyncio", "pydantic", "yaml")
RUNTIME = tuple(
    f"airflow_provider_spark_operator.{name}" for name in ("core.models", "follow", "kube", "reconcile", "triggers")
)


LIGHT = (
    "operators.spark_application",
    "operators.spark_cluster",
    "sensors.spark_application",
    "sensors.spark_cluster",
    "decorators.spark_application",
    "hooks.spark_application",
    "links.spark_application",
    "links.spark_cluster",
    "retry_policy",
    "exceptions",
)


def test_dag_file_loads_neither_client_nor_models() -> None:
    program = f"""
import builtins
import importlib
import sys

load = builtins.__import__

def record(name, globals=None, locals=None, names=(), level=0):
    importer = (globals or {{}}).get("__name__") or ""
    if level == 0 and importer.startswith("airflow_provider_spark_operator") and name.split(".")[0] in {HEAVY!r}:
        print(importer, "imports", name)
    return load(name, globals, locals, names, level)

builtins.__import__ = record
for name in {LIGHT!r}:
    importlib.import_module(f"airflow_provider_spark_operator.{{name}}")
ours = [m for m in sys.modules if m.startswith("airflow_provider_spark_operator.")]
print(*(m for m in ours if m.startswith({RUNTIME!r}) or m.endswith("_runtime")))
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)
    assert result.stdout.strip() == ""


def test_dag_file_loads_no_dialect_unless_an_argument_needs_one() -> None:
    program = """
import sys
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator
from airflow_provider_spark_operator.sensors.spark_application import SparkApplicationSensor

SparkApplicationOperator(task_id="pi", application="pi.yaml")
SparkApplicationSensor(task_id="wait", name="pi")
print("airflow_provider_spark_operator.core.dialects" in sys.modules)
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)
    assert result.stdout.split() == ["False"]


def test_metadata_needs_only_the_standard_library() -> None:
    program = """
import sys
import airflow_provider_spark_operator.provider
print("airflow" in sys.modules, "yaml" in sys.modules)
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert result.stdout.split() == ["False", "False"]
