import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from airflow_provider_spark_operator.core.decision import Settings
from airflow_provider_spark_operator.reconcile.metrics import Metrics
from airflow_provider_spark_operator.reconcile.reload import SettingsFile, follow_settings, read_mark
from airflow_provider_spark_operator.reconcile.settings import ControllerSettings, parse_yaml_settings
from tests.reconcile.stage import DEADLINE, value

BEFORE = "operatorName: ours\nreconcileIntervalSeconds: 60\n"


@asynccontextmanager
async def followed(path: Path) -> AsyncIterator[SettingsFile]:
    """A file that is followed beside the body."""

    def read() -> ControllerSettings:
        return parse_yaml_settings(path.read_text())

    mark = read_mark(str(path))
    file = SettingsFile(str(path), mark, read(), read, lambda settings: None, Metrics())
    async with follow_settings(file, pause=0.005):
        yield file


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(DEADLINE):
        while not condition():  # noqa: ASYNC110 - a file is no Event
            await asyncio.sleep(0.005)


def interval(settings: ControllerSettings) -> float:
    return settings.decisions.reconcile_interval.total_seconds()


async def test_what_changes_in_the_file_is_in_force(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    path = tmp_path / "controller.yaml"
    path.write_text(BEFORE)
    async with followed(path) as file:
        path.write_text("operatorName: ours\nreconcileIntervalSeconds: 5\nworkers: 3\n")
        await until(lambda: interval(file.settings) == 5)
        assert file.settings == ControllerSettings(
            decisions=Settings(operator_name="ours", reconcile_interval=timedelta(seconds=5)), workers=3
        )
        assert value(file.metrics, "settings_changes_total", result="applied") == 1
    assert f"{path} has changed, in force: reconcileIntervalSeconds, workers" in caplog.text


async def test_a_config_map_that_is_swapped_by_its_link_is_seen(tmp_path: Path) -> None:
    # As the kubelet does: the file is a link into ..data, which is a link to a folder of its own for each version.
    for version, seconds in (("1", 60), ("2", 5)):
        folder = tmp_path / f"..{version}"
        folder.mkdir()
        (folder / "controller.yaml").write_text(f"reconcileIntervalSeconds: {seconds}\n")
    (tmp_path / "..data").symlink_to("..1")
    path = tmp_path / "controller.yaml"
    path.symlink_to("..data/controller.yaml")
    async with followed(path) as file:
        (tmp_path / "..next").symlink_to("..2")
        (tmp_path / "..next").rename(tmp_path / "..data")
        await until(lambda: interval(file.settings) == 5)


async def test_a_file_that_cannot_be_used_changes_nothing_and_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "controller.yaml"
    path.write_text(BEFORE)
    async with followed(path) as file:
        path.write_text("reconcileIntervalSeconds: soon\n")
        await until(lambda: value(file.metrics, "settings_changes_total", result="refused") == 1)
        assert interval(file.settings) == 60
        path.write_text("operatorName: ours\nreconcileIntervalSeconds: 7\n")
        await until(lambda: interval(file.settings) == 7)
    errors = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert errors == ["reconcileIntervalSeconds: a number is wanted, not 'soon'; the settings stay as they were"]


async def test_a_file_that_is_away_for_a_while_is_read_when_it_is_back(tmp_path: Path) -> None:
    path = tmp_path / "controller.yaml"
    path.write_text(BEFORE)
    async with followed(path) as file:
        path.unlink()
        await until(lambda: value(file.metrics, "settings_changes_total", result="refused") == 1)
        path.write_text("operatorName: ours\nreconcileIntervalSeconds: 7\n")
        await until(lambda: interval(file.settings) == 7)


async def test_what_only_a_restart_changes_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "controller.yaml"
    path.write_text(BEFORE)
    async with followed(path) as file:
        path.write_text("operatorName: other\nreconcileIntervalSeconds: 5\nleaderElection: true\n")
        await until(lambda: interval(file.settings) == 5)
        assert file.settings.decisions.operator_name == "ours"
    (line,) = [record for record in caplog.records if record.levelname == "WARNING"]
    assert line.getMessage() == (
        f"{path} has changed, in force: reconcileIntervalSeconds; only with a restart: operatorName, leaderElection"
    )
