"""The import of the module of a verb, which pydantic's plugins and the garbage collector would slow down."""

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.cli.program.verb_import import import_verb

MODULE = """
import gc, os
is_collecting = gc.isenabled()
plugins = os.environ.get("PYDANTIC_DISABLE_PLUGINS")
"""


@pytest.mark.parametrize("wanted", [None, "logfire"])
def test_collection_and_plugins_are_disabled_only_during_the_import(
    wanted: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"verb_with_{wanted}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv("PYDANTIC_DISABLE_PLUGINS", raising=False)
    if wanted:
        monkeypatch.setenv("PYDANTIC_DISABLE_PLUGINS", wanted)
    module = import_verb(name)
    assert module.is_collecting is False
    assert module.plugins == (wanted or "__all__")
    assert gc.isenabled()
    assert os.environ.get("PYDANTIC_DISABLE_PLUGINS") == wanted


def test_missing_package_is_reported_with_the_command_of_a_clone() -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; sys.modules['local_kubernetes'] = None\n"
            "from airflow_provider_spark_operator.cli import main\nsys.exit(main(['local', 'up']))",
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode == ExitCode.INVALID
    message = " ".join(done.stderr.split())
    assert "missing package local_kubernetes" in message
    assert message.endswith(
        "To install it, run `pip install 'airflow-provider-spark-operator[local]'`, "
        "or in a clone of the repository `pip install ./packages/local-kubernetes '.[local]'`"
    )


def test_failed_import_enables_collection_and_plugins_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYDANTIC_DISABLE_PLUGINS", raising=False)
    with pytest.raises(ModuleNotFoundError):
        import_verb("no_such_verb")
    assert gc.isenabled()
    assert "PYDANTIC_DISABLE_PLUGINS" not in os.environ


def test_validation_of_an_application_imports_neither_airflow_nor_clients_nor_models_of_clusters(
    tmp_path: Path,
) -> None:
    manifest = subprocess.run(
        [sys.executable, "-m", "airflow_provider_spark_operator.cli", "init"], capture_output=True, check=True
    )
    (tmp_path / "pi.yaml").write_bytes(manifest.stdout)
    # Older versions of pydantic and typing_extensions import asyncio themselves.
    code = (
        "import sys, pydantic, pydantic_core.core_schema\nbefore = set(sys.modules)\n"
        "from airflow_provider_spark_operator.cli import main\n"
        f"assert main(['validate', {str(tmp_path / 'pi.yaml')!r}]) == 0\nprint(*(set(sys.modules) - before))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    imported = set(run.stdout.split())
    assert "airflow_provider_spark_operator.core.models.application" in imported
    package = "airflow_provider_spark_operator"
    assert imported.isdisjoint(
        {"airflow", "aiohttp", "asyncio", "kubernetes", "rich", f"{package}.core.models.cluster"}
    )
