"""Find the controllers of applications, by their pods, their Leases and their writes."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ....core.dialects.dialect import APACHE, KUBEFLOW, read_progress
from ....core.kubernetes.json_object import JsonObject
from ....core.kubernetes.label_selector import read_label_selector
from ....core.kubernetes.ownership import APACHE as APACHE_MANAGER
from ....core.kubernetes.ownership import LOCAL_LEASE, LeaseReference, find_owner, read_tenure
from ....core.kubernetes.pods import is_ready
from ....core.verdict.holds import find_held_application
from ....core.verdict.obstacles import find_missing_status
from ....kube.client import KubeClient
from ....kube.errors import Forbidden, KubeError, NotFound
from ....kube.resources import LEASES, NETWORK_POLICIES, PODS, ResourceType
from ....reconcile.objects.lease import DEFAULT_LEASE
from ...base.ages import format_age
from .finding import Finding, Status, report_error

OWN_CONTROLLER = "spark-operator reconcile"
# The labels that the charts of the Apache operator, of Kubeflow's and of this package set by default.
_NAME, _COMPONENT = "app.kubernetes.io/name", "app.kubernetes.io/component"
_SELECTOR = f"{_NAME} in (spark-kubernetes-operator,spark-operator)"
_OPERATORS = {"operator-deployment": APACHE.operator, "controller": KUBEFLOW.operator}
_MAX_APPLICATIONS = 500


@dataclass
class _Evidence:
    """The evidence for the controllers of one API group.

    Attributes:
        running: Why each controller counts as running, by its name and namespace.
        stopped: Why a known controller does not count as running.
        unknown: What could not be checked.
        waiting: The application that has been without a status for longest.
    """

    running: dict[str, str] = field(default_factory=dict)
    stopped: list[str] = field(default_factory=list)
    unknown: list[Finding] = field(default_factory=list)
    waiting: str = ""


async def check_controllers(
    client: KubeClient, namespace: str, kinds: Sequence[ResourceType], now: datetime
) -> list[Finding]:
    """Check that one controller runs for each kind of applications.

    Args:
        client: The client of the cluster.
        namespace: The namespace of the applications.
        kinds: The kinds that the cluster serves.
        now: The time.
    """
    pods, refusal = await _list_controller_pods(client, namespace) if kinds else ([], None)
    findings = []
    for kind in kinds:
        evidence = _Evidence(unknown=[refusal] if refusal else [])
        _read_pods(pods, kind, evidence)
        try:
            await _read_applications(client, kind, namespace, now, evidence)
        except KubeError as error:
            evidence.unknown.append(report_error("", error))
        findings.append(_judge(kind, namespace, evidence))
    return findings + await _suggest_network_policies(client, pods)


async def _suggest_network_policies(client: KubeClient, pods: Iterable[JsonObject]) -> list[Finding]:
    """Suggest a NetworkPolicy for the controllers of this package that have none.

    A namespace whose NetworkPolicies the client may not list yields nothing: applications do not need them.
    """
    findings = []
    own = [pod for pod in pods if _find_operator(pod) == OWN_CONTROLLER]
    for namespace in sorted({pod["metadata"]["namespace"] for pod in own}):
        try:
            policies = (await client.list(NETWORK_POLICIES, namespace)).items
        except KubeError:
            continue
        here = [pod for pod in own if pod["metadata"]["namespace"] == namespace]
        if not all(any(_selects(policy, pod) for policy in policies) for pod in here):
            result = f"no NetworkPolicy limits the traffic of {OWN_CONTROLLER} in namespace {namespace}"
            fix = "Set networkPolicy.enabled=true in the values of the chart"
            findings.append(Finding("network policy of the controller", Status.WARNING, result, fix))
    return findings


def _selects(policy: Mapping[str, Any], pod: Mapping[str, Any]) -> bool:
    selector = read_label_selector(policy["spec"].get("podSelector") or {})
    return selector.matches(pod["metadata"].get("labels") or {})


def _judge(kind: ResourceType, namespace: str, evidence: _Evidence) -> Finding:
    check = f"controller of {kind.group}"
    found = "; ".join(f"{name}: {reason}" for name, reason in evidence.running.items())
    start = f"Install {_get_operator(kind)}" + (f", or run `{OWN_CONTROLLER}`" if kind.group == APACHE.group else "")
    restart = f"Start this controller again. Or {start[:1].lower()}{start[1:]}"
    if evidence.waiting:
        fix = f"{start}. If it runs, check its log, and that it watches namespace {namespace}"
        result = f"{evidence.waiting}: no controller manages this namespace"
        known = found or "; ".join(evidence.stopped)
        if evidence.stopped and not found:
            fix = restart
        return Finding(check, Status.FAILED, f"{result} ({known})" if known else result, fix)
    if len(evidence.running) > 1:
        fix = "Make sure that each namespace is watched by only one of them"
        return Finding(check, Status.WARNING, f"several controllers: {found}", fix)
    if found:
        return Finding(check, Status.PASSED, found)
    if evidence.stopped:
        return Finding(check, Status.FAILED, "; ".join(evidence.stopped), restart)
    if evidence.unknown:
        result = "; ".join(one.result for one in evidence.unknown)
        return Finding(check, Status.SKIPPED, result, evidence.unknown[0].fix)
    return Finding(
        check,
        Status.WARNING,
        "found no controller: no pod, no Lease, and no resource that a controller has written to",
        start,
    )


async def _list_controller_pods(client: KubeClient, namespace: str) -> tuple[list[JsonObject], Finding | None]:
    """List the pods of controllers in all namespaces, or in one if the client may not list the others.

    Returns:
        The pods, and why there may be more of them. None if there are no others.
    """
    try:
        return (await client.list(PODS, label_selector=_SELECTOR)).items, None
    except KubeError as error:
        refusal = report_error("", error)
    try:
        return (await client.list(PODS, namespace, label_selector=_SELECTOR)).items, refusal
    except KubeError:
        return [], refusal


def _read_pods(pods: Iterable[JsonObject], kind: ResourceType, evidence: _Evidence) -> None:
    counts: dict[str, list[bool]] = {}
    for pod in pods:
        operator = _find_operator(pod)
        if operator and (operator == KUBEFLOW.operator) == (kind.group == KUBEFLOW.group):
            name = f"{operator} in namespace {pod['metadata']['namespace']}"
            counts.setdefault(name, []).append(is_ready(pod))
    for name, ready in counts.items():
        reason = f"{sum(ready)} of {len(ready)} pods ready"
        if any(ready):
            evidence.running[name] = reason
        else:
            evidence.stopped.append(f"{name}: {reason}")


def _find_operator(pod: Mapping[str, Any]) -> str | None:
    containers = pod["spec"].get("containers") or ()
    if any("reconcile" in (container.get("args") or ()) for container in containers):
        return OWN_CONTROLLER
    return _OPERATORS.get((pod["metadata"].get("labels") or {}).get(_COMPONENT, ""))


async def _read_applications(
    client: KubeClient, kind: ResourceType, namespace: str, now: datetime, evidence: _Evidence
) -> None:
    """Find the controllers that claimed the applications of a namespace, or wrote the last status without a claim."""
    if kind.group == APACHE.group:
        await _read_usual_leases(client, namespace, now, evidence)
    listed = await client.list(kind, namespace, trim=_trim, most=_MAX_APPLICATIONS)
    evidence.waiting = _find_waiting(listed.items, now)
    for owner in {find_owner(application) or "" for application in listed.items}:
        if lease := LeaseReference.parse(owner):
            await _read_lease(client, lease, now, evidence)
    time, manager = _find_last_write(listed.items)
    if manager == APACHE_MANAGER or (manager and kind.group == KUBEFLOW.group):
        _add_writer(_get_operator(kind), format_age(time, now), evidence)


async def _read_usual_leases(client: KubeClient, namespace: str, now: datetime, evidence: _Evidence) -> None:
    """Find controllers that have not claimed an application yet, by the Leases that controllers hold by default."""
    for lease in (LOCAL_LEASE, LeaseReference(namespace, DEFAULT_LEASE)):
        with suppress(KubeError):  # few users may read Leases
            found = await client.get(LEASES, lease.name, lease.namespace)
            if (tenure := read_tenure(found)).is_held(now):
                writers = {entry.get("manager") for entry in found["metadata"].get("managedFields") or ()}
                operator = APACHE.operator if APACHE_MANAGER in writers else OWN_CONTROLLER
                name = f"{operator} in namespace {lease.namespace}"
                evidence.running.setdefault(name, f"{tenure.holder} holds its Lease {lease}")


async def _read_lease(client: KubeClient, lease: LeaseReference, now: datetime, evidence: _Evidence) -> None:
    name = f"{OWN_CONTROLLER} in namespace {lease.namespace}"
    try:
        tenure = read_tenure(await client.get(LEASES, lease.name, lease.namespace))
    except NotFound:
        return
    except Forbidden as error:
        evidence.unknown.append(report_error("", error))
        return
    if tenure.is_held(now):
        evidence.running.setdefault(name, f"{tenure.holder} holds its Lease {lease}")
    else:
        evidence.stopped.append(f"{name}: no process holds its Lease {lease}")


def _add_writer(operator: str, age: str, evidence: _Evidence) -> None:
    if not any(name.startswith(operator) for name in evidence.running):
        limits = "".join(f". Whether it still runs is unknown: {one.result}" for one in evidence.unknown if one.fix)
        evidence.running[operator] = f"last wrote {age} ago{limits}"


def _get_operator(kind: ResourceType) -> str:
    return KUBEFLOW.operator if kind.group == KUBEFLOW.group else APACHE.operator


def _find_waiting(applications: Iterable[Mapping[str, Any]], now: datetime) -> str:
    """Describe the application that has been without a status for longest; empty if all have one, or are new."""
    waiting = {why.since: application for application in applications if (why := find_missing_status(application, now))}
    if not waiting:
        return ""
    metadata = waiting[min(waiting)]["metadata"]
    age = format_age(metadata["creationTimestamp"], now)
    return f"SparkApplication {metadata['namespace']}/{metadata['name']} has had no status for {age}"


def _find_last_write(applications: Iterable[Mapping[str, Any]]) -> tuple[str, str]:
    """Return the time and the field manager of the last write of a status; empty if there is none."""
    entries = (entry for each in applications for entry in each["metadata"].get("managedFields") or ())
    writes = [
        (str(entry.get("time") or ""), str(entry.get("manager") or ""))
        for entry in entries
        if entry.get("subresource") == "status" and not str(entry.get("manager")).startswith("kubectl")
    ]
    return max(writes, default=("", ""))


def _trim(application: JsonObject) -> None:
    """Reduce an application to its metadata and whether its controller has done everything that it can do now."""
    # A controller writes no status before the start of an application that spec.suspend or a queue holds.
    is_held = find_held_application(read_progress(application), application) is not None
    application["status"] = is_held or bool(application.get("status"))
    application.pop("spec", None)
