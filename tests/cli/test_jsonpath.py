import pytest

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
        ("{.items[7].metadata.name}", ""),
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
        ("{.kind", "unsupported expression '{.kind'"),
        ("{range .items[*]}x", "{range} without {end}"),
        ("{end}", "{end} without {range}"),
        ("{.a[b]}", "unsupported expression '[b]'"),
        ("{.items[?(@.x==Running)]}", "unsupported value 'Running': quote texts"),
        ("{range .x}" * 30, "more than 20 nested ranges"),
    ],
)
def test_unsupported_template_is_reported(template: str, problem: str) -> None:
    with pytest.raises(InvalidTemplate) as caught:
        parse_template(template)
    assert str(caught.value) == problem
