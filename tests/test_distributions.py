"""The contents of the wheels of both distributions."""

import email.message
import email.parser
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module", params=[".", "packages/local-kubernetes"], ids=["provider", "local-kubernetes"])
def wheel(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT / request.param, check=True, capture_output=True, timeout=120)
    (path,) = folder.iterdir()
    return zipfile.ZipFile(path)


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
