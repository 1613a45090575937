import pytest
import yaml

from airflow_provider_spark_operator.cli.files.documents import find_position

DOCUMENT = """\
metadata: &names {name: pi}
spec:
  sparkConf:
    spark.driver.memory: 1g
    "it's": x
  hosts:
  - name: a
  - {name: b}
  copy:
    <<: *names
    1: one
"""


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("", (1, 1)),
        ("metadata.name", (1, 19)),
        ("spec", (2, 1)),
        ("spec.sparkConf['spark.driver.memory']", (4, 5)),
        ('spec.sparkConf["it\'s"]', (5, 5)),
        ("spec.hosts[0]", (7, 5)),
        ("spec.hosts[1].name", (8, 6)),
        ("spec.copy.name", (1, 19)),
        ("spec.copy['1']", (11, 5)),
        ("spec.missing.name", (2, 1)),
        ("spec.hosts[2]", (6, 3)),
        ("spec.hosts.name", (6, 3)),
        ("spec.hosts[1].name.deeper", (8, 6)),
        ("the modules in spec", (1, 1)),
    ],
)
def test_position_is_that_of_the_key_or_of_its_owner(path: str, place: tuple[int, int]) -> None:
    node = yaml.compose(DOCUMENT, yaml.SafeLoader)
    assert node is not None
    mark = find_position(node, path)
    assert (mark.line + 1, mark.column + 1) == place
