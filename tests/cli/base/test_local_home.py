"""The files of a local cluster that a command uses."""

import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from airflow_provider_spark_operator.cli.base import local_home
from local_kubernetes.home_state import HomeState
from local_kubernetes.kubelet.containers.container_log import ContainerLog


def test_no_home_is_found_without_the_package_of_the_local_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_home, "find_spec", lambda _: None)
    monkeypatch.setitem(sys.modules, "local_kubernetes", None)
    assert local_home.find_running_home("config") is None
    assert find_pod_log() is None


def test_latest_log_of_a_deleted_pod_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(local_home, "find_running_home", lambda *_: HomeState(tmp_path))
    assert find_pod_log() is None
    files = [tmp_path / "logs" / f"jobs_pi-0-driver_{uid}" / "spark" / "0.log" for uid in ("b", "a")]
    for time, file in enumerate(files):
        file.parent.mkdir(parents=True)
        file.touch()
        os.utime(file, (time, time))
    assert find_pod_log() == files[1]
    assert find_pod_log(pod="pi") is None


@pytest.mark.parametrize(("namespace", "pod"), [("jobs", "*"), ("jobs", "../pi"), ("..", "pi"), ("*", "pi-0-driver")])
def test_name_that_is_no_name_of_a_pod_finds_no_log(
    namespace: str, pod: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(local_home, "find_running_home", lambda *_: HomeState(tmp_path))
    write_log(tmp_path)
    assert find_pod_log(namespace, pod) is None


@pytest.mark.parametrize("part", ["", "spark", "spark/0.log", "spark/0.log.1"])
def test_link_to_another_file_is_no_log(part: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(local_home, "find_running_home", lambda *_: HomeState(tmp_path))
    linked = write_log(tmp_path).parents[1] / part
    other = tmp_path / "other"
    if linked.exists():
        linked.rename(other)
    else:
        other.touch()
    linked.symlink_to(other)
    assert find_pod_log() is None


def test_log_of_another_user_is_not_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(local_home, "find_running_home", lambda *_: HomeState(tmp_path))
    write_log(tmp_path)
    monkeypatch.setattr(os, "getuid", lambda: tmp_path.stat().st_uid + 1)
    assert find_pod_log() is None


def test_last_lines_of_a_log_are_read(tmp_path: Path) -> None:
    file = write_log(tmp_path)
    assert list(local_home.read_pod_log(file, None, None)) == []
    log = ContainerLog(file)
    log.write("stdout", b"one\ntwo\n\nfour\n")
    log.close()
    assert list(local_home.read_pod_log(file, None, None)) == ["one", "two", "", "four"]
    assert list(local_home.read_pod_log(file, None, 2)) == ["", "four"]
    assert list(local_home.read_pod_log(file, datetime.now(UTC) + timedelta(hours=1), None)) == []


def find_pod_log(namespace: str = "jobs", pod: str = "pi-0-driver") -> Path | None:
    return local_home.find_pod_log("config", "https://127.0.0.1:1", namespace, pod)


def write_log(home: Path) -> Path:
    file = home / "logs" / "jobs_pi-0-driver_a" / "spark" / "0.log"
    file.parent.mkdir(parents=True)
    file.touch()
    return file
