"""The table of Kubeflow's fields is the table of the code."""

from tests.docs.list_conversions import PAGE, build_table, replace_table


def test_table_of_fields_is_current() -> None:
    text = PAGE.read_text()
    assert build_table() in text
    assert replace_table(text) == text


def test_table_of_fields_has_one_row_for_each_field() -> None:
    paths = [line.split("|")[1] for line in build_table().splitlines()[2:]]
    assert sorted(paths) == sorted(set(paths))
