import pytest

from airflow_provider_spark_operator.cli.errors import CommandError
from airflow_provider_spark_operator.cli.jsonpath import InvalidTemplate, Json, parse_template

PODS: Json = {
    "kind": "List",
    "items": [
        {"metadata": {"name": "a", "labels": {"spark.io/role": "driver"}}, "status": {"restarts": 3, "ready": True}},
        {"metadata": {"name": "b", "labels": {}}, "status": {"restarts": 0, "ready": False, "phase": "Running"}},
    ],
}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{.kind}", "List"),
        ("{$.kind}", "List"),
        ("{kind}", "List"),
        ("kind={.kind};", "kind=List;"),
        ("{.items[*].metadata.name}", "a b"),
        ("{.items[0].metadata.name}", "a"),
        ("{.items[-1].metadata.name}", "b"),
        ("{.items[0:1].metadata.name}", "a"),
        ("{.items[::2].metadata.name}", "a"),
        ("{.items[0:2:1].metadata.name}", "a b"),
        ("{.items[0,1].metadata.name}", "a b"),
        ("{.items[0].status['restarts','ready', 'phase']}", "3 true"),
        ("{.kind[0]}", ""),
        ("{.nothing.there}", ""),
        ("{..name}", "a b"),
        ("{.items[0].metadata.labels.spark\\.io/role}", "driver"),
        ("{.items[0].metadata.labels['spark.io/role']}", "driver"),
        ("{.items[0].status}", '{"restarts":3,"ready":true}'),
        ("{.items[0].status.*}", "3 true"),
        ('{.items[?(@.status.phase=="Running")].metadata.name}', "b"),
        ("{.items[?(@.status.restarts>1)].metadata.name}", "a"),
        ('{.items[?(@.status.restarts>"x")].metadata.name}', ""),
        ("{.items[?(@.status.phase)].metadata.name}", "b"),
        ('{range .items[*]}{.metadata.name}{"\\t"}{.status.restarts}{"\\n"}{end}', "a\t3\nb\t0\n"),
        ('{range .items[*]}{range .status.*}{@}{";"}{end}{end}', "3;true;0;false;Running;"),
        ("{'{'}", "{"),
    ],
)
def test_template_gives_what_kubectl_prints(template: str, text: str) -> None:
    assert parse_template(template).render(PODS) == text


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("", "it is empty"),
        ("{.items[::0]}", "the step of [::0] must be at least 1"),
        ("{.kind", "unsupported expression '{.kind'"),
        ("{range .items[*]}x", "{range} without {end}"),
        ("{end}", "{end} without {range}"),
        ("{.a[b]}", "unsupported expression '[b]'"),
        ("{.items[?(@.x==Running)]}", "unsupported value 'Running': quote texts"),
        ("{range .x}" * 30, "more than 20 nested {range} blocks"),
    ],
)
def test_unsupported_template_is_reported(template: str, problem: str) -> None:
    with pytest.raises(InvalidTemplate) as caught:
        parse_template(template)
    assert str(caught.value) == problem


@pytest.mark.parametrize("index", [2, -3])
def test_index_out_of_range_is_an_error(index: int) -> None:
    with pytest.raises(CommandError, match=f"the index {index} is out of range: the list has 2 entries"):
        parse_template(f"{{.items[{index}].kind}}").render(PODS)
