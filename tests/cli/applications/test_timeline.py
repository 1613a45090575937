"""`spark-operator timeline` on a terminal."""

import json
import re
from pathlib import Path

import pytest

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.base.errors import ExitCode
from tests.cli.verbs import Verbs
from tests.cluster import Cluster


def test_bars_are_visible_on_light_and_dark_terminals(
    scripted_cluster: Cluster, monkeypatch: pytest.MonkeyPatch, run_verb: Verbs
) -> None:
    scripted_cluster.create("pi")
    run_verb("wait pi")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "24")
    shown = run_verb("timeline pi").out
    assert "\x1b[" in shown
    assert not any(code in shown for code in ("\x1b[37m", "\x1b[97m", "\x1b[30m"))
    plain = [re.sub("\x1b.*?m", "", line).rstrip() for line in shown.splitlines()]
    legend = [line for line in plain if line.startswith("█ ")]
    assert len(legend) > 1
    assert not any(line.endswith("█") for line in legend), "an entry of the legend is on one line"


def test_record_with_prices_contains_the_cost(scripted_cluster: Cluster, tmp_path: Path, run_verb: Verbs) -> None:
    scripted_cluster.create("pi")
    run_verb("wait pi")
    prices = tmp_path / "prices.json"
    prices.write_text('{"currency": "EUR", "prices": [{"coreHour": 3600000, "gibHour": 0}]}')
    cost = json.loads(run_verb(f"timeline pi -o json --prices {prices}").out)["totals"]["cost"]
    # A simulated pod can run for less than a second, and cost nothing.
    assert cost == {"amount": sum(cost[role] for role in ("driver", "executor")), "currency": "EUR"} | cost


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        (None, ["-o", "json"], "{}: cannot be read: no such file or directory"),
        ("[]", ["-o", "json"], '{}: must be a JSON object with the members "currency" and "prices"'),
        ("\xff", ["-o", "json"], "{}: cannot be read: not UTF-8 text (byte 0)"),
        (" " * 17_000_000, ["-o", "json"], "{}: cannot be read: larger than 16 MiB"),
        ("{}", [], "--prices needs --output json"),
    ],
    ids=["missing", "invalid", "not text", "too large", "without JSON"],
)
def test_prices_that_cannot_be_used_are_invalid_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str | None, arguments: list[str], message: str
) -> None:
    prices = tmp_path / "prices.json"
    if text is not None:
        prices.write_bytes(text.encode("latin-1"))
    assert main(["timeline", "pi", "--prices", str(prices), *arguments]) == ExitCode.INVALID
    assert message.format(prices) in "".join(capsys.readouterr().err.splitlines())
