"""Problems of resources, and the names in their messages."""

from airflow_provider_spark_operator.core.kubernetes.problems import join_first


def test_first_of_many_names_are_named() -> None:
    assert join_first(["a", "b"], 5) == "a, b"
    assert join_first(list("abcdefgh"), 5) == "a, b, c, d, e and 3 more"
