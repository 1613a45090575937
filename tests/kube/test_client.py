import asyncio
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from airflow_provider_spark_operator.kube import transport
from airflow_provider_spark_operator.kube.client import KubeClient, PatchType
from airflow_provider_spark_operator.kube.collection import WatchEvent
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.errors import (
    BadRequest,
    Gone,
    KubeError,
    LogUnavailable,
    NotFound,
    ServerError,
    TooManyRequests,
    Unauthorized,
    Unreachable,
)
from airflow_provider_spark_operator.kube.resources import NAMESPACES, PODS, SPARK_APPLICATIONS, SPARK_CLUSTERS
from tests.kube.scripted_api import (
    SHORT_PAUSES,
    Answer,
    ScriptedApi,
    answer,
    answer_page,
    answer_text,
    build_error_event,
    build_event,
    build_kubeconfig,
    deny,
    hang,
    hang_up,
    refuse,
    stream,
)

POD = {"metadata": {"name": "a"}}


async def collect_events(client: KubeClient) -> list[WatchEvent]:
    async with aclosing(client.watch(PODS, "jobs", resource_version="5")) as events:
        return [one async for one in events]


async def read_log(client: KubeClient, **options: object) -> list[str]:
    async with aclosing(client.logs("jobs", "a", **options)) as lines:  # type: ignore[arg-type]
        return [line async for line in lines]


async def test_request_carries_its_credentials_and_asks_for_json(api: ScriptedApi, client: KubeClient) -> None:
    api.script(answer(POD))
    assert await client.get(PODS, "a", "jobs") == POD
    (seen,) = api.requests
    assert (seen.method, seen.path) == ("GET", "/api/v1/namespaces/jobs/pods/a")
    assert seen.headers["Authorization"] == "Bearer secret-token"
    assert seen.headers["Accept"].startswith("application/json")
    assert seen.headers["User-Agent"].startswith("airflow-provider-spark-operator/")


async def test_kinds_without_a_namespace_have_none_in_their_path(api: ScriptedApi, client: KubeClient) -> None:
    api.script(answer(POD))
    await client.get(NAMESPACES, "jobs", None)
    assert api.requests[0].path == "/api/v1/namespaces/jobs"


@pytest.mark.parametrize("name", ["", "..", "a/b", "a?x=y", "%2e%2e"])
async def test_name_that_would_address_something_else_is_not_sent(
    api: ScriptedApi, client: KubeClient, name: str
) -> None:
    with pytest.raises(BadRequest, match="not a valid name"):
        await client.delete(PODS, name, "jobs")
    assert api.requests == []


async def test_list_is_read_page_by_page(api: ScriptedApi, client: KubeClient) -> None:
    api.script(answer_page({"metadata": {"name": "a"}}, token="more"), answer_page({"metadata": {"name": "b"}}))
    found = await client.list(PODS, "jobs", label_selector="x=y")
    assert [item["metadata"]["name"] for item in found.items] == ["a", "b"]
    assert found.resource_version == "10"
    assert [item["kind"] for item in found.items] == ["Pod", "Pod"]
    assert [seen.query for seen in api.requests] == [
        {"limit": "50", "labelSelector": "x=y"},
        {"limit": "400", "labelSelector": "x=y", "continue": "more"},
    ]


async def test_pages_of_large_objects_hold_few_of_them(api: ScriptedApi, client: KubeClient) -> None:
    large = {"metadata": {"name": "a", "annotations": {"x": "x" * (1 << 20)}}}
    api.script(answer_page(large, large, token="more"), answer_page(token="more"), answer_page(large))
    await client.list(PODS, "jobs")
    assert [seen.query["limit"] for seen in api.requests] == ["50", "1", "1"]


async def test_page_that_is_too_large_is_requested_with_fewer_objects(api: ScriptedApi, client: KubeClient) -> None:
    large = {"metadata": {"name": "a", "annotations": {"x": "x" * (5 << 20)}}}
    first, last = answer_page({"metadata": {"name": "b"}}, token="more"), answer_page(large)
    api.script(first, answer_page(large, token="more"), answer_page(large), last)
    api.script(last, last)
    assert len((await client.list(PODS, "jobs")).items) == 2
    assert [seen.query["limit"] for seen in api.requests] == ["50", "400", "50", "6", "1"]
    assert [seen.query.get("continue") for seen in api.requests] == [None, *["more"] * 4]


async def test_page_with_too_many_values_is_requested_with_fewer_objects(api: ScriptedApi, client: KubeClient) -> None:
    large = {"metadata": {"name": "a"}, "spec": {f"{field}": [[]] * 9_000 for field in range(12)}}
    api.script(*[answer_page(large)] * 3)
    assert len((await client.list(PODS, "jobs")).items) == 1
    assert [seen.query["limit"] for seen in api.requests] == ["50", "6", "1"]


async def test_bounded_list_requests_no_more_than_its_limit(api: ScriptedApi, client: KubeClient) -> None:
    page = answer_page({"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}, token="more")
    api.script(page, answer_page({"metadata": {"name": "c"}}, token="more"))
    found = await client.list(PODS, "jobs", most=3)
    assert [item["metadata"]["name"] for item in found.items] == ["a", "b", "c"]
    assert not found.is_complete
    assert [seen.query["limit"] for seen in api.requests] == ["3", "1"]


async def test_expired_page_raises_gone(api: ScriptedApi, client: KubeClient) -> None:
    api.script(answer_page(token="more"), refuse(410, "too old", "Expired"))
    with pytest.raises(Gone):
        await client.list(PODS)


async def test_patch_has_the_content_type_of_its_format(api: ScriptedApi, client: KubeClient) -> None:
    api.script(answer(POD), answer(POD), answer(POD))
    await client.patch(SPARK_APPLICATIONS, "a", "jobs", {"status": {}}, subresource="status")
    await client.patch(PODS, "a", "jobs", [{"op": "remove"}], patch_type=PatchType.JSON)
    await client.patch(PODS, "a", "jobs", {}, patch_type=PatchType.APPLY, field_manager="me", force=True)
    merge, json_patch, apply = api.requests
    assert merge.path == "/apis/spark.apache.org/v1/namespaces/jobs/sparkapplications/a/status"
    assert merge.headers["Content-Type"] == "application/merge-patch+json"
    assert json_patch.headers["Content-Type"] == "application/json-patch+json"
    assert json_patch.body == [{"op": "remove"}]
    assert apply.headers["Content-Type"] == "application/apply-patch+yaml"
    assert apply.query == {"fieldManager": "me", "force": "true"}


async def test_deletion_carries_its_preconditions(api: ScriptedApi, client: KubeClient) -> None:
    api.script(answer({}), answer({}))
    await client.delete(PODS, "a", "jobs")
    await client.delete(PODS, "a", "jobs", propagation="Background", grace_seconds=0, uid="u", resource_version="7")
    options = {"apiVersion": "v1", "kind": "DeleteOptions"}
    assert [seen.body for seen in api.requests] == [
        options,
        {
            **options,
            "propagationPolicy": "Background",
            "gracePeriodSeconds": 0,
            "preconditions": {"uid": "u", "resourceVersion": "7"},
        },
    ]


async def test_dry_run_is_requested(api: ScriptedApi, client: KubeClient) -> None:
    api.script(answer(POD), answer(POD))
    await client.create(PODS, POD, "jobs", dry_run=True)
    await client.patch(PODS, "pi", "jobs", {}, dry_run=True)
    assert [request.query for request in api.requests] == [{"dryRun": "All"}] * 2


@pytest.mark.parametrize(
    "fault", [refuse(503), refuse(500), refuse(503, Retry_After="0"), refuse(429, Retry_After="0"), hang_up()]
)
async def test_read_is_repeated_after_temporary_failure(api: ScriptedApi, client: KubeClient, fault: object) -> None:
    api.script(fault, fault, answer(POD))  # type: ignore[arg-type]
    assert await client.get(PODS, "a", "jobs") == POD


async def test_read_is_given_up_after_a_few_attempts(api: ScriptedApi, client: KubeClient) -> None:
    api.script(*[refuse(503, "overloaded")] * 9)
    with pytest.raises(ServerError, match="overloaded"):
        await client.get(PODS, "a", "jobs")
    assert len(api.requests) == 4


@pytest.mark.parametrize("fault", [refuse(503), hang_up()])
async def test_create_is_not_repeated_if_it_may_have_taken_effect(
    api: ScriptedApi, client: KubeClient, fault: object
) -> None:
    api.script(fault, answer(POD))  # type: ignore[arg-type]
    with pytest.raises((ServerError, Unreachable)):
        await client.create(PODS, POD, "jobs")
    assert len(api.requests) == 1


@pytest.mark.parametrize(
    "fault", [refuse(500), refuse(504), refuse(429, Retry_After="0"), hang_up(), stream(b"{", cut=True)]
)
@pytest.mark.parametrize("verb", ["create", "patch", "delete"])
async def test_write_is_repeated_if_the_policy_says_so(api: ScriptedApi, verb: str, fault: Answer) -> None:
    api.script(fault, answer(POD))
    access, policy = ClusterAccess(kubeconfig_document=build_kubeconfig(api.url)), replace(SHORT_PAUSES, writes=True)
    async with await open_client(access, retry=policy) as client:
        match verb:
            case "create":
                assert await client.create(PODS, POD, "jobs") == POD
            case "patch":
                assert await client.patch(PODS, "a", "jobs", {}) == POD
            case _:
                assert await client.delete(PODS, "a", "jobs") == POD
    assert [each.method for each in api.requests] == 2 * [api.requests[0].method]


async def test_write_that_the_api_rejects_for_good_is_not_repeated(api: ScriptedApi) -> None:
    api.script(refuse(500, "etcdserver: request is too large"), answer(POD))
    access, policy = ClusterAccess(kubeconfig_document=build_kubeconfig(api.url)), replace(SHORT_PAUSES, writes=True)
    async with await open_client(access, retry=policy) as client:
        with pytest.raises(ServerError):
            await client.create(PODS, POD, "jobs")
    assert len(api.requests) == 1


async def test_create_is_repeated_after_429(api: ScriptedApi, client: KubeClient) -> None:
    api.script(refuse(429, Retry_After="0"), answer(POD, 201))
    assert await client.create(PODS, POD, "jobs") == POD


@pytest.mark.parametrize(("status", "kind"), [(429, TooManyRequests), (503, ServerError)])
async def test_request_is_not_repeated_if_retry_after_is_too_long(
    api: ScriptedApi, client: KubeClient, status: int, kind: type[KubeError]
) -> None:
    api.script(refuse(status, "come back later", Retry_After="3600"))
    with pytest.raises(kind) as caught:
        await client.get(PODS, "a", "jobs")
    assert caught.value.retry_after == 3600
    assert len(api.requests) == 1


@pytest.mark.parametrize("text", ["<html>Login</html>", "", "[]", '{"cut": '])
async def test_answer_that_is_not_an_object_is_an_error(api: ScriptedApi, client: KubeClient, text: str) -> None:
    api.script(*[answer_text(text)] * 4)
    with pytest.raises(ServerError, match="did not return a JSON object"):
        await client.get(PODS, "a", "jobs")


async def test_redirect_is_not_followed(api: ScriptedApi, client: KubeClient) -> None:
    api.script(*[answer({}, 302, Location="/login")] * 4)
    with pytest.raises(ServerError, match="it is not a Kubernetes API server"):
        await client.create(PODS, POD, "jobs")
    assert len(api.requests) == 1


@pytest.mark.parametrize(
    "body", ["", "<h1>Not Found</h1>", '{"message": "no route"}', "[]"], ids=["empty", "page", "JSON", "list"]
)
async def test_missing_path_of_a_proxy_is_not_a_missing_object(api: ScriptedApi, client: KubeClient, body: str) -> None:
    api.script(*[answer_text(body, 404)] * 4)
    with pytest.raises(ServerError, match=r"answered HTTP status 404 .*: it is not a Kubernetes API server"):
        await client.get(PODS, "a", "jobs")


async def test_error_that_is_nested_too_deeply_is_shown_as_text(api: ScriptedApi, client: KubeClient) -> None:
    api.script(answer_text("[" * 5000, 403))
    with pytest.raises(KubeError, match=r"\[\[\["):
        await client.get(PODS, "a", "jobs")


async def test_error_page_is_shortened(api: ScriptedApi, client: KubeClient) -> None:
    api.script(answer_text("proxy\n  says no" + "x" * 5000, 403))
    with pytest.raises(KubeError, match="proxy says no") as caught:
        await client.get(PODS, "a", "jobs")
    assert len(str(caught.value)) < 500


async def test_rejected_request_keeps_the_connection(api: ScriptedApi, client: KubeClient) -> None:
    api.script(refuse(404, "not found", "NotFound"), answer(POD))
    with pytest.raises(NotFound):
        await client.get(PODS, "a", "jobs")
    await client.get(PODS, "a", "jobs")
    assert len({seen.peer for seen in api.requests}) == 1


async def test_slow_server_times_out(api: ScriptedApi, client: KubeClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "REQUEST_SECONDS", 0.05)
    api.script(hang())
    with pytest.raises(Unreachable, match=f"{api.url} did not answer within"):
        await client.get(PODS, "a", "jobs")


async def test_refused_token_is_an_error_with_advice(api: ScriptedApi, client: KubeClient) -> None:
    api.script(refuse(401, "Unauthorized", "Unauthorized"))
    with pytest.raises(Unauthorized, match="renew the token of user 'u' in") as caught:
        await client.get(PODS, "a", "jobs")
    assert "secret-token" not in str(caught.value)


async def test_kind_is_served_in_the_versions_that_list_it(api: ScriptedApi, client: KubeClient) -> None:
    kinds = {"resources": [{"name": "sparkclusters"}, {"name": "sparkclusters/status"}]}
    api.script(answer(kinds), answer(kinds), refuse(404, "404 page not found"))
    assert await client.is_served(SPARK_CLUSTERS)
    assert not await client.is_served(SPARK_APPLICATIONS)
    assert not await client.is_served(SPARK_APPLICATIONS)
    assert {request.path for request in api.requests} == {"/apis/spark.apache.org/v1"}


async def test_versions_of_a_group_are_listed(api: ScriptedApi, client: KubeClient) -> None:
    api.script(answer({"versions": [{"version": "v1"}, {"version": "v1beta1"}]}), refuse(404, "404 page not found"))
    assert await client.list_versions(SPARK_APPLICATIONS) == ("v1", "v1beta1")
    assert await client.list_versions(SPARK_APPLICATIONS) == ()
    assert {request.path for request in api.requests} == {"/apis/spark.apache.org"}


async def test_watch_yields_events_of_any_size(api: ScriptedApi, client: KubeClient) -> None:
    large = build_event("MODIFIED", "b", "7", annotations={"x": "y" * 3_000_000})
    api.script(stream(build_event("ADDED", "a", "6"), large, build_event("BOOKMARK", version="9")))
    events = await collect_events(client)
    assert [(one.type, one.object["metadata"]["resourceVersion"]) for one in events] == [
        ("ADDED", "6"),
        ("MODIFIED", "7"),
        ("BOOKMARK", "9"),
    ]
    query = api.requests[0].query
    assert (query["watch"], query["allowWatchBookmarks"], query["resourceVersion"]) == ("true", "true", "5")
    assert int(query["timeoutSeconds"]) > 0


async def test_watch_with_expired_version_raises_gone(api: ScriptedApi, client: KubeClient) -> None:
    api.script(stream(build_error_event(410, "Expired")))
    with pytest.raises(Gone, match="could not watch pods in namespace jobs"):
        await collect_events(client)


@pytest.mark.parametrize(
    "broken",
    [
        stream(build_event("ADDED", "a"), cut=True),
        stream(b'{"type": "ADDED", "obj'),
        stream(b"[]\n"),
        stream(b"null\n"),
        stream(b'{"type": "ADDED", "object": [1, 2]}\n'),
        stream(b'{"type": "MODIFIED"}\n'),
        stream(b'{"type": "DELETED", "object": {"metadata": null}}\n'),
        stream(b'{"type": "ERROR", "object": [1]}\n'),
        stream(b'{"type": "BOOKMARK", "object": 1}\n'),
        hang_up(),
    ],
)
async def test_interrupted_watch_raises_unreachable(api: ScriptedApi, client: KubeClient, broken: object) -> None:
    api.script(broken, broken)  # type: ignore[arg-type]  # a request without any answer is sent twice
    with pytest.raises(Unreachable):
        await collect_events(client)


async def test_watch_ignores_events_of_unknown_types(api: ScriptedApi, client: KubeClient) -> None:
    api.script(stream(b'{"type": "WEIRD", "object": [1, 2]}\n', build_event("ADDED", "a", "6")))
    assert [one.type for one in await collect_events(client)] == ["ADDED"]


async def test_list_with_an_invalid_object_is_an_error(api: ScriptedApi, client: KubeClient) -> None:
    api.script(answer({"items": [{"metadata": {"name": "a"}}, 7]}))
    with pytest.raises(Unreachable, match="the list contains an invalid object"):
        await client.list(PODS, "jobs")


async def test_watch_releases_its_connection(api: ScriptedApi, client: KubeClient) -> None:
    api.script(stream(build_event("ADDED", "a"), hold=True), answer(POD))
    async with aclosing(client.watch(PODS, "jobs", resource_version="5")) as events:
        assert (await anext(events)).type == "ADDED"
    assert await asyncio.wait_for(client.get(PODS, "a", "jobs"), 10) == POD


async def test_log_lines_come_as_they_are_written(api: ScriptedApi, client: KubeClient) -> None:
    api.script(stream(b"one\r\ntw", "ö".encode()[:1], "ö".encode()[1:] + b"\n\xff\nlast"))
    since = datetime(2026, 1, 1, tzinfo=UTC)
    lines = await read_log(client, container="c", follow=True, since_time=since, timestamps=True, tail_lines=3)
    assert lines == ["one", "twö", "\ufffd", "last"]
    (seen,) = api.requests
    assert seen.path == "/api/v1/namespaces/jobs/pods/a/log"
    assert seen.query == {
        "container": "c",
        "follow": "true",
        "sinceTime": "2026-01-01T00:00:00Z",
        "timestamps": "true",
        "tailLines": "3",
    }


async def test_endless_log_line_is_cut(api: ScriptedApi, client: KubeClient) -> None:
    api.script(stream(b"x" * 1_000_000, b"\nnext\n"))
    lines = await read_log(client)
    assert [len(line) for line in lines] == [64 * 1024, 4]


async def test_refused_log_names_the_subresource(api: ScriptedApi, client: KubeClient) -> None:
    api.script(deny("get", "pods/log"))
    with pytest.raises(KubeError, match='"get" on pods/log in namespace jobs'):
        await read_log(client)


@pytest.mark.parametrize(
    "text",
    [
        "unable to retrieve container logs for containerd://0123abc",
        'failed to try resolving symlinks in path "/var/log/pods/jobs_pi_u/main/0.log": lstat: no such file',
    ],
)
async def test_error_of_a_node_in_place_of_a_log_is_raised(api: ScriptedApi, client: KubeClient, text: str) -> None:
    api.script(answer_text(f"first\n{text}"))
    with pytest.raises(LogUnavailable) as caught:
        await read_log(client)
    assert caught.value.message == text
