"""The modules that are imported when a DAG file composes an application."""

import pkgutil
import subprocess
import sys

from airflow_provider_spark_operator.core import compose, dialects

OTHERS = (
    "pydantic",
    "yaml",
    "aiohttp",
    "kubernetes",
    "kubernetes_asyncio",
    "airflow.sdk",
    "airflow_provider_spark_operator.core.models",
)
MODULES = [
    f"{package.__name__}.{module.name}"
    for package in (compose, dialects)
    for module in pkgutil.iter_modules(package.__path__)
]


def test_compose_imports_only_standard_library() -> None:
    program = f"import sys, {', '.join(MODULES)}; print([name for name in {OTHERS!r} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
