import pytest

from airflow_provider_spark_operator.kube import errors
from airflow_provider_spark_operator.kube.call import Call
from airflow_provider_spark_operator.kube.errors import KubeError, build_error_from_status
from airflow_provider_spark_operator.kube.resources import SPARK_APPLICATIONS


def build_error(status: int, reason: str = "", message: str = "", **place: str | None) -> KubeError:
    where = {"verb": "create", "resource": "pods", "namespace": "jobs", "name": None, **place}
    return build_error_from_status(status, {"reason": reason, "message": message}, **where)  # type: ignore[arg-type]


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
    assert type(build_error(status, reason)) is kind


def test_forbidden_request_names_the_missing_permission() -> None:
    text = 'pods is forbidden: User "a" cannot create resource "pods" in API group "" in the namespace "jobs"'
    advice = 'grant the verb "create" on pods in namespace jobs'
    assert str(build_error(403, "Forbidden", text)) == f"could not create pods in namespace jobs: {text}; {advice}"


def test_forbidden_call_in_all_namespaces_names_the_scope() -> None:
    text = 'User "a" cannot create resource "pods" in API group "" at the cluster scope'
    assert str(build_error(403, "Forbidden", text, namespace=None)).endswith(
        'grant the verb "create" on pods cluster-wide'
    )


@pytest.mark.parametrize(
    "message",
    [
        pytest.param('pods "pi" is forbidden: exceeded quota: small, requested: pods=1, used: pods=1', id="quota"),
        pytest.param(
            'pods "pi" is forbidden: error looking up service account jobs/spark: serviceaccount "spark" not found',
            id="service account",
        ),
        pytest.param('pods "pi" is forbidden: violates PodSecurity "restricted:latest"', id="pod security"),
        pytest.param('admission webhook "images" denied the request: cannot create pods of old images', id="webhook"),
        pytest.param(
            "unable to create new content in namespace jobs because it is being terminated", id="namespace going"
        ),
        pytest.param(
            'users "b" is forbidden: User "a" cannot impersonate resource "users" in API group "" at the cluster scope',
            id="impersonation",
        ),
    ],
)
def test_forbidden_request_without_missing_permission_has_no_advice(message: str) -> None:
    assert str(build_error(403, "Forbidden", message)) == f"could not create pods in namespace jobs: {message}"


def test_unknown_kind_advises_to_check_its_definition() -> None:
    missing = build_error(404, "", "404 page not found", resource="sparkapplications.spark.apache.org")
    assert "check that the CustomResourceDefinition of sparkapplications.spark.apache.org is installed" in str(missing)


def test_missing_object_has_no_advice() -> None:
    missing = build_error(404, "NotFound", 'pods "a" not found', verb="get", name="a")
    assert str(missing) == 'could not get pods a in namespace jobs: pods "a" not found'


@pytest.mark.parametrize(
    ("kind", "verb", "sentence"),
    [
        (
            "applications",
            "get",
            "SparkApplication a not found in namespace jobs: `spark-operator list -n jobs` shows others",
        ),
        (
            "clusters",
            "get",
            "SparkCluster a not found in namespace jobs: `spark-operator cluster list -n jobs` shows others",
        ),
        (
            "applications",
            "patch",
            "could not patch sparkapplications.spark.apache.org a in namespace jobs: "
            'sparkapplications.spark.apache.org "a" not found',
        ),
    ],
)
def test_missing_resource_of_spark_is_named_as_users_name_it(kind: str, verb: str, sentence: str) -> None:
    resource = f"spark{kind}.spark.apache.org"
    missing = build_error(404, "NotFound", f'{resource} "a" not found', verb=verb, name="a", resource=resource)
    assert str(missing) == sentence
    if isinstance(missing, errors.NotFound) and verb == "get":
        missing.similar_name = "b"
        assert str(missing).endswith(" a not found in namespace jobs; did you mean b?")


def test_message_of_several_lines_becomes_one() -> None:
    assert "\n" not in str(build_error(422, "Invalid", "spec:\n  * a\n  * b"))


def test_answer_without_message_shows_its_status_code() -> None:
    assert str(build_error(418)) == "could not create pods in namespace jobs: HTTP status 418"


def test_failed_discovery_names_no_namespace() -> None:
    call = Call("get", "GET", SPARK_APPLICATIONS, None, address="/apis/spark.apache.org/v1")
    assert str(call.build_unreachable("Connection refused")) == (
        "could not discover sparkapplications.spark.apache.org: Connection refused"
    )
