from typing import Any

import pytest

from airflow_provider_spark_operator.core.driver.pod.template import normalize_template


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
        ({"tolerations": [{"value": True}]}, {"tolerations": [{"value": "true"}]}),
        ({"hostAliases": [{"ip": 1, "hostnames": [1]}]}, {"hostAliases": [{"ip": "1", "hostnames": ["1"]}]}),
        ({"containers": [{"name": 5, "image": 1.5}]}, {"containers": [{"name": "5", "image": "1.5"}]}),
        ({"runAsUser": "1000", "supplementalGroups": ["1", 2]}, {"runAsUser": 1000, "supplementalGroups": [1, 2]}),
        ({"runAsUser": "me", "priority": "010"}, {"runAsUser": "me", "priority": 10}),
        ({"defaultMode": "0644", "mode": "420"}, {"defaultMode": 0o644, "mode": 420}),
        ({"defaultMode": "0o600", "mode": "0"}, {"defaultMode": 0o600, "mode": 0}),
        ({"hostNetwork": "true", "tty": "False", "stdin": "x"}, {"hostNetwork": True, "tty": False, "stdin": "x"}),
        ({"matchExpressions": [{"key": 1, "values": [1]}]}, {"matchExpressions": [{"key": "1", "values": ["1"]}]}),
        ({"exitCodes": {"operator": "In", "values": [1]}}, None),
        ({"httpGet": {"port": "80"}, "tcpSocket": {"port": 80}}, None),
        ({"options": [{"name": "a", "value": 2}]}, {"options": [{"name": "a", "value": "2"}]}),
        ({"unknown": {"number": 5, "text": "5", "truth": True}}, None),
        ({"spec": {"volumes": [{"hostPath": {"type": None}}]}}, {"spec": {"volumes": [{"hostPath": {}}]}}),
    ],
)  # fmt: skip
def test_template_is_normalized_to_the_types_of_the_api(given: dict[str, Any], expected: dict[str, Any] | None) -> None:
    assert normalize_template(given) == (given if expected is None else expected)
