"""`spark-operator roles` prints the manifests of the documentation."""

from pathlib import Path

import pytest
import yaml

from airflow_provider_spark_operator.cli.controller import roles
from tests.cli.verbs import Verbs

DOCUMENTED = Path(__file__).parents[3] / "docs" / "manifests"
PACKAGED = Path(roles.__file__).with_name("manifests")


def test_packaged_manifests_are_those_of_the_documentation() -> None:
    packaged, documented = ({path.name: path.read_text() for path in each.iterdir()} for each in (PACKAGED, DOCUMENTED))
    assert packaged == documented, f"copy {DOCUMENTED} to {PACKAGED}"


@pytest.mark.parametrize("audience", [[], *(["--for", audience] for audience in roles.Audience)], ids=" ".join)
def test_namespace_is_set_in_each_manifest_that_has_one(audience: list[str], run_verb: Verbs) -> None:
    plain = list(yaml.safe_load_all(run_verb(["roles", *audience]).out))
    placed = list(yaml.safe_load_all(run_verb(["roles", *audience, "-n", "123"]).out))
    assert [each["metadata"].pop("namespace", None) for each in placed] == [
        None if each["kind"] == "ClusterRole" else "123" for each in plain
    ]
    assert placed == plain


def test_all_manifests_are_printed_once(run_verb: Verbs) -> None:
    printed = list(yaml.safe_load_all(run_verb("roles").out))
    stored = [one for path in DOCUMENTED.iterdir() for one in yaml.safe_load_all(path.read_text())]
    names = [(one["kind"], one["metadata"]["name"]) for one in printed]
    assert len(names) == len(set(names)) == len(stored)


def test_users_of_the_command_line_get_both_roles(run_verb: Verbs) -> None:
    names = [one["metadata"]["name"] for one in yaml.safe_load_all(run_verb("roles --for cli").out)]
    assert names == ["airflow-spark-operator", "spark-operator-command-line"]
