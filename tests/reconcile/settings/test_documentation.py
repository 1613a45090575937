import re
from datetime import timedelta
from pathlib import Path

from airflow_provider_spark_operator.reconcile.settings.settings import SETTINGS, ControllerSettings

PAGE = Path(__file__).parents[3] / "docs" / "operations" / "controller.md"
COMPUTED = {"watchedNamespaces", "leaseNamespace"}


def format_default(value: object) -> str:
    """Return the default of a setting as the page shows it."""
    if isinstance(value, timedelta):
        return f"{value.total_seconds():g}"
    if isinstance(value, float):
        return f"{value:g}"
    if value in (None, ()):
        return "none"
    return ", ".join(value) if isinstance(value, tuple) else str(value).lower()


def test_every_setting_is_documented_with_both_keys_and_its_default() -> None:
    page = PAGE.read_text(encoding="utf-8").replace("`", "")
    rows = re.findall(r"^\| (\w+) \| (?:([\w.]+)|—) \| ([^|]+) \| .+ \|$", page, re.MULTILINE)
    documented = [(ours, theirs or None, "" if ours in COMPUTED else default) for ours, theirs, default in rows]
    assert sorted(documented) == sorted(
        (each.yaml_key, each.property_key, format_default(each.get(ControllerSettings())))
        if each.yaml_key not in COMPUTED
        else (each.yaml_key, each.property_key, "")
        for each in SETTINGS
    )
