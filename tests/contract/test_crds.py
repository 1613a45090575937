"""A server accepts the CustomResourceDefinitions, and prunes, defaults and validates resources by them."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_provider_spark_operator.core.models.application import SparkApplication
from airflow_provider_spark_operator.core.models.cluster import SparkCluster, parse_cluster
from airflow_provider_spark_operator.core.models.parse import parse_application
from airflow_provider_spark_operator.crds import build_custom_resource_definitions
from airflow_provider_spark_operator.crds.definitions import find_part

from contract.conversation import DEADLINE, MERGE_PATCH, TABLE, Conversation, Reply, repeat_until
from contract.documents import DEFINITIONS
from control_plane import Server

GROUP = "spark.apache.org"
VERSIONS = ("v1", "v1beta1", "v1alpha1")
GOLDEN = Path(__file__).parents[1] / "golden"
TOLERATIONS = "applicationTolerations"
RUNTIME = {"runtimeVersions": {"sparkVersion": "4.3.0"}}

Document = dict[str, Any]


def read_recorded() -> list[Any]:
    """Return every recorded resource of the Apache operator, with the name of its file."""
    paths = [path for folder in ("traces", "apache_operator") for path in sorted((GOLDEN / folder).rglob("*.yaml"))]
    found = [(path.stem, yaml.load(path.read_text(), yaml.CSafeLoader)) for path in paths]
    traces = [(name, part) for name, read in found for part in read.get("resources", ())]
    single = [(name, read[key]) for name, read in found for key in ("application", "cluster") if key in read]
    documents = [(name, read) for name, read in found if "apiVersion" in read]
    ours = [item for item in [*traces, *single, *documents] if str(item[1].get("apiVersion")).startswith(GROUP)]
    return [pytest.param(document, id=f"{name} {number}") for number, (name, document) in enumerate(ours)]


RECORDED = read_recorded()


@pytest.fixture
async def server_with_definitions(conversation: Conversation) -> Conversation:
    """A server that serves the definitions."""
    for definition in build_custom_resource_definitions():
        name = definition["metadata"]["name"]
        reply = await conversation.ask("POST", DEFINITIONS, definition)
        if reply.status == 409:
            present = (await conversation.ask("GET", f"{DEFINITIONS}/{name}")).body
            if present["spec"]["versions"] != definition["spec"]["versions"]:
                pytest.skip(f"the server has another definition of {name}")
        else:
            assert reply.status == 201, reply.body
        for version in VERSIONS:
            path = conversation.path(definition["spec"]["names"]["plural"], f"{GROUP}/{version}")
            await conversation.until(path, lambda reply: reply.status == 200)
    return conversation


async def create(
    conversation: Conversation, document: Document, version: str | None = None, parameters: str = ""
) -> Reply:
    version = version or document["apiVersion"].partition("/")[2]
    path = conversation.path(f"{document['kind'].lower()}s", f"{GROUP}/{version}")
    body = {**document, "apiVersion": f"{GROUP}/{version}"}
    return await conversation.ask("POST", f"{path}{parameters}", body)


def application(name: str = "it", **spec: Any) -> Document:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "SparkApplication",
        "metadata": {"name": name},
        "spec": {**RUNTIME, **spec},
    }


def build_with_toleration(path: str, value: object) -> Document:
    *parents, last = path.split(".")
    content: dict[str, Any] = {last: value}
    for parent in reversed(parents):
        content = {parent: content}
    spec: dict[str, Any] = {TOLERATIONS: content}
    return application(**spec)


def find_lost_fields(sent: object, stored: object, path: str = "") -> list[str]:
    """Return the fields that the server stored in another form than it received."""
    if isinstance(sent, dict) and isinstance(stored, dict):
        return [
            each for key, value in sent.items() for each in find_lost_fields(value, stored.get(key), f"{path}.{key}")
        ]
    if isinstance(sent, list) and isinstance(stored, list) and len(sent) == len(stored):
        return [
            each
            for number, value in enumerate(sent)
            for each in find_lost_fields(value, stored[number], f"{path}[{number}]")
        ]
    return [] if sent == stored else [path]


async def test_definitions_are_established_without_warnings(server_with_definitions: Conversation) -> None:
    for definition in build_custom_resource_definitions():
        path = f"{DEFINITIONS}/{definition['metadata']['name']}"
        present = (await server_with_definitions.ask("GET", path)).body
        conditions = {each["type"]: each["status"] for each in present["status"]["conditions"]}
        assert conditions == {"NamesAccepted": "True", "Established": "True"}
        assert present["status"]["storedVersions"] == ["v1"]
        assert find_lost_fields(definition, present) == []


async def test_kinds_have_short_names(server_with_definitions: Conversation) -> None:
    for version in VERSIONS:
        served = (await server_with_definitions.ask("GET", f"/apis/{GROUP}/{version}")).body["resources"]
        kinds = {each["name"]: (each["kind"], each.get("shortNames"), each["namespaced"]) for each in served}
        assert kinds["sparkapplications"] == ("SparkApplication", ["sparkapp"], True)
        assert kinds["sparkclusters"] == ("SparkCluster", ["sparkcluster"], True)
        assert {"sparkapplications/status", "sparkclusters/status"} <= kinds.keys()


@pytest.mark.parametrize("document", RECORDED)
async def test_resources_of_the_apache_operator_are_stored_completely(
    server_with_definitions: Conversation, document: Document
) -> None:
    sent = copy.deepcopy(document)
    sent["metadata"] = {"name": sent["metadata"]["name"]}
    sent.pop("status", None)
    reply = await create(server_with_definitions, sent)
    assert reply.status == 201, reply.body
    assert find_lost_fields(sent, reply.body) == []


@pytest.mark.parametrize("value", [-1, 0, 1, 2**53], ids=["negative", "zero", "small", "large"])
@pytest.mark.parametrize(
    "path",
    [
        "applicationTimeoutConfig.driverStartTimeoutMillis",
        "applicationTimeoutConfig.driverReadyTimeoutMillis",
        "applicationTimeoutConfig.executorStartTimeoutMillis",
        "applicationTimeoutConfig.forceTerminationGracePeriodMillis",
        "applicationTimeoutConfig.terminationRequeuePeriodMillis",
        "restartConfig.maxRestartAttempts",
        "restartConfig.restartBackoffMillis",
        "restartConfig.restartCounterResetMillis",
        "resourceRetainDurationMillis",
        "ttlAfterStopMillis",
    ],
)
async def test_negative_zero_and_large_numbers_are_accepted(
    server_with_definitions: Conversation, path: str, value: int
) -> None:
    for version in VERSIONS:
        sent = build_with_toleration(path, value)
        reply = await create(server_with_definitions, sent, version, "?dryRun=All")
        assert reply.status == 201, reply.body
        assert find_lost_fields(sent["spec"], reply.body["spec"]) == []


@pytest.mark.parametrize(
    ("document", "field"),
    [
        (application(runtimeVersions={}), "spec.runtimeVersions.sparkVersion"),
        (application(runtimeVersions={"sparkVersion": 4}), "spec.runtimeVersions.sparkVersion"),
        (build_with_toleration("resourceRetainPolicy", "Sometimes"), f"spec.{TOLERATIONS}.resourceRetainPolicy"),
        (
            build_with_toleration("restartConfig.restartPolicy", "always"),
            f"spec.{TOLERATIONS}.restartConfig.restartPolicy",
        ),
        (build_with_toleration("ttlAfterStopMillis", "1h"), f"spec.{TOLERATIONS}.ttlAfterStopMillis"),
        (application(sparkConf={"spark.executor.instances": 2}), "spec.sparkConf.spark.executor.instances"),
        (application(configMapSpecs=[{"data": {}}]), "spec.configMapSpecs[0].name"),
        (application(suspend="yes"), "spec.suspend"),
        (application(jars=["a.jar"]), "spec.jars"),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
async def test_invalid_field_is_refused_with_its_name(
    server_with_definitions: Conversation, document: Document, field: str
) -> None:
    for version in VERSIONS:
        reply = await create(server_with_definitions, document, version)
        assert reply.status == 422
        assert field in [cause["field"] for cause in reply.body["details"]["causes"]]


async def test_unknown_fields_are_pruned_except_in_kubernetes_types(server_with_definitions: Conversation) -> None:
    template = {"podTemplateSpec": {"spec": {"aFieldOfTomorrow": 1}}}
    sent = application(suspend=True, driverSpec=template, executorSpec={**template, "colour": "red"}, colour="red")
    stored = (await create(server_with_definitions, sent)).body
    assert find_lost_fields(sent["spec"], stored["spec"]) == [".executorSpec.colour", ".colour"]
    strict = await create(server_with_definitions, application("other", colour="red"), None, "?fieldValidation=Strict")
    assert (strict.status, strict.body["reason"]) == (400, "BadRequest")
    assert 'unknown field "spec.colour"' in strict.body["message"]


async def test_defaults_are_those_of_the_apache_operator(server_with_definitions: Conversation) -> None:
    spec: dict[str, Any] = {TOLERATIONS: {"restartConfig": {}, "instanceConfig": {}, "applicationTimeoutConfig": {}}}
    sent = application(**spec)
    for version in VERSIONS:
        reply = await create(server_with_definitions, sent, version, "?dryRun=All")
        assert reply.body["spec"] == {
            **RUNTIME,
            "suspend": False,
            TOLERATIONS: {
                "restartConfig": {"restartCounterResetMillis": -1},
                "instanceConfig": {},
                "applicationTimeoutConfig": {},
                "resourceRetainDurationMillis": -1,
                "ttlAfterStopMillis": -1,
            },
        }


async def test_cluster_is_not_suspended_by_default(server_with_definitions: Conversation) -> None:
    for version in VERSIONS:
        reply = await create(server_with_definitions, cluster("default", 1, 1, 1), version, "?dryRun=All")
        assert reply.body["spec"]["suspend"] is False


@pytest.mark.parametrize("port", [0, 65536])
async def test_metrics_port_out_of_range_is_refused_with_its_name(
    server_with_definitions: Conversation, port: int
) -> None:
    document = cluster("refused", 1, 1, 1)
    document["spec"]["workerSpec"] = {"networkPolicy": {"metricsPort": port, "metricsIngress": []}}
    reply = await create(server_with_definitions, document)
    assert reply.status == 422
    assert [cause["field"] for cause in reply.body["details"]["causes"]] == [
        "spec.workerSpec.networkPolicy.metricsPort"
    ]


async def test_object_can_be_read_and_written_in_every_version(server_with_definitions: Conversation) -> None:
    conversation = server_with_definitions
    created = (await create(conversation, application(mainClass="A"), "v1alpha1")).body
    assert created["apiVersion"] == f"{GROUP}/v1alpha1"
    for version in VERSIONS:
        path = conversation.path("sparkapplications/it", f"{GROUP}/{version}")
        patch = {"metadata": {"labels": {version: "seen"}}}
        patched = (await conversation.ask("PATCH", path, patch, content_type=MERGE_PATCH)).body
        assert patched["apiVersion"] == f"{GROUP}/{version}"
        assert patched["spec"] == created["spec"]
    assert patched["metadata"]["labels"] == dict.fromkeys(VERSIONS, "seen")


async def test_spec_and_status_are_written_separately(server_with_definitions: Conversation) -> None:
    conversation = server_with_definitions
    state = {"currentStateSummary": "Submitted", "message": "", "reason": "Created", "lastTransitionTime": "t"}
    status = {"currentState": state, "currentAttemptSummary": {"attemptInfo": {"id": 0, "restartCounter": 3}}}
    created = (await create(conversation, {**application(), "status": status})).body
    assert "status" not in created
    path = conversation.path("sparkapplications/it", f"{GROUP}/v1")
    written = await conversation.ask(
        "PATCH", f"{path}/status", {"spec": {"mainClass": "A"}, "status": status}, content_type=MERGE_PATCH
    )
    assert written.body["status"] == status
    assert written.body["spec"] == created["spec"]
    assert written.body["metadata"]["generation"] == 1
    unknown = {"status": {"currentState": {"currentStateSummary": "Confused"}}}
    refused = await conversation.ask("PATCH", f"{path}/status", unknown, content_type=MERGE_PATCH)
    assert refused.status == 422
    changed = await conversation.ask("PATCH", path, {"spec": {"mainClass": "A"}}, content_type=MERGE_PATCH)
    assert changed.body["metadata"]["generation"] == 2
    assert changed.body["status"] == status


def build_suspended_status(kind: str, cause: str | None) -> Document:
    """Build a status as release 1.1.0 writes it, with the state Suspended in each of its parts."""
    suspended = {
        "currentStateSummary": "Suspended",
        "lastTransitionTime": "2026-11-20T10:00:00.123456Z",
        "message": "The resource is suspended.",
    } | ({"suspendReason": cause} if cause else {})
    submitted = {**suspended, "currentStateSummary": "Submitted"}
    submitted.pop("suspendReason", None)
    status: Document = {
        "currentState": suspended,
        "stateTransitionHistory": {"3": submitted, "4": suspended},
        "currentAttemptSummary": {"attemptInfo": {"id": 1}, "stateTransitionHistory": {"4": suspended}},
        "previousAttemptSummary": {"attemptInfo": {"id": 0}, "stateTransitionHistory": {"2": suspended}},
    }
    if kind == "SparkApplication":
        counters = {"restartCounter": 2, "failureRestartCounter": 1, "schedulingFailureRestartCounter": 0}
        status["currentAttemptSummary"]["attemptInfo"] |= counters
    return status


PARSERS: dict[str, Callable[[Document], SparkApplication | SparkCluster]] = {
    "SparkApplication": parse_application,
    "SparkCluster": parse_cluster,
}


@pytest.mark.parametrize("cause", ["SpecSuspend", "KueueEviction", None])
@pytest.mark.parametrize("kind", PARSERS)
async def test_suspended_status_of_release_1_1_0_survives_both_controllers(
    server_with_definitions: Conversation, kind: str, cause: str | None
) -> None:
    conversation = server_with_definitions
    document = application(suspend=True) if kind == "SparkApplication" else cluster("it", 1, 1, 1)
    await create(conversation, document)
    path = conversation.path(f"{kind.lower()}s/it", f"{GROUP}/v1")
    theirs = build_suspended_status(kind, cause)
    stored = await conversation.ask("PATCH", f"{path}/status", {"status": theirs}, content_type=MERGE_PATCH)
    assert stored.status == 200, stored.body
    assert stored.body["status"] == theirs
    # This controller reads the status and writes it back, for example with another state.
    status = PARSERS[kind](stored.body).status
    assert status is not None
    ours = status.to_document()
    assert find_lost_fields(theirs, ours) == []
    written = await conversation.ask("PATCH", f"{path}/status", {"status": ours}, content_type=MERGE_PATCH)
    assert written.status == 200, written.body
    assert find_lost_fields(theirs, written.body["status"]) == []


@pytest.mark.parametrize("version", VERSIONS)
async def test_write_through_every_version_keeps_the_suspension(
    server_with_definitions: Conversation, version: str
) -> None:
    conversation = server_with_definitions
    await create(conversation, application(suspend=True))
    path = conversation.path("sparkapplications/it", f"{GROUP}/v1")
    status = {"status": build_suspended_status("SparkApplication", "KueueEviction")}
    await conversation.ask("PATCH", f"{path}/status", status, content_type=MERGE_PATCH)
    other = conversation.path("sparkapplications/it", f"{GROUP}/{version}")
    read = (await conversation.ask("GET", other)).body
    read["metadata"]["labels"] = {"seen": "yes"}
    assert (await conversation.ask("PUT", other, read)).status == 200
    stored = (await conversation.ask("GET", path)).body
    assert stored["spec"]["suspend"] is True
    assert stored["status"] == status["status"]


async def test_unknown_cause_of_a_suspension_is_refused(server_with_definitions: Conversation) -> None:
    conversation = server_with_definitions
    await create(conversation, cluster("it", 1, 1, 1))
    path = conversation.path("sparkclusters/it", f"{GROUP}/v1")
    state = {"currentStateSummary": "Suspended", "suspendReason": "Boredom"}
    refused = await conversation.ask(
        "PATCH", f"{path}/status", {"status": {"currentState": state}}, content_type=MERGE_PATCH
    )
    assert refused.status == 422


async def test_table_of_applications_shows_the_state(server_with_definitions: Conversation) -> None:
    conversation = server_with_definitions
    await create(conversation, application())
    path = conversation.path("sparkapplications/it", f"{GROUP}/v1")
    status = {
        "currentState": {"currentStateSummary": "ResourceReleased"},
        "outcome": "Failed",
        "currentAttemptSummary": {"attemptInfo": {"id": 2}},
    }
    await conversation.ask("PATCH", f"{path}/status", {"status": status}, content_type=MERGE_PATCH)
    for version in VERSIONS:
        path = conversation.path("sparkapplications", f"{GROUP}/{version}")
        table = (await conversation.ask("GET", path, accept=TABLE)).body
        columns = [(each["name"], each["type"], each["priority"]) for each in table["columnDefinitions"]]
        assert columns == [
            ("Name", "string", 0),
            ("Current State", "string", 0),
            ("Outcome", "string", 0),
            ("Attempt", "integer", 1),
            ("Age", "date", 0),
        ]
        (row,) = table["rows"]
        assert row["cells"][:4] == ["it", "ResourceReleased", "Failed", 2]


async def test_table_of_clusters_shows_the_state(server_with_definitions: Conversation) -> None:
    path = server_with_definitions.path("sparkclusters", f"{GROUP}/v1")
    table = (await server_with_definitions.ask("GET", path, accept=TABLE)).body
    assert [each["name"] for each in table["columnDefinitions"]] == ["Name", "Current State", "Age"]


def cluster(name: str, initial: int, least: int, most: int) -> Document:
    instances = {"initWorkers": initial, "minWorkers": least, "maxWorkers": most}
    spec = {**RUNTIME, "clusterTolerations": {"instanceConfig": instances}}
    return {"apiVersion": f"{GROUP}/v1", "kind": "SparkCluster", "metadata": {"name": name}, "spec": spec}


@pytest.mark.parametrize(
    ("numbers", "field"), [((-1, 0, 0), "initWorkers"), ((1, -1, 0), "minWorkers"), ((1, -3, 2), "minWorkers")]
)
async def test_invalid_worker_counts_are_refused_by_the_definition(
    server: Server, server_with_definitions: Conversation, numbers: tuple[int, int, int], field: str
) -> None:
    reply = await create(server_with_definitions, cluster("refused", *numbers))
    if server.name == "local":  # it has no CEL: the controller and `validate` refuse these numbers
        assert reply.status == 201
        return
    assert reply.status == 422
    (cause,) = reply.body["details"]["causes"]
    assert cause["field"] == f"spec.clusterTolerations.instanceConfig.{field}"


@pytest.mark.parametrize("numbers", [(0, 0, 0), (5, 1, 3), (1, 5, 3), (3, 3, 3), (0, 1, 2), (1, 0, -1), (1, 0, 2)])
async def test_worker_counts_of_the_apache_operator_are_accepted(
    server_with_definitions: Conversation, numbers: tuple[int, int, int]
) -> None:
    reply = await create(server_with_definitions, cluster("accepted", *numbers))
    assert reply.status == 201, reply.body


async def test_cluster_stored_before_the_rules_can_be_changed(
    server: Server, server_with_definitions: Conversation
) -> None:
    conversation = server_with_definitions
    (definition,) = (
        each for each in build_custom_resource_definitions() if each["spec"]["names"]["kind"] == "SparkCluster"
    )
    path = f"{DEFINITIONS}/{definition['metadata']['name']}"
    before = copy.deepcopy(definition)
    for version in before["spec"]["versions"]:
        instances = find_part(version["schema"]["openAPIV3Schema"], "spec.clusterTolerations.instanceConfig")
        del instances["x-kubernetes-validations"]
    resources = conversation.path("sparkclusters", f"{GROUP}/v1")
    old, probe = cluster("old", 1, -1, 2), cluster("probe", 1, -1, 2)

    async def define(versions: Document, expected: int) -> None:
        """Replace the definition, and wait until the server uses it."""
        patch = {"spec": {"versions": versions["spec"]["versions"]}}
        assert (await conversation.ask("PATCH", path, patch, content_type=MERGE_PATCH)).status == 200
        await repeat_until(
            lambda: create(conversation, probe, "v1", "?dryRun=All"), lambda reply: reply.status == expected, DEADLINE
        )

    try:
        await define(before, 201)
        assert (await create(conversation, old)).status == 201
    finally:
        await define(definition, 201 if server.name == "local" else 422)
    status = {"status": {"currentState": {"currentStateSummary": "SchedulingFailure"}}}
    written = await conversation.ask("PATCH", f"{resources}/old/status", status, content_type=MERGE_PATCH)
    assert written.status == 200, written.body
    labels = {"metadata": {"labels": {"team": "x"}, "finalizers": []}}
    changed = await conversation.ask("PATCH", f"{resources}/old", labels, content_type=MERGE_PATCH)
    assert changed.status == 200, changed.body
