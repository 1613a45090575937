"""All resources of one attempt of a SparkApplication, as the Apache operator creates them, and the files it names.

This module reads no files. The caller reads the files that it returns and passes their contents to the build.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..kubernetes.json_object import JsonObject
from ..kubernetes.names import LABEL_APPLICATION_NAME, LABEL_OPERATOR_NAME
from ..models.application import (
    ConfigMapSpec,
    PodSpecOverride,
    RestartCondition,
    SparkApplication,
    SparkApplicationSpec,
)
from ..spark.spark_conf import replace_version_in_images, uses_dynamic_allocation
from .build import build_driver, find_excluded_steps
from .configuration.configuration import Configuration, DriverBuildError, split_list
from .configuration.inputs import DRIVER_TEMPLATE_KEY, PYTHON_RUNNER, R_RUNNER, ApplicationKind, SubmissionInputs
from .configuration.resource_names import Naming, build_attempt_naming, check_label_value
from .configuration.uris import check_reachable
from .pod.basics import LABEL_PREFIX
from .pod.pod import forbid_privilege_escalation, merge
from .pod.template import EXECUTOR_TEMPLATE_KEY, mount_executor_template
from .pod.volcano import POD_GROUP_TEMPLATE_KEY, uses_volcano
from .routes import build_route_documents

_CREDENTIALS_PREFIX = "spark.kubernetes.authenticate.driver."
_FILE_KEYS = (
    f"{_CREDENTIALS_PREFIX}caCertFile",
    f"{_CREDENTIALS_PREFIX}clientKeyFile",
    f"{_CREDENTIALS_PREFIX}clientCertFile",
    "spark.kubernetes.kerberos.krb5.path",
)
_KEYTAB_KEY = "spark.kerberos.keytab"
_USER = "spark"
_API_ADDRESS = "https://$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT"
_LABEL_PREFIXES = (LABEL_PREFIX, "spark.kubernetes.driver.service.label.", "spark.kubernetes.executor.label.")
_DEPENDENCY_KEYS = ("spark.jars", "spark.files", "spark.archives", "spark.submit.pyFiles")
_DEFAULTS = {
    "spark.authenticate": "true",
    "spark.io.encryption.enabled": "true",
    "spark.kubernetes.driver.annotateExitException": "true",
    "spark.kubernetes.executor.useDriverPodIP": "true",
}


@dataclass(frozen=True)
class NamedTemplates:
    """The contents of the template files that the configuration names, or None for a file that it does not name.

    Attributes:
        driver: The parsed pod template of the driver.
        executor: The text of the pod template of the executors. Only the driver parses it.
        pod_group: The parsed template of Volcano's PodGroup.
    """

    driver: Mapping[str, Any] | None = None
    executor: str | None = None
    pod_group: Mapping[str, Any] | None = None


NO_TEMPLATES = NamedTemplates()


def find_template_files(conf: Configuration) -> dict[str, str]:
    """Return the paths or URIs of the template files that the build needs, by configuration key."""
    keys = [DRIVER_TEMPLATE_KEY]
    if mount_executor_template not in find_excluded_steps(conf):
        keys.append(EXECUTOR_TEMPLATE_KEY)
    if uses_volcano(conf):
        keys.append(POD_GROUP_TEMPLATE_KEY)
    return _find_paths(conf, keys)


def find_application_template_files(application: SparkApplication) -> dict[str, str]:
    """Return the same for a SparkApplication. A template in the resource replaces a file."""
    named = find_template_files(Configuration(application.spec.spark_conf, {}))
    replaced = {
        DRIVER_TEMPLATE_KEY: application.spec.driver_spec,
        EXECUTOR_TEMPLATE_KEY: application.spec.executor_spec,
    }
    return {key: path for key, path in named.items() if not _has_template(replaced.get(key))}


def build_stand_in_templates(named: Mapping[str, str]) -> NamedTemplates:
    """Build templates in place of files that are not read. They produce resources with the same names."""
    return NamedTemplates(
        driver={"spec": {}} if DRIVER_TEMPLATE_KEY in named else None,
        executor="" if EXECUTOR_TEMPLATE_KEY in named else None,
        pod_group={} if POD_GROUP_TEMPLATE_KEY in named else None,
    )


def find_plain_files(conf: Configuration) -> dict[str, str]:
    """Return the paths of the other local files that the build needs, by configuration key."""
    named = _find_paths(conf, (*_FILE_KEYS, _KEYTAB_KEY))
    return {key: path for key, path in named.items() if key != _KEYTAB_KEY or not path.startswith("local:")}


def _find_paths(conf: Configuration, keys: Iterable[str]) -> dict[str, str]:
    paths = {key: conf.get_text(key) for key in keys}
    return {key: path for key, path in paths.items() if path is not None}


def _has_template(override: PodSpecOverride | None) -> bool:
    return override is not None and override.pod_template_spec is not None


@dataclass(frozen=True)
class MainResource:
    """The main resource. `properties` contains the dependencies, as defaults of the configuration."""

    kind: ApplicationKind
    main_class: str
    uri: str | None
    properties: Mapping[str, str]


@dataclass(frozen=True)
class AttemptResources:
    """The documents to create for an attempt, complete except for the references to the driver pod as their owner.

    Attributes:
        application_id: Spark's ID of the attempt.
        pre_resources: Documents to create before the pod. The pod owns them as soon as it exists.
        pod: The driver pod. The application owns it.
        post_resources: Documents to create after the pod. The pod owns them.
        warnings: Sentences for the user.
    """

    application_id: str
    pre_resources: tuple[JsonObject, ...]
    pod: JsonObject
    post_resources: tuple[JsonObject, ...]
    warnings: tuple[str, ...] = ()


def build_attempt(
    application: SparkApplication,
    attempt_id: int,
    operator_name: str,
    *,
    api_address: str | None = None,
    templates: NamedTemplates = NO_TEMPLATES,
) -> AttemptResources:
    """Build the documents of attempt `attempt_id`. The same arguments produce the same documents.

    Args:
        application: The application as read from the API, with namespace, name and UID.
        attempt_id: The number of the attempt, from 0. It is part of the names: if a creation is repeated, the API
            reports that the resources exist.
        operator_name: The value of the label `spark.operator/name`.
        api_address: The URL of the API for `spark.master`. Default: the address inside the cluster. Set it for drivers
            that run outside of the pod network.
        templates: The contents of the files that `named_files.find_application_template_files` returns.

    Raises:
        DriverBuildError: The driver cannot be built from the specification. Only an edit of the application helps.
    """
    naming = build_attempt_naming(application.namespace, application.name, attempt_id, application.spec.spark_conf)
    driver = build_driver(build_attempt_inputs(application, naming, operator_name, api_address, templates), naming)
    labels = driver.pod["metadata"]["labels"]
    maps = [_build_config_map(spec) for spec in application.spec.config_map_specs]
    routes = build_route_documents(application.spec, application.namespace, labels)
    return AttemptResources(
        application_id=naming.application_id,
        pre_resources=_with_namespace_and_labels([*driver.pre_resources, *maps], application.namespace, labels),
        pod=_with_application_owner(
            {**driver.pod, "spec": forbid_privilege_escalation(driver.pod["spec"])}, application
        ),
        post_resources=_with_namespace_and_labels([*driver.resources, *routes], application.namespace, labels),
        warnings=driver.warnings,
    )


def with_driver_owner(documents: Iterable[Mapping[str, object]], pod_name: str, pod_uid: str) -> tuple[JsonObject, ...]:
    """Return the documents with the driver pod as their owner. Kubernetes deletes them after the pod is deleted."""
    reference = {"apiVersion": "v1", "kind": "Pod", "name": pod_name, "uid": pod_uid, "blockOwnerDeletion": True}
    return tuple(merge(document, {"metadata": {"ownerReferences": [dict(reference)]}}) for document in documents)


def _with_namespace_and_labels(
    documents: Iterable[JsonObject], namespace: str, labels: Mapping[str, str]
) -> tuple[JsonObject, ...]:
    """Return the documents with the labels of the driver, and in `namespace` unless they name another namespace."""
    return tuple(
        merge(
            {**document, "metadata": {"namespace": namespace, **document["metadata"]}},
            {"metadata": {"labels": dict(labels)}},
        )
        for document in documents
    )


def _build_config_map(spec: ConfigMapSpec) -> JsonObject:
    metadata: JsonObject = {"name": spec.name, "labels": dict(spec.labels)}
    if spec.annotations:
        metadata["annotations"] = dict(spec.annotations)
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": dict(spec.data)}


def _with_application_owner(pod: JsonObject, application: SparkApplication) -> JsonObject:
    reference = {
        "apiVersion": application.api_version,
        "kind": application.kind,
        "name": application.name,
        "uid": application.uid,
        "blockOwnerDeletion": True,
    }
    return merge(pod, {"metadata": {"namespace": application.namespace, "ownerReferences": [reference]}})


def build_attempt_inputs(
    application: SparkApplication, naming: Naming, operator_name: str, api_address: str | None, named: NamedTemplates
) -> SubmissionInputs:
    """Build the inputs of the driver of one attempt.

    Args:
        application: The application as read from the API.
        naming: The names of the resources of the attempt.
        operator_name: The value of the label `spark.operator/name`.
        api_address: The URL of the API for `spark.master`. None: the address inside the cluster, as variables that only
            the entry point of Spark's image replaces.
        named: The templates from the files that the configuration names. Templates in the resource take precedence.

    Raises:
        DriverBuildError: The application has nothing to run, names a file on a local disk, or has an invalid template.
    """
    resource = find_main_resource(application.spec)
    conf = _build_configuration(application, naming, resource, operator_name, api_address or _API_ADDRESS)
    _check_dependencies(conf, application.spec.spark_conf)
    driver = _take_template(application.spec.driver_spec, "spec.driverSpec", DRIVER_TEMPLATE_KEY, conf)
    executor = _take_template(application.spec.executor_spec, "spec.executorSpec", EXECUTOR_TEMPLATE_KEY, conf)
    return SubmissionInputs(
        kind=resource.kind,
        namespace=application.namespace,
        conf=conf,
        main_class=resource.main_class,
        main_resource=resource.uri,
        arguments=tuple(application.spec.driver_args),
        proxy_user=application.spec.proxy_user or None,
        user=_USER,
        spark_version=application.spec.runtime_versions.spark_version,
        driver_template=named.driver if driver is None else driver,
        driver_template_field=DRIVER_TEMPLATE_KEY if driver is None else "spec.driverSpec.podTemplateSpec",
        executor_template=named.executor if executor is None else _format_template(executor),
        pod_group_template=named.pod_group,
        mount_namespace=True,
    )


def _build_configuration(
    application: SparkApplication, naming: Naming, resource: MainResource, operator_name: str, address: str
) -> dict[str, str]:
    spec = application.spec
    conf = replace_version_in_images(spec.spark_conf, spec.runtime_versions.spark_version)
    check_label_value("metadata.name", application.name)
    for prefix in _LABEL_PREFIXES:
        conf[f"{prefix}{LABEL_OPERATOR_NAME}"] = operator_name
        conf[f"{prefix}{LABEL_APPLICATION_NAME}"] = application.name
    conf["spark.kubernetes.namespace"] = application.namespace
    if "spark.app.name" in conf:
        conf["spark.app.name"] = application.name
    defaults = {
        **resource.properties,
        "spark.master": f"k8s://{address}",
        "spark.app.id": naming.application_id,
        **_DEFAULTS,
    }
    if _should_keep_executors(application):
        defaults["spark.kubernetes.executor.deleteOnTermination"] = "false"
    return defaults | conf


def _should_keep_executors(application: SparkApplication) -> bool:
    policy = application.spec.application_tolerations.restart_config.restart_policy
    return policy is RestartCondition.NEVER and not uses_dynamic_allocation(application.spec.spark_conf)


def _check_dependencies(conf: dict[str, str], given: dict[str, str]) -> None:
    fields = {"spark.jars": "spec.jars", "spark.files": "spec.files", "spark.submit.pyFiles": "spec.pyFiles"}
    for key in _DEPENDENCY_KEYS:
        field = f"spec.sparkConf[{key!r}]" if key in given else fields.get(key, key)
        for entry in split_list(field, conf.get(key, "")):
            check_reachable(field, entry)


def _take_template(override: PodSpecOverride | None, field: str, key: str, conf: dict[str, str]) -> JsonObject | None:
    """Return the pod template of the resource. It replaces a file that the configuration names: `key` is removed."""
    template = override.pod_template_spec if override else None
    if template is None:
        return None
    conf.pop(key, None)
    if not isinstance(template.get("spec"), dict):
        raise DriverBuildError(f"{field}.podTemplateSpec.spec", "is required: add the specification of the pod")
    return template


def _format_template(template: JsonObject) -> str:
    pod = {"apiVersion": "v1", "kind": "Pod", **template}
    return json.dumps(pod, sort_keys=True, ensure_ascii=False)


def find_main_resource(spec: SparkApplicationSpec) -> MainResource:
    """Return the main resource.

    The first of these fields determines it: `mainClass` of the runner for Python or R, `jars`, `pyFiles`,
    `sparkRFiles`, another `mainClass`. The first entry of `pyFiles` is the script, the other entries are dependencies.
    `jars` and `files` are also dependencies.

    Raises:
        DriverBuildError: There is nothing to run, a jar has no class, or the Python script is a local file.
    """
    found = _choose_resource(spec)
    dependencies = {"spark.jars": spec.jars, "spark.files": spec.files}
    given = {key: value for key, value in dependencies.items() if value}
    return MainResource(found.kind, found.main_class, found.uri, {**found.properties, **given})


def _choose_resource(spec: SparkApplicationSpec) -> MainResource:
    if spec.main_class == PYTHON_RUNNER:
        return _build_python_resource(spec, PYTHON_RUNNER)
    if spec.main_class == R_RUNNER:
        return _build_r_resource(spec)
    if spec.jars:
        return MainResource(ApplicationKind.JAVA, _get_java_class(spec), spec.jars, {})
    if spec.py_files:
        return _build_python_resource(spec, spec.main_class or PYTHON_RUNNER)
    if spec.spark_r_files:
        return _build_r_resource(spec)
    return MainResource(ApplicationKind.JAVA, _get_java_class(spec), None, {})


def _get_java_class(spec: SparkApplicationSpec) -> str:
    if not spec.main_class:
        raise DriverBuildError(
            "spec.mainClass", f"is required: set the class to run, or {PYTHON_RUNNER} for the script in spec.pyFiles"
        )
    return spec.main_class


def _build_python_resource(spec: SparkApplicationSpec, main_class: str) -> MainResource:
    script, _, rest = (spec.py_files or "").partition(",")
    if not script.strip():
        raise DriverBuildError("spec.pyFiles", "is required: its first entry must be the Python script to run")
    check_reachable("spec.pyFiles", script.strip())
    properties = {"spark.submit.pyFiles": rest.strip()} if rest.strip() else {}
    return MainResource(ApplicationKind.PYTHON, main_class, script.strip(), properties)


def _build_r_resource(spec: SparkApplicationSpec) -> MainResource:
    if not spec.spark_r_files:
        raise DriverBuildError("spec.sparkRFiles", "is required: specify the R script to run")
    return MainResource(ApplicationKind.R, spec.main_class or R_RUNNER, spec.spark_r_files, {})
