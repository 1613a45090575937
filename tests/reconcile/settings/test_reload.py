import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from airflow_provider_spark_operator.core.lifecycle.decision import Settings
from airflow_provider_spark_operator.reconcile.reload import SettingsFile, follow_settings, read_mark
from airflow_provider_spark_operator.reconcile.serving.metrics import Metrics
from airflow_provider_spark_operator.reconcile.settings.settings import ControllerSettings, parse_yaml_settings
from tests.reconcile.harness import DEADLINE, get_value

BEFORE = "operatorName: ours\nreconcileIntervalSeconds: 60\n"


@asynccontextmanager
async def follow(path: Path) -> AsyncIterator[SettingsFile]:
    """Follow a settings file while the body runs."""

    def read() -> ControllerSettings:
        return parse_yaml_settings(path.read_text())

    mark = read_mark(str(path))
    file = SettingsFile(str(path), mark, read(), read, lambda settings: None, Metrics())
    async with follow_settings(file, pause=0.005):
        yield file


async def wait_until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(DEADLINE):
        while not condition():  # noqa: ASYNC110 - a file is no Event
            await asyncio.sleep(0.005)


def get_interval(settings: ControllerSettings) -> float:
    return settings.decisions.reconcile_interval.total_seconds()


async def test_change_of_the_file_is_applied(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    path = tmp_path / "controller.yaml"
    path.write_text(BEFORE)
    async with follow(path) as file:
        path.write_text("operatorName: ours\nreconcileIntervalSeconds: 5\nworkers: 3\n")
        await wait_until(lambda: get_interval(file.settings) == 5)
        assert file.settings == ControllerSettings(
            decisions=Settings(operator_name="ours", reconcile_interval=timedelta(seconds=5)), workers=3
        )
        assert get_value(file.metrics, "settings_changes_total", result="applied") == 1
    assert f"{path} has changed; applied: reconcileIntervalSeconds, workers" in caplog.text


async def test_swapped_link_of_a_config_map_is_noticed(tmp_path: Path) -> None:
    # The kubelet mounts a file as a link to `..data`, which is a link to the folder of the present version.
    for version, seconds in (("1", 60), ("2", 5)):
        folder = tmp_path / f"..{version}"
        folder.mkdir()
        (folder / "controller.yaml").write_text(f"reconcileIntervalSeconds: {seconds}\n")
    (tmp_path / "..data").symlink_to("..1")
    path = tmp_path / "controller.yaml"
    path.symlink_to("..data/controller.yaml")
    async with follow(path) as file:
        (tmp_path / "..next").symlink_to("..2")
        (tmp_path / "..next").rename(tmp_path / "..data")
        await wait_until(lambda: get_interval(file.settings) == 5)


async def test_invalid_file_is_logged_and_changes_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "controller.yaml"
    path.write_text(BEFORE)
    async with follow(path) as file:
        path.write_text("reconcileIntervalSeconds: soon\n")
        await wait_until(lambda: get_value(file.metrics, "settings_changes_total", result="refused") == 1)
        assert get_interval(file.settings) == 60
        path.write_text("operatorName: ours\nreconcileIntervalSeconds: 7\n")
        await wait_until(lambda: get_interval(file.settings) == 7)
    errors = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert errors == [
        "could not reload the settings: reconcileIntervalSeconds: must be a number, not 'soon'; "
        "the previous settings stay in force"
    ]


async def test_file_is_read_again_after_it_was_missing(tmp_path: Path) -> None:
    path = tmp_path / "controller.yaml"
    path.write_text(BEFORE)
    async with follow(path) as file:
        path.unlink()
        await wait_until(lambda: get_value(file.metrics, "settings_changes_total", result="refused") == 1)
        path.write_text("operatorName: ours\nreconcileIntervalSeconds: 7\n")
        await wait_until(lambda: get_interval(file.settings) == 7)


async def test_change_that_needs_a_restart_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "controller.yaml"
    path.write_text(BEFORE)
    async with follow(path) as file:
        path.write_text("operatorName: other\nreconcileIntervalSeconds: 5\nleaseName: other\n")
        await wait_until(lambda: get_interval(file.settings) == 5)
        assert file.settings.decisions.operator_name == "ours"
    (line,) = [record for record in caplog.records if record.levelname == "WARNING"]
    assert line.getMessage() == (
        f"{path} has changed; applied: reconcileIntervalSeconds; "
        "restart the controller to apply: operatorName, leaseName"
    )
