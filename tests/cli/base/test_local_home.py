"""The files of a local cluster that a command uses."""

import os
import sys
from pathlib import Path

import pytest

from airflow_provider_spark_operator.cli.base import local_home
from local_kubernetes.home_state import HomeState


def test_no_home_is_found_without_the_package_of_the_local_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_home, "find_spec", lambda _: None)
    monkeypatch.setitem(sys.modules, "local_kubernetes", None)
    assert local_home.find_running_home("config") is None
    assert local_home.find_pod_log("config", "jobs", "pi-0-driver") is None


def test_latest_log_of_a_deleted_pod_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(local_home, "find_running_home", lambda _: HomeState(tmp_path))
    assert local_home.find_pod_log("config", "jobs", "pi-0-driver") is None
    files = [tmp_path / "logs" / f"jobs_pi-0-driver_{uid}" / "spark" / "0.log" for uid in ("b", "a")]
    for time, file in enumerate(files):
        file.parent.mkdir(parents=True)
        file.touch()
        os.utime(file, (time, time))
    assert local_home.find_pod_log("config", "jobs", "pi-0-driver") == files[1]
    assert local_home.find_pod_log("config", "jobs", "pi") is None
