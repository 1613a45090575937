"""The table of the controller's permissions lists exactly the rules of its manifest."""

from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]


def test_table_lists_the_permissions_of_the_manifest() -> None:
    assert sorted(list_rows()) == sorted(list_rules())


def list_rows() -> list[tuple[str, str, str]]:
    """Return the API group, resource and verbs of each row."""
    page = (ROOT / "docs/concepts/security.md").read_text()
    section = page.partition("### Permissions of the controller\n")[2].partition("\n### ")[0]
    table = [line.split("|")[1:4] for line in section.splitlines() if line.startswith("|")][2:]
    rows = [[cell.strip().replace("`", "") for cell in cells] for cells in table]
    return [(group, resource, verbs) for group, resources, verbs in rows for resource in resources.split(", ")]


def list_rules() -> list[tuple[str, str, str]]:
    """Return the API group, resource and verbs of each rule."""
    role: dict[str, Any] = yaml.safe_load((ROOT / "docs/manifests/controller.yaml").read_text())
    return [
        (group or "core", resource, ", ".join(rule["verbs"]))
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    ]
