"""The dialect of `spark.apache.org`, whichever operator manages the applications.

A status may have any content. Malformed parts are ignored.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from ..driver.configuration.configuration import DriverBuildError
from ..driver.configuration.resource_names import get_driver_pod_name
from ..kubernetes import names
from ..kubernetes.json_object import JsonObject, KubernetesObject, copy_list, copy_object, is_integer
from ..kubernetes.pods import get_object, get_text
from ..kubernetes.times import read_time
from ..lifecycle.driver_end import get_main_container
from ..log.driver_log import split_lines
from ..parameters.arguments import DEFAULT_TTL_SECONDS, KEEP, TTL_AFTER_SUCCESS_SECONDS
from ..parameters.parameters import MEMORY_KEYS, Parameters
from ..parameters.pod_template import extend_template
from ..spark.spark_conf import TEMPLATE_CONTAINER_KEYS, uses_dynamic_allocation
from ..states.states import DRIVER_RUNS, FAILURE, RUNNING, STOPPING, TERMINATED, ApplicationState, read_suspend_reason
from . import apache_spec
from .base import Dialect, shorten_java_message
from .progress import Phase, Progress, StateEntry, find_last_stop

# Earlier versions lack some fields, for example those of retention and the time to live.
_NEWEST: Final = names.DEFAULT_API_VERSION
_FILES_VOLUME: Final = "airflow-task"
# Spark's default of spark.executor.instances.
_DEFAULT_EXECUTORS = 2
_MAX_DIGITS = 9
_DRIVER_EXPECTED = frozenset({ApplicationState.DRIVER_REQUESTED, ApplicationState.DRIVER_STARTED})


class Apache(Dialect):
    """The applications of `spark.apache.org`. A model describes them, and they support every parameter."""

    group = names.GROUP
    operator = "the Apache operator"
    installation = (
        "install the CustomResourceDefinitions with `spark-operator crds | kubectl apply --server-side -f -`, "
        "or those of the Apache operator's chart"
    )
    versions = names.VERSIONS
    states = tuple(ApplicationState)
    ended_states = TERMINATED
    healthy_states = RUNNING | {ApplicationState.SUCCEEDED}
    failed_states = FAILURE
    running = ApplicationState.RUNNING_HEALTHY
    success = ApplicationState.SUCCEEDED
    application_label = names.LABEL_APPLICATION_NAME
    owned_driver = True
    has_clusters = True
    has_model = True
    can_mount_files = True

    def get_phase(self, state: str) -> Phase:
        if state in TERMINATED:
            return Phase.ENDED
        if state in STOPPING:
            return Phase.STOPPING
        return Phase.RUNNING if state in DRIVER_RUNS else Phase.WAITING

    def read_progress(self, resource: KubernetesObject) -> Progress:
        # Without a status the application counts as submitted. An unknown state counts as waiting.
        status = get_object(resource.get("status"))
        current = _read_entry(get_object(status.get("currentState")))
        attempt = _read_attempt(status)
        history = _read_history(get_object(status.get("stateTransitionHistory")))
        stop = find_last_stop(history)
        identifier = self.read_application_id(resource, attempt)
        return Progress(
            state=current.state,
            phase=self.get_phase(current.state),
            since=current.time,
            message=current.message,
            attempt=attempt,
            history=history,
            driver_status=stop.driver_status if stop else current.driver_status,
            application_id=identifier if status else None,
            restart_pending=_is_restart_pending(resource, current.state),
            driver_expected=current.state in _DRIVER_EXPECTED,
            driver_started=current.state == ApplicationState.DRIVER_STARTED,
            reason=current.reason,
            main_container=get_main_container(self.read_properties(resource)),
            driver_name=self.read_driver_pod_name(resource, identifier) if status else None,
            suspended_by=current.suspended_by,
        )

    def read_history(self, resource: KubernetesObject, driver_started: datetime | None) -> tuple[StateEntry, ...]:
        """Return the recorded states of all attempts, oldest first.

        If the controller trims the history, the status contains the states of the last two attempts.
        """
        status = get_object(resource.get("status"))
        past = get_object(get_object(status.get("previousAttemptSummary")).get("stateTransitionHistory"))
        history = _read_history({**past, **get_object(status.get("stateTransitionHistory"))})
        if history:
            return history
        created = read_time(get_object(resource.get("metadata")).get("creationTimestamp"))
        current = _read_entry(get_object(status.get("currentState")))
        return (current if status else StateEntry(ApplicationState.SUBMITTED, created),)

    def count_wanted_executors(self, resource: KubernetesObject) -> int:
        conf = self.read_properties(resource)
        dynamic = uses_dynamic_allocation(conf)
        key = "spark.dynamicAllocation.minExecutors" if dynamic else "spark.executor.instances"
        value = str(conf.get(key, 0 if dynamic else _DEFAULT_EXECUTORS))
        # Python refuses to parse thousands of digits. No cluster has that number of executors.
        return int(value) if value.isdecimal() and len(value) <= _MAX_DIGITS else _DEFAULT_EXECUTORS

    def read_application_id(self, resource: KubernetesObject, attempt: int) -> str | None:
        """Return Spark's id of an attempt; None if the application has no name."""
        metadata = get_object(resource.get("metadata"))
        name, namespace = get_text(metadata.get("name")), get_text(metadata.get("namespace"))
        fixed = self.read_properties(resource).get("spark.app.id")
        return str(fixed) if fixed else (names.build_application_id(namespace, name, attempt) if name else None)

    def read_driver_pod_name(self, resource: KubernetesObject, identifier: str | None) -> str | None:
        try:
            return get_driver_pod_name(identifier, self.read_properties(resource)) if identifier else None
        except DriverBuildError:  # no driver can have a name
            return None

    def read_restart_config(self, document: KubernetesObject) -> Mapping[str, object]:
        """Return the restartConfig of an application; empty if it has none."""
        tolerations = get_object(get_object(document.get("spec")).get("applicationTolerations"))
        return get_object(tolerations.get("restartConfig"))

    def disable_restarts(self, document: JsonObject) -> JsonObject:
        config = self.read_restart_config(document)
        return (
            _write_tolerations(document, {"restartConfig": {**config, "restartPolicy": "Never"}})
            if config
            else document
        )

    def read_ttl(self, document: KubernetesObject) -> float | None:
        tolerations = get_object(get_object(document.get("spec")).get("applicationTolerations"))
        millis = tolerations.get("ttlAfterStopMillis")
        return float(millis) / 1000 if is_integer(millis) and millis >= 0 else None

    def write_ttl(self, document: JsonObject, seconds: float | None) -> JsonObject:
        tolerations = document["spec"].get("applicationTolerations") or {}
        if not isinstance(tolerations, dict):
            return document  # the validation before the submission reports the problem
        if seconds is not None:
            return _write_tolerations(
                document, {"ttlAfterStopMillis": KEEP if seconds == KEEP else round(1000 * seconds)}
            )
        if tolerations.get("ttlAfterStopMillis") is not None or document.get("apiVersion") != _NEWEST:
            return document
        metadata = document.get("metadata") or {}
        annotations = {
            **(metadata.get("annotations") or {}),
            names.ANNOTATION_TTL_AFTER_SUCCESS: str(TTL_AFTER_SUCCESS_SECONDS),
        }
        document = document | {"metadata": metadata | {"annotations": annotations}}
        return _write_tolerations(document, {"ttlAfterStopMillis": 1000 * DEFAULT_TTL_SECONDS})

    def patch_ttl(self, seconds: int) -> JsonObject:
        return {"spec": {"applicationTolerations": {"ttlAfterStopMillis": 1000 * seconds}}}

    def keep_driver(self, document: JsonObject, seconds: float) -> JsonObject:
        """Return `document` with a retain policy for every driver. Retention fields of the document are kept."""
        tolerations = document["spec"].get("applicationTolerations") or {}
        retention = {"resourceRetainPolicy": "Always", "resourceRetainDurationMillis": round(1000 * seconds)}
        return _write_tolerations(document, {**retention, **tolerations})

    def keep_failed_driver(self, document: JsonObject, seconds: float) -> JsonObject:
        """Return `document` with a retain policy for failed drivers, unless it sets a retention field itself.

        Versions before v1 have no field for a duration, so the pod would be retained as long as the application.
        """
        tolerations = document["spec"].get("applicationTolerations") or {}
        if document.get("apiVersion") != _NEWEST or not isinstance(tolerations, Mapping):
            return document
        retention = {"resourceRetainPolicy": "OnFailure", "resourceRetainDurationMillis": round(1000 * seconds)}
        if any(tolerations.get(field) is not None for field in retention):
            return document
        return _write_tolerations(document, retention)

    def read_memory(self, document: KubernetesObject) -> dict[str, str]:
        conf = self.read_properties(document)
        return {key: value for key in MEMORY_KEYS if isinstance(value := conf.get(key), str)}

    def write_memory(self, document: JsonObject, memory: Mapping[str, str]) -> JsonObject:
        return self.write_properties(document, memory)

    def write_parameters(self, document: JsonObject, parameters: Parameters) -> JsonObject:
        return apache_spec.write_parameters(document, parameters)

    def mount_files(self, document: JsonObject, name: str, files: Mapping[str, str], *, executors: bool) -> JsonObject:
        """Return `document` with a ConfigMap of files, mounted into the driver and, if needed, into the executors.

        Args:
            document: The application. It stays unchanged. Its spec is an object.
            name: Name of the ConfigMap.
            files: Contents by file name.
            executors: Whether executors need the files, too.

        Raises:
            InvalidResource: A part of the document that must be extended is not an object or list.
        """
        spec = dict(document["spec"])
        conf = get_object(spec.get("sparkConf"))
        config_maps = copy_list(spec, "configMapSpecs", "spec.configMapSpecs")
        spec["configMapSpecs"] = [*config_maps, {"name": name, "data": dict(files)}]
        roles = {names.ROLE_DRIVER: names.DRIVER_CONTAINER} | (
            {names.ROLE_EXECUTOR: names.EXECUTOR_CONTAINER} if executors else {}
        )
        for role, container in roles.items():
            chosen = conf.get(TEMPLATE_CONTAINER_KEYS[role])
            spec[f"{role}Spec"] = _mount_config_map(spec, f"{role}Spec", name, str(chosen or container))
        return document | {"spec": spec}

    def read_ui_url(self, document: KubernetesObject) -> str:
        """Return the URL of the first host of the application's ingresses or HTTP routes; empty if it has none."""
        spec = document.get("spec")
        for ingress in _list_objects(spec, "driverServiceIngressList"):
            details = ingress.get("ingressSpec")
            scheme = "https" if _list_objects(details, "tls") else "http"
            for rule in _list_objects(details, "rules"):
                if isinstance(rule.get("host"), str):
                    return f"{scheme}://{rule['host']}/"
        for route in _list_objects(spec, "driverHttpRouteList"):
            hosts = get_object(route.get("httpRouteSpec")).get("hostnames")
            if isinstance(hosts, list) and hosts:
                return f"http://{hosts[0]}/"
        return ""


def _is_restart_pending(resource: KubernetesObject, state: str) -> bool:
    if state == ApplicationState.SCHEDULED_TO_RESTART:
        return True
    tolerations = get_object(get_object(resource.get("spec")).get("applicationTolerations"))
    policy = get_text(get_object(tolerations.get("restartConfig")).get("restartPolicy"))
    return state in STOPPING and policy not in ("", "Never")


def _read_history(history: Mapping[str, object]) -> tuple[StateEntry, ...]:
    numbered = {int(key): value for key, value in history.items() if _is_position(key)}
    return tuple(_read_entry(get_object(numbered[key])) for key in sorted(numbered))


def _is_position(key: object) -> bool:
    return isinstance(key, str) and key.isascii() and key.isdecimal() and len(key) <= 18


def _read_entry(record: Mapping[str, object]) -> StateEntry:
    driver_status = record.get("lastObservedDriverStatus")
    text, log_lines = split_lines(get_text(record.get("message")))
    state = get_text(record.get("currentStateSummary")) or ApplicationState.SUBMITTED
    return StateEntry(
        state=state,
        time=read_time(record.get("lastTransitionTime")),
        message=shorten_java_message(text) or None,
        driver_status=driver_status if isinstance(driver_status, Mapping) else None,
        reason=get_text(record.get("reason")) or None,
        log_lines=log_lines,
        suspended_by=read_suspend_reason(record) if state == ApplicationState.SUSPENDED else None,
    )


def _read_attempt(status: Mapping[str, object]) -> int:
    info = get_object(get_object(status.get("currentAttemptSummary")).get("attemptInfo"))
    number = info.get("id")
    return number if isinstance(number, int) and not isinstance(number, bool) and number >= 0 else 0


def _mount_config_map(spec: JsonObject, role: str, name: str, container_name: str) -> JsonObject:
    path = f"spec.{role}.podTemplateSpec"
    holder = copy_object(spec, role, f"spec.{role}")
    mount = {"name": _FILES_VOLUME, "mountPath": names.FILES_DIRECTORY, "readOnly": True}
    template = extend_template(
        copy_object(holder, "podTemplateSpec", path),
        path,
        container_name,
        pod={"volumes": [{"name": _FILES_VOLUME, "configMap": {"name": name}}]},
        container={"volumeMounts": [mount]},
    )
    return holder | {"podTemplateSpec": template}


def _list_objects(holder: object, key: str) -> list[Mapping[str, object]]:
    value = get_object(holder).get(key)
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list) else []


def _write_tolerations(document: JsonObject, fields: Mapping[str, object]) -> JsonObject:
    spec = document["spec"]
    tolerations = {**(spec.get("applicationTolerations") or {}), **fields}
    return document | {"spec": spec | {"applicationTolerations": tolerations}}
