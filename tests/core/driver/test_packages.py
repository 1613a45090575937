import pytest

from airflow_provider_spark_operator.core.driver.configuration.configuration import DriverBuildError
from airflow_provider_spark_operator.core.driver.submission import EXCLUDES_KEY, PACKAGES_KEY, check_packages


@pytest.mark.parametrize("packages", ["", " ", ",", "a:b:c", "a/b/c", "a:b:c:", "a:b:c,d:e:f,"])
def test_packages_with_three_parts_are_accepted(packages: str) -> None:
    check_packages({PACKAGES_KEY: packages})


@pytest.mark.parametrize("packages", ["a", "a:b", "a::c", "a:b: ", ":b:c", "a:b:c:d", "a:b:c,,d:e:f"])
def test_packages_in_other_forms_are_refused(packages: str) -> None:
    with pytest.raises(DriverBuildError, match="must have the form group:artifact:version") as refusal:
        check_packages({PACKAGES_KEY: packages})
    assert refusal.value.field == PACKAGES_KEY


def test_exclusions_are_checked_only_if_there_are_packages() -> None:
    check_packages({EXCLUDES_KEY: "a"})
    check_packages({PACKAGES_KEY: "a:b:c", EXCLUDES_KEY: "d:e,f:g"})
    check_packages({PACKAGES_KEY: "a:b:c", EXCLUDES_KEY: " "})
    with pytest.raises(DriverBuildError, match="must have the form group:artifact"):
        check_packages({PACKAGES_KEY: "a:b:c", EXCLUDES_KEY: "d"})
