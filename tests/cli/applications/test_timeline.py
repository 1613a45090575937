"""`spark-operator timeline` on a terminal."""

import pytest

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.base.exit_codes import ExitCode
from tests.cluster import Cluster


def test_bars_are_visible_on_light_and_dark_terminals(
    scripted_cluster: Cluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    scripted_cluster.create("pi")
    assert main(["wait", "pi"]) == ExitCode.SUCCESS
    capsys.readouterr()
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert main(["timeline", "pi"]) == ExitCode.SUCCESS
    shown = capsys.readouterr().out
    assert "\x1b[" in shown
    assert not any(code in shown for code in ("\x1b[37m", "\x1b[97m", "\x1b[30m"))
