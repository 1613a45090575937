import pytest
import yaml

from airflow_provider_spark_operator.core.driver.errors import DriverBuildError
from tests.core.driver.golden import CASES, REFUSED_BY_THE_API, Case

BUILT = [name for name in CASES if not Case(name).is_refused]
REFUSED = [name for name in CASES if Case(name).is_refused]


@pytest.mark.parametrize("name", BUILT)
def test_a_recorded_submission_is_built_equal(name: str) -> None:
    case = Case(name)
    assert case.built() == case.expected()


def test_a_pod_group_is_built_as_recorded_though_the_recording_api_server_refused_it() -> None:
    case = Case("volcano-file")
    assert [each for each in case.built() if each["kind"] == "PodGroup"] == case.expected()


@pytest.mark.parametrize("name", sorted(set(REFUSED) - REFUSED_BY_THE_API - {"volcano-file"}))
def test_what_spark_submit_refuses_is_refused(name: str) -> None:
    # Whoever reads a template file meets its bad YAML.
    with pytest.raises(yaml.YAMLError if name == "bad-template-yaml" else DriverBuildError):
        Case(name).build()


@pytest.mark.parametrize("name", sorted(REFUSED_BY_THE_API - {"bad-api-unreachable"}))
def test_what_only_the_api_refuses_is_built_as_it_was_sent(name: str) -> None:
    case = Case(name)
    assert case.built()[: len(case.expected())] == case.expected()
