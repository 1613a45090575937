import pytest

from airflow_provider_spark_operator.core.driver.plain_template import plain


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"hostname": None, "tolerations": [], "nodeSelector": {}}, {}),
        ({"emptyDir": {}, "securityContext": {}, "tty": False, "priority": 0}, None),
        ({"labels": {"a": 5, "b": True, "c": 0.5}}, {"labels": {"a": "5", "b": "true", "c": "0.5"}}),
        ({"resources": {"limits": {"cpu": 1, "x/y": 2}}}, {"resources": {"limits": {"cpu": "1", "x/y": "2"}}}),
        ({"env": [{"name": "A", "value": 1}]}, {"env": [{"name": "A", "value": "1"}]}),
        ({"env": [{"name": "B", "value": None}]}, {"env": [{"name": "B"}]}),
        ({"emptyDir": {"sizeLimit": 5}}, {"emptyDir": {"sizeLimit": "5"}}),
        ({"args": [1, "a"]}, {"args": ["1", "a"]}),
        ({"spec": {"volumes": [{"hostPath": {"type": None}}]}}, {"spec": {"volumes": [{"hostPath": {}}]}}),
    ],
)  # fmt: skip
def test_a_template_is_passed_on_as_the_api_wants_it(given, expected):
    assert plain(given) == (given if expected is None else expected)
