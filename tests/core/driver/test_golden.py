import pytest
import yaml

from airflow_provider_spark_operator.core.driver.configuration.configuration import DriverBuildError
from tests.core.driver.golden import CASES, REFUSED_BY_THE_API, Case

BUILT = [name for name in CASES if not Case(name).is_refused]
REFUSED = [name for name in CASES if Case(name).is_refused]


@pytest.mark.parametrize("name", BUILT)
def test_build_equals_recorded_submission(name: str) -> None:
    case = Case(name)
    assert case.build_documents() == case.load_expected()


def test_pod_group_equals_recorded_request_that_the_api_server_rejected() -> None:
    case = Case("volcano-file")
    assert [each for each in case.build_documents() if each["kind"] == "PodGroup"] == case.load_expected()


@pytest.mark.parametrize("name", sorted(set(REFUSED) - REFUSED_BY_THE_API - {"volcano-file"}))
def test_submission_that_spark_submit_refuses_is_refused(name: str) -> None:
    # The reader of a template file, not the build, detects invalid YAML.
    with pytest.raises(yaml.YAMLError if name == "bad-template-yaml" else DriverBuildError):
        Case(name).build()


@pytest.mark.parametrize("name", sorted(REFUSED_BY_THE_API - {"bad-api-unreachable"}))
def test_build_equals_recorded_requests_that_only_the_api_rejected(name: str) -> None:
    case = Case(name)
    assert case.build_documents()[: len(case.load_expected())] == case.load_expected()
