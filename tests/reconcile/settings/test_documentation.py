import re
from pathlib import Path

from airflow_provider_spark_operator.reconcile.settings.settings import SETTING_KEYS

PAGE = Path(__file__).parents[3] / "docs" / "operations" / "controller.md"


def test_every_setting_is_documented_with_both_keys() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (?:`([\w.]+)`|—) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert {ours: theirs or None for ours, theirs in rows} == SETTING_KEYS
