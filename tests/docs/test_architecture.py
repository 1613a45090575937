"""The architecture page describes each package, and its paths exist."""

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
PROVIDER = REPOSITORY / "airflow_provider_spark_operator"
LOCAL_KUBERNETES = REPOSITORY / "packages" / "local-kubernetes" / "local_kubernetes"
PAGE = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")
PATHS = sorted(set(re.findall(r"`([\w./-]+(?:/|\.py|\.md|\.toml))`", PAGE)))


def list_packages(folder: Path) -> list[Path]:
    return sorted(path.parent for path in folder.glob("*/__init__.py"))


def list_names() -> list[str]:
    packages = [*list_packages(PROVIDER), *list_packages(PROVIDER / "core")]
    modules = [path for path in PROVIDER.glob("*.py") if path.name != "__init__.py"]
    return [
        *(f"{package.relative_to(PROVIDER)}/" for package in packages),
        *(module.name for module in sorted(modules)),
        *(f"{package.relative_to(REPOSITORY)}/" for package in list_packages(LOCAL_KUBERNETES)),
    ]


@pytest.mark.parametrize("name", list_names())
def test_package_or_root_module_has_a_paragraph(name: str) -> None:
    assert f"**`{name}`**" in PAGE


@pytest.mark.parametrize("path", PATHS)
def test_path_on_the_page_exists(path: str) -> None:
    assert (PROVIDER / path).exists() or (REPOSITORY / path).exists()


def test_page_has_paths() -> None:
    assert len(PATHS) > 20
