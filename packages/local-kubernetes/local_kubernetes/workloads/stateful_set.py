"""Decides which pods a StatefulSet needs; changes nothing."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..api.kinds.documents import JsonObject, copy_json

_REVISION_LABEL = "controller-revision-hash"
_NAME_LABEL = "statefulset.kubernetes.io/pod-name"
_INDEX_LABEL = "apps.kubernetes.io/pod-index"


@dataclass(frozen=True)
class StatefulSetChanges:
    """The changes that a StatefulSet needs.

    Args:
        claims: Persistent volume claims to create for new pods.
        creations: Pods to create.
        deletions: Names of pods to delete.
        status: New status of the set.
    """

    claims: Sequence[JsonObject]
    creations: Sequence[JsonObject]
    deletions: Sequence[str]
    status: JsonObject


def decide(stateful_set: JsonObject, pods: Sequence[JsonObject]) -> StatefulSetChanges:
    """Return the next changes.

    Pods are created in the order of their numbers and deleted in reverse order. Each waits for the one before it,
    unless the set's `podManagementPolicy` is Parallel. Pods of an earlier template are replaced one at a time.

    Args:
        stateful_set: The set.
        pods: The pods that belong to the set.
    """
    known = {number: pod for pod in pods if (number := _parse_number(stateful_set, pod)) is not None}
    spec = stateful_set["spec"]
    first = int((spec.get("ordinals") or {}).get("start") or 0)
    wanted = range(first, first + _get_replicas(stateful_set))
    parallel = spec.get("podManagementPolicy") == "Parallel"
    missing, deletions = _find_next_steps(known, wanted, parallel=parallel)
    if not missing and not deletions:
        deletions = _find_outdated(stateful_set, known, wanted)
    return StatefulSetChanges(
        [claim for number in missing for claim in _build_claims(stateful_set, number)],
        [_build_pod(stateful_set, number) for number in missing],
        deletions,
        _build_status(stateful_set, known),
    )


def belongs_to(stateful_set: JsonObject, pod: JsonObject) -> bool:
    """Whether a StatefulSet controls a pod."""
    uid = stateful_set["metadata"]["uid"]
    owners = pod["metadata"].get("ownerReferences") or ()
    return any(owner.get("uid") == uid and owner.get("controller") for owner in owners)


def _find_next_steps(known: Mapping[int, JsonObject], wanted: range, *, parallel: bool) -> tuple[list[int], list[str]]:
    """Return the numbers of the pods to create, and the names of the pods to delete."""
    missing: list[int] = []
    deletions: list[str] = []
    for number in wanted:
        pod = known.get(number)
        if pod is None:
            missing.append(number)
        elif _is_healthy(pod):
            continue
        elif _has_ended(pod) and not _is_going(pod):
            deletions.append(_build_name(pod))
        if not parallel:
            return missing, deletions
    for number in sorted(set(known) - set(wanted), reverse=True):
        if not _is_going(known[number]):
            deletions.append(_build_name(known[number]))
        if not parallel:
            break
    return missing, deletions


def _find_outdated(stateful_set: JsonObject, known: Mapping[int, JsonObject], wanted: range) -> list[str]:
    """Return the next pod of an earlier template to replace; None if there is none."""
    strategy = stateful_set["spec"].get("updateStrategy") or {}
    if strategy.get("type", "RollingUpdate") != "RollingUpdate":
        return []
    partition = int((strategy.get("rollingUpdate") or {}).get("partition") or 0)
    for number in reversed(wanted):
        pod = known.get(number)
        if number < partition or pod is None or _is_going(pod):
            break
        if _get_revision(pod) != _build_revision(stateful_set):
            return [_build_name(pod)]
        if not _is_healthy(pod):
            break
    return []


def _build_pod(stateful_set: JsonObject, number: int) -> JsonObject:
    metadata, spec = stateful_set["metadata"], stateful_set["spec"]
    template = copy_json(spec["template"])
    given = template.get("metadata") or {}
    name = f"{metadata['name']}-{number}"
    labels = {_NAME_LABEL: name, _INDEX_LABEL: str(number), _REVISION_LABEL: _build_revision(stateful_set)}
    pod_spec = template["spec"]
    names = [str(claim["metadata"]["name"]) for claim in spec.get("volumeClaimTemplates") or ()]
    volumes = [volume for volume in pod_spec.get("volumes") or () if volume.get("name") not in names]
    volumes += [{"name": each, "persistentVolumeClaim": {"claimName": f"{each}-{name}"}} for each in names]
    pod_spec |= {"hostname": name, "subdomain": spec.get("serviceName") or ""}
    if volumes:
        pod_spec["volumes"] = volumes
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "generateName": f"{metadata['name']}-",
            "labels": (given.get("labels") or {}) | labels,
            "annotations": given.get("annotations") or {},
            "ownerReferences": [_build_owner_reference(stateful_set)],
        },
        "spec": pod_spec,
    }


def _build_claims(stateful_set: JsonObject, number: int) -> list[JsonObject]:
    metadata, spec = stateful_set["metadata"], stateful_set["spec"]
    selector = (spec.get("selector") or {}).get("matchLabels") or {}
    claims = []
    for template in copy_json(spec.get("volumeClaimTemplates") or []):
        given = template["metadata"]
        name = f"{given['name']}-{metadata['name']}-{number}"
        labels = (given.get("labels") or {}) | selector
        kept = {"name": name, "labels": labels, "annotations": given.get("annotations") or {}}
        body = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": kept, "spec": template["spec"]}
        claims.append(body)
    return claims


def _build_owner_reference(stateful_set: JsonObject) -> JsonObject:
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "name": stateful_set["metadata"]["name"],
        "uid": stateful_set["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _build_status(stateful_set: JsonObject, known: Mapping[int, JsonObject]) -> JsonObject:
    """Return the status; like Kubernetes it omits most numbers that are zero."""
    previous, revision = stateful_set.get("status") or {}, _build_revision(stateful_set)
    present = [pod for pod in known.values() if not _has_ended(pod)]
    ready = sum(map(_is_healthy, present))
    updated = sum(_get_revision(pod) == revision and not _is_going(pod) for pod in present)
    current = previous.get("currentRevision") or revision
    if updated == ready == _get_replicas(stateful_set):
        current = revision
    of_current = sum(_get_revision(pod) == current and not _is_going(pod) for pod in present)
    numbers = {"readyReplicas": ready, "currentReplicas": of_current, "updatedReplicas": updated}
    return {
        "observedGeneration": stateful_set["metadata"].get("generation", 1),
        "replicas": len(present),
        "availableReplicas": ready,
        **{key: number for key, number in numbers.items() if number},
        "currentRevision": current,
        "updateRevision": revision,
        "collisionCount": 0,
    }


def _get_replicas(stateful_set: JsonObject) -> int:
    replicas = stateful_set["spec"].get("replicas")
    return 1 if replicas is None else int(replicas)


def _build_revision(stateful_set: JsonObject) -> str:
    """Return the name of the revision of the set's present template."""
    text = json.dumps(stateful_set["spec"]["template"], sort_keys=True)
    return f"{stateful_set['metadata']['name']}-{hashlib.sha256(text.encode()).hexdigest()[:10]}"


def _get_revision(pod: JsonObject) -> str | None:
    label: str | None = (pod["metadata"].get("labels") or {}).get(_REVISION_LABEL)
    return label


def _parse_number(stateful_set: JsonObject, pod: JsonObject) -> int | None:
    """Return the number of a pod in its set; None if the name does not belong to the set."""
    prefix, _, number = _build_name(pod).rpartition("-")
    return int(number) if prefix == stateful_set["metadata"]["name"] and number.isdecimal() else None


def _build_name(pod: JsonObject) -> str:
    return str(pod["metadata"]["name"])


def _is_going(pod: JsonObject) -> bool:
    return "deletionTimestamp" in pod["metadata"]


def _has_ended(pod: JsonObject) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def _is_healthy(pod: JsonObject) -> bool:
    status = pod.get("status") or {}
    conditions = {item["type"]: item["status"] for item in status.get("conditions") or ()}
    return not _is_going(pod) and status.get("phase") == "Running" and conditions.get("Ready") == "True"
