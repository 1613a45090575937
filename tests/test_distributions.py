"""The contents of the wheels of both distributions."""

import email.message
import email.parser
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def build_wheel(source: Path, folder: Path) -> zipfile.ZipFile:
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True, timeout=120)
    (path,) = folder.iterdir()
    return zipfile.ZipFile(path)


@pytest.fixture(scope="module", params=[".", "packages/local-kubernetes"], ids=["provider", "local-kubernetes"])
def wheel(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    return build_wheel(ROOT / request.param, tmp_path_factory.mktemp("dist"))


def read_metadata(wheel: zipfile.ZipFile) -> email.message.Message:
    (name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    return email.parser.Parser().parsestr(wheel.read(name).decode())


def test_wheel_contains_one_package_and_its_license(wheel: zipfile.ZipFile) -> None:
    package = read_metadata(wheel)["Name"].replace("-", "_")
    folders = {name.partition("/")[0] for name in wheel.namelist()}

    assert {folder for folder in folders if not folder.endswith(".dist-info")} == {package}
    assert {name.rpartition("/")[2] for name in wheel.namelist()} >= {"py.typed", "LICENSE", "NOTICE"}
    assert not [name for name in wheel.namelist() if "tests/" in name]


def test_wheel_lists_its_requirements(wheel: zipfile.ZipFile) -> None:
    metadata = read_metadata(wheel)
    required = {requirement.replace(" ", "") for requirement in metadata.get_all("Requires-Dist") or ()}

    if metadata["Name"] == "local-kubernetes":
        assert {name.partition(">")[0] for name in required} == {"aiohttp", "cryptography", "pyyaml"}
    else:
        assert "local-kubernetes>=0.1.0;extra=='local'" in required
        assert not [name for name in required if name.startswith("local-kubernetes") and "extra" not in name]


@pytest.mark.parametrize("address", ["", "https://git.example.com/data/spark"])
def test_urls_and_readme_follow_the_address_of_the_repository(address: str, tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(ROOT / "airflow_provider_spark_operator", source / "airflow_provider_spark_operator")
    for name in ("README.md", "LICENSE", "NOTICE", "hatch_build.py"):
        shutil.copy(ROOT / name, source)
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    setting = re.compile(r'^repository = ".*"$', re.MULTILINE)
    assert len(setting.findall(project)) == 1
    (source / "pyproject.toml").write_text(setting.sub(f'repository = "{address}"', project), encoding="utf-8")

    metadata = read_metadata(build_wheel(source, tmp_path / "dist"))

    readme, text = str(metadata.get_payload()), (ROOT / "README.md").read_text(encoding="utf-8")
    urls = dict(url.split(", ", 1) for url in metadata.get_all("Project-URL") or ())
    if address:
        assert urls["Repository"] == address
        assert not re.findall(r'(?:\]\(|(?:src|srcset)=")(?!https://|#)', readme)
        assert f"]({address}/blob/v" in readme
        assert f"{address}/raw/v" in readme
    else:
        assert urls == {}
        assert readme.strip() == text.strip()
