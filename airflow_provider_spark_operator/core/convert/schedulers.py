"""Schedulers of the pods: Kubernetes' own, Volcano, YuniKorn and others."""

import json
from typing import Any, Final

from ..driver.pod.volcano import VOLCANO_STEP
from .draft import Draft
from .fields import ROLES

_VOLCANO: Final = "volcano"
_YUNIKORN: Final = "yunikorn"
_OPTIONS: Final = "spec.batchSchedulerOptions"


def write_schedulers(draft: Draft) -> None:
    """Write the scheduler of the pods. A batch scheduler takes precedence over the schedulers of the roles."""
    scheduler = draft.source.get("batchScheduler")
    for role in ROLES:
        name = draft.get_pod(role).get("schedulerName")
        if name and scheduler:
            draft.drop(f"spec.{role}.schedulerName", "spec.batchScheduler takes precedence")
        elif name:
            draft.conf[f"spark.kubernetes.{role}.scheduler.name"] = name
    options = draft.source.get("batchSchedulerOptions", {})
    if not scheduler:
        for field in options:
            draft.drop(f"{_OPTIONS}.{field}", "it has no effect without spec.batchScheduler")
        return
    for role in ROLES:
        draft.conf.pop(f"spark.kubernetes.{role}.scheduler.name", None)
    draft.conf["spark.kubernetes.scheduler.name"] = scheduler
    if scheduler == _VOLCANO:
        _write_volcano(draft, options)
    elif scheduler == _YUNIKORN:
        _write_yunikorn(draft, options)
    else:
        reason = (
            f"the operator in the cluster creates no PodGroup for {scheduler}, "
            f"so {scheduler} schedules each pod separately"
        )
        draft.change("spec.batchScheduler", reason)
        for field in options:
            draft.drop(f"{_OPTIONS}.{field}", reason)


def _write_volcano(draft: Draft, options: dict[str, Any]) -> None:
    for role in ROLES:
        key = f"spark.kubernetes.{role}.pod.featureSteps"
        steps = [step for step in draft.conf.get(key, "").split(",") if step]
        draft.conf[key] = ",".join(dict.fromkeys([*steps, VOLCANO_STEP]))
    names = {"queue": "queue", "priorityClassName": "priorityClassName", "resources": "minResources"}
    group = {"minMember": 1} | {names[field]: value for field, value in options.items() if value}
    draft.conf["spark.kubernetes.scheduler.volcano.podGroupTemplateJson"] = json.dumps({"spec": group}, sort_keys=True)
    reason = (
        f"Spark creates the PodGroup, and this PodGroup has no resources unless {_OPTIONS}.resources is set. "
        "Kubeflow's operator computes the resources from the pods"
    )
    draft.change("spec.batchScheduler", reason)
    for field in options:
        draft.targets[f"{_OPTIONS}.{field}"] = "spark.kubernetes.scheduler.volcano.podGroupTemplateJson"


def _write_yunikorn(draft: Draft, options: dict[str, Any]) -> None:
    for role in ROLES:
        if options.get("queue"):
            draft.conf[f"spark.kubernetes.{role}.label.queue"] = options["queue"]
        draft.conf.setdefault(f"spark.kubernetes.{role}.annotation.yunikorn.apache.org/app-id", "{{APP_ID}}")
    reason = (
        "the pods have no task groups: YuniKorn schedules each pod separately. For gang scheduling, set the "
        "annotations yunikorn.apache.org/task-groups and task-group-name"
    )
    draft.change("spec.batchScheduler", reason)
    draft.targets[f"{_OPTIONS}.queue"] = "spark.kubernetes.ROLE.label.queue"
    for field in ("priorityClassName", "resources"):
        draft.drop(f"{_OPTIONS}.{field}", "Kubeflow's operator ignores it for YuniKorn")
