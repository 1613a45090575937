import pytest

from airflow_provider_spark_operator.kube import errors
from airflow_provider_spark_operator.kube.errors import KubeError, from_status


def error(status: int, reason: str = "", message: str = "", **place: str | None) -> KubeError:
    where = {"verb": "create", "resource": "pods", "namespace": "jobs", "name": None, **place}
    return from_status(status, {"reason": reason, "message": message}, **where)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("status", "reason", "kind"),
    [
        (400, "BadRequest", errors.BadRequest),
        (401, "Unauthorized", errors.Unauthorized),
        (403, "Forbidden", errors.Forbidden),
        (404, "NotFound", errors.NotFound),
        (409, "AlreadyExists", errors.AlreadyExists),
        (409, "Conflict", errors.Conflict),
        (410, "Expired", errors.Gone),
        (422, "Invalid", errors.Invalid),
        (429, "TooManyRequests", errors.TooManyRequests),
        (500, "InternalError", errors.ServerError),
        (504, "", errors.ServerError),
        (405, "MethodNotAllowed", KubeError),
    ],
)
def test_each_answer_has_its_kind_of_error(status: int, reason: str, kind: type[KubeError]) -> None:
    assert type(error(status, reason)) is kind


def test_a_forbidden_call_names_the_missing_right() -> None:
    assert str(error(403, "Forbidden", "pods is forbidden")) == (
        'cannot create pods in namespace jobs: pods is forbidden; grant the verb "create" on pods in namespace jobs'
    )


def test_a_forbidden_call_in_all_namespaces_says_so() -> None:
    assert str(error(403, "Forbidden", "no", namespace=None)).endswith('grant the verb "create" on pods cluster-wide')


def test_an_unknown_kind_hints_at_its_definition() -> None:
    missing = error(404, "", "404 page not found", resource="sparkapplications.spark.apache.org")
    assert "is the definition of sparkapplications.spark.apache.org installed" in str(missing)


def test_a_missing_object_is_told_without_advice() -> None:
    missing = error(404, "NotFound", 'pods "a" not found', verb="get", name="a")
    assert str(missing) == 'cannot get pods a in namespace jobs: pods "a" not found'


def test_a_message_of_several_lines_becomes_one() -> None:
    assert "\n" not in str(error(422, "Invalid", "spec:\n  * a\n  * b"))


def test_an_answer_without_a_message_tells_its_code() -> None:
    assert str(error(418)) == "cannot create pods in namespace jobs: HTTP status 418"
