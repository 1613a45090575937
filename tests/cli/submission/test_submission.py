import zipfile
from pathlib import Path

import pytest

from airflow_provider_spark_operator.cli.submission.submission import read_main_class

MANIFEST = "META-INF/MANIFEST.MF"


def read_from_jar(folder: Path, manifest: str, entry: str = MANIFEST) -> str | None:
    path = folder / "app.jar"
    with zipfile.ZipFile(path, "w") as jar:
        jar.writestr(entry, manifest)
    return read_main_class(str(path))


@pytest.mark.parametrize(
    ("manifest", "name"),
    [
        ("Manifest-Version: 1.0\r\nMain-Class: a.B\r\n\r\n", "a.B"),
        ("main-class: a.B\n", "a.B"),
        ("Main-Class: a.long\n .Name\n", "a.long.Name"),
        ("Main-Class: a.A\nMain-Class: a.B\n", "a.B"),
        ("Main-Class: a.B", None),
        ("Main-Class: \n", None),
        ("Manifest-Version: 1.0\n\nMain-Class: a.B\n", None),
        ("", None),
    ],
)
def test_main_class_is_read_from_the_manifest(manifest: str, name: str | None, tmp_path: Path) -> None:
    assert read_from_jar(tmp_path, manifest) == name


def test_invalid_jar_has_no_main_class(tmp_path: Path) -> None:
    assert read_from_jar(tmp_path, "Main-Class: a.B\n", "other") is None
    (tmp_path / "text.jar").write_text("text")
    assert read_main_class(str(tmp_path / "text.jar")) is None
    assert read_main_class(str(tmp_path / "none.jar")) is None
    assert read_main_class(str(tmp_path)) is None
