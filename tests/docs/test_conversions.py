"""The table of Kubeflow's fields is the table of the code."""

from tests.docs.list_conversions import PAGE, build_table, replace_table


def test_table_of_fields_is_current() -> None:
    text = PAGE.read_text()
    assert build_table() in text
    assert replace_table(text) == text
