"""Facts about a controller in a scenario, in the form of the recordings in tests/golden/traces/facts."""

import itertools
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any, TypeAlias

import yaml

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.spark.properties import parse_properties
from tests.core.scenario import FOLDER, ApplicationTrace
from tests.traces.player import Player, SeenObject

Facts: TypeAlias = dict[str, Any]
"""Values by category and path, for example `states:SparkApplication/app`."""
Difference: TypeAlias = tuple[str, Any, Any]
"""The path of a difference, the value of the Apache operator and the value of this controller."""
ABSENT = "absent"
_RANDOM = (
    (re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "<uuid>"),
    (re.compile(r"kube-api-access-[a-z0-9]{5}\b"), "kube-api-access"),
)
_JAVA_OPTION = re.compile(r'-D[^\s=]+="[^"]*"|-D\S+')
_OPERATOR_SETTING = "spark.kubernetes.operator."
_SORTED_LISTS = ("env", "imagePullSecrets", "ports", "volumeMounts", "volumes")
_SERVER_FIELDS = {"Pod": ("nodeName",), "Service": ("clusterIP", "clusterIPs")}
# Three or more equal states in a row come from a loop, whose length is random.
_LOOP = 3


def read_recording(scenario: str) -> tuple[Facts, Facts]:
    """Return the facts of the Apache operator, and the values that other runs of it have shown, by path."""
    recorded = json.loads((FOLDER / "facts" / f"{scenario}.json").read_text())
    return recorded["facts"], recorded["other_runs"]


def build_facts(player: Player) -> Facts:
    """Return the facts of a scenario that was played."""
    facts: Facts = {
        "end:executors left": player.executors_left,
        "events:events": sorted(player.events),
        "steps:failed": player.failed_steps,
    }
    for label, trace in player.customs.items():
        facts |= _describe_custom(label, trace, player.finalizers[label])
    seen_before: Counter[str] = Counter()
    for seen in player.objects.values():
        seen_before[seen.label] += 1
        number = seen_before[seen.label]
        facts |= _describe_object(seen.label if number == 1 else f"{seen.label}#{number}", seen)
    return facts


def find_differences(theirs: Facts, ours: Facts, other_runs: Mapping[str, list[Any]]) -> list[Difference]:
    """Return the differences, except values that another run of the Apache operator has shown as well."""
    return [
        found
        for path in sorted(theirs.keys() | ours.keys())
        if ours.get(path, ABSENT) not in other_runs.get(path, ())
        for found in _compare(path, theirs.get(path, ABSENT), ours.get(path, ABSENT))
    ]


def _compare(path: str, mine: Any, yours: Any) -> Iterator[Difference]:
    category = path.partition(":")[0]
    if category in ("metadata", "spec") and ABSENT in (mine, yours):
        return  # the absence of the object is a difference of `objects`
    if category in ("driver_status", "states"):
        if mine != yours:
            short = _shorten(path, mine), _shorten(path, yours)
            yield path, *((mine, yours) if short[0] == short[1] else short)
    else:
        yield from _walk(path, mine, yours)


def _walk(path: str, mine: Any, yours: Any) -> Iterator[Difference]:
    if isinstance(mine, dict) and isinstance(yours, dict):
        for key in sorted(mine.keys() | yours.keys()):
            yield from _walk(f"{path}.{key}", mine.get(key, ABSENT), yours.get(key, ABSENT))
    elif isinstance(mine, list) and isinstance(yours, list) and len(mine) == len(yours):
        if any(isinstance(each, dict) for each in mine):
            for position, pair in enumerate(zip(mine, yours, strict=True)):
                yield from _walk(f"{path}[{position}]", *pair)
        elif mine != yours:
            yield path, mine, yours
    elif mine != yours:
        yield path, mine, yours


def _shorten(path: str, value: Any) -> Any:
    """Reduce observed drivers to their phases, by the position of the state."""
    if not path.startswith("driver_status:") or value == ABSENT:
        return value
    return {position: driver["phase"] for position, driver in enumerate(value) if driver}


def _describe_custom(label: str, trace: ApplicationTrace, finalizers: set[str]) -> Facts:
    metadata, status = trace.document["metadata"], trace.document.get("status", {})
    states = [
        each
        for state, run in itertools.groupby(trace.states)
        for each in (lambda length: [state] * length if length < _LOOP else [f"{state}+"])(len(list(run)))
    ]
    facts: Facts = {
        f"states:{label}": states,
        f"status_fields:{label}": sorted(status),
        f"metadata:{label} labels": metadata.get("labels", {}),
        f"metadata:{label} annotations": metadata.get("annotations", {}),
        f"end:{label} finalizers seen": sorted(finalizers - {"foregroundDeletion"}),
        f"end:{label}": {
            "state": status.get("currentState", {}).get("currentStateSummary"),
            "exists": trace.exists,
            "finalizers": sorted(metadata.get("finalizers", ())) if trace.exists else None,
        },
    }
    attempts = {word: status.get(f"{word}AttemptSummary") or {} for word in ("current", "previous")}
    for word, attempt in attempts.items():
        facts[f"attempts:{label} {word}"] = attempt.get("attemptInfo")
    if states == trace.states:
        histories = {"ids": status, "previous ids": attempts["previous"]}
        for word, holder in histories.items():
            facts[f"history:{label} {word}"] = sorted(map(int, holder.get("stateTransitionHistory") or ()))
        entries = [entry for _, entry in sorted(trace.entries.items())]
        facts[f"driver_status:{label}"] = [_describe_driver(entry.get("lastObservedDriverStatus")) for entry in entries]
    return facts


def _describe_driver(status: JsonObject | None) -> JsonObject | None:
    if not status:
        return None
    driver: JsonObject = {"phase": status.get("phase")}
    if status.get("reason"):
        driver["reason"] = status["reason"]
    for key in ("containers", "initContainers"):
        driver[key] = [
            {
                "name": each["name"],
                "state": sorted(each.get("state", {})),
                "restarts": each.get("restartCount", 0),
                "exit": each.get("state", {}).get("terminated", {}).get("exitCode"),
            }
            for each in status.get(f"{key[:-1]}Statuses") or ()
        ]
    return driver


def _describe_object(label: str, seen: SeenObject) -> Facts:
    metadata = seen.document["metadata"]
    owners = [
        f"{each['kind']}/{each['name']} controller={bool(each.get('controller'))} "
        f"block={bool(each.get('blockOwnerDeletion'))}"
        for each in metadata.get("ownerReferences", ())
    ]
    return {
        f"objects:{label}": "left at the end" if seen.exists else "gone at the end",
        f"metadata:{label} labels": _normalize(metadata.get("labels", {})),
        f"metadata:{label} annotations": _normalize(metadata.get("annotations", {})),
        f"metadata:{label} owners": sorted(owners),
        f"spec:{label}": _describe_body(label.partition("/")[0], seen.body),
    }


def _describe_body(kind: str, document: JsonObject) -> Any:
    if kind in ("ConfigMap", "Secret"):
        return {key: _parse_data(key, text) for key, text in document.get("data", {}).items()}
    spec = deepcopy(document["spec"])
    for name in _SERVER_FIELDS.get(kind, ()):
        if spec.get(name) not in ("None", ["None"]):
            spec.pop(name, None)
    return _normalize(spec)


def _parse_data(key: str, text: str) -> Any:
    if key.endswith(".properties"):
        entries = parse_properties(text)
        return {name: _normalize(each) for name, each in entries.items() if not name.startswith(_OPERATOR_SETTING)}
    return _normalize(yaml.safe_load(text) if "podspec" in key else text)


def _normalize(value: Any, key: str = "") -> Any:
    """Replace random parts, and sort lists whose order has no meaning."""
    if isinstance(value, dict):
        return {name: _normalize(each, name) for name, each in value.items()}
    if isinstance(value, list):
        entries = [_normalize(each) for each in value]
        return sorted(entries, key=_get_sort_key) if key in _SORTED_LISTS else entries
    if not isinstance(value, str):
        return value
    if value.startswith("-Dspark"):
        options = _JAVA_OPTION.findall(value)
        value = " ".join(sorted(each for each in options if not each.startswith(f"-D{_OPERATOR_SETTING}")))
    for pattern, replacement in _RANDOM:
        value = pattern.sub(replacement, value)
    return value


def _get_sort_key(entry: JsonObject) -> str:
    return json.dumps([entry.get("name"), entry.get("mountPath"), entry.get("containerPort")])
