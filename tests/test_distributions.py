"""The wheels and source distributions: their contents, and that two builds give the same files."""

import email.message
import email.parser
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ADDRESS = "https://git.example.com/data/spark"


def build(target: str, source: Path, folder: Path, umask: int = -1) -> Path:
    """Build a distribution. Return its path."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True, timeout=120, umask=umask)
    (path,) = folder.iterdir()
    return path


def build_wheel(source: Path, folder: Path) -> zipfile.ZipFile:
    return zipfile.ZipFile(build("wheel", source, folder))


@pytest.fixture(scope="module", params=[".", "packages/local-kubernetes"], ids=["provider", "local-kubernetes"])
def source(request: pytest.FixtureRequest) -> Path:
    return ROOT / str(request.param)


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    return build_wheel(source, tmp_path_factory.mktemp("dist"))


@pytest.mark.parametrize("target", ["wheel", "sdist"])
def test_two_builds_give_the_same_file(source: Path, target: str, tmp_path: Path) -> None:
    changed = tmp_path / "source"
    ignored = shutil.ignore_patterns(".*", "__pycache__", "tests", "docs", "packages", "dist")
    shutil.copytree(source, changed, ignore=ignored, copy_function=shutil.copyfile)  # with other times and modes
    shutil.copyfile(ROOT / ".gitignore", changed / ".gitignore")  # a source distribution contains it

    first, second = build(target, source, tmp_path / "first"), build(target, changed, tmp_path / "second", umask=0o077)

    assert first.read_bytes() == second.read_bytes()


def test_source_distribution_contains_the_package_and_what_indexes_show(source: Path, tmp_path: Path) -> None:
    with tarfile.open(build("sdist", source, tmp_path)) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    (package,) = {name.partition("/")[0] for name in names if name.endswith("/py.typed")}

    assert {name for name in names if "/" not in name} - {"hatch_build.py", "project_urls.py", ".gitignore"} == {
        "CHANGELOG.md", "LICENSE", "NOTICE", "PKG-INFO", "README.md", "pyproject.toml"
    }  # fmt: skip
    assert {name.partition("/")[0] for name in names if "/" in name} == {package}


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
    assert metadata["Metadata-Version"] == "2.4"  # indexes reject versions that they do not know
    required = {requirement.replace(" ", "") for requirement in metadata.get_all("Requires-Dist") or ()}

    if metadata["Name"] == "local-kubernetes":
        assert {name.partition(">")[0] for name in required} == {"aiohttp", "cryptography", "pyyaml"}
    else:
        assert "local-kubernetes>=0.9.0rc1;extra=='local'" in required
        assert not [name for name in required if name.startswith("local-kubernetes") and "extra" not in name]


@pytest.mark.parametrize(
    ("setting", "variable", "address"),
    [("", "", ""), (ADDRESS, "https://other.example.com", ADDRESS), ("", ADDRESS, ADDRESS)],
)
def test_urls_and_readme_follow_the_address_of_the_repository(
    setting: str, variable: str, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REPOSITORY_ADDRESS", variable)
    source = tmp_path / "source"
    shutil.copytree(ROOT / "airflow_provider_spark_operator", source / "airflow_provider_spark_operator")
    for name in ("README.md", "LICENSE", "NOTICE", "hatch_build.py"):
        shutil.copy(ROOT / name, source)
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    line = re.compile(r'^repository = ".*"$', re.MULTILINE)
    assert len(line.findall(project)) == 1
    (source / "pyproject.toml").write_text(line.sub(f'repository = "{setting}"', project), encoding="utf-8")

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


def test_urls_of_local_kubernetes_follow_the_same_address(tmp_path: Path) -> None:
    source, setting = tmp_path / "source", re.compile(r'^repository = ".*"$', re.MULTILINE)
    shutil.copytree(ROOT / "packages" / "local-kubernetes", source, ignore=shutil.ignore_patterns("tests"))
    project = (source / "pyproject.toml").read_text(encoding="utf-8")
    assert setting.findall(project) == setting.findall((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    changed = setting.sub(f'repository = "{ADDRESS}"', project)
    (source / "pyproject.toml").write_text(changed, encoding="utf-8")

    urls = read_metadata(build_wheel(source, tmp_path / "dist")).get_all("Project-URL") or ()

    assert f"Repository, {ADDRESS}" in urls
    assert len(urls) == 4
