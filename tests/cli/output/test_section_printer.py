import pytest

from airflow_provider_spark_operator.cli.output.section_printer import SectionPrinter


def test_lines_keep_their_indentation_and_no_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    SectionPrinter().print_lines(["Traceback:", '  File "a.py", line 3', "    x  =\t1\033[2J"])
    assert capsys.readouterr().out.splitlines() == ["  Traceback:", '    File "a.py", line 3', "      x = 1\\x1b[2J"]
