import pytest

from airflow_provider_spark_operator.core.spark.installation import advise_installation


@pytest.mark.parametrize(
    ("extra", "arguments"),
    [
        ("local", "./packages/local-kubernetes '.[local]'"),
        ("testing", "./packages/local-kubernetes '.[testing]'"),
        ("webhook", "'.[webhook]'"),
    ],
)
def test_extra_is_installed_with_the_local_packages_that_it_needs(extra: str, arguments: str) -> None:
    assert advise_installation(extra) == (
        f"run `pip install 'airflow-provider-spark-operator[{extra}]'`, "
        f"or in a clone of the repository `pip install {arguments}`"
    )
