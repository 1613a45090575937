"""The config map that carries configuration into the driver."""

import re
from collections.abc import Mapping

from airflow_provider_spark_operator.core.driver.command import CONFIGURATION_DIRECTORY
from airflow_provider_spark_operator.core.driver.errors import DriverBuildError
from airflow_provider_spark_operator.core.driver.pod import (
    Changes,
    JsonObject,
    Submission,
    config_map,
    variable,
)
from airflow_provider_spark_operator.core.driver.properties import write_properties

_NAMESPACE_ENTRY = "spark.kubernetes.namespace"
_PROPERTIES_ENTRY = "spark.properties"
_VOLUME = "spark-conf-volume-driver"
_LIMIT_KEY = "spark.kubernetes.configMap.maxSize"
_LARGEST = 1048576
_READ_BY_OWNER_WRITABLE = 0o644
_EXCLUDED = re.compile(r".*\.(gz|zip|jar|tar|template)|spark.*(conf|properties)", re.DOTALL)


def configuration(submission: Submission, properties: Mapping[str, str]) -> Changes:
    """Create the config map from the final properties and the accepted configuration files; mount it.

    Raises:
        DriverBuildError: a size limit over what a config map may hold.
    """
    naming, inputs = submission.naming, submission.inputs
    files, warnings = _accepted_files(submission)
    comment = f"Java properties built from Kubernetes config map with name: {naming.config_map_name}"
    data = {**files, _PROPERTIES_ENTRY: write_properties(properties, comment)}
    mounted = {*data, _NAMESPACE_ENTRY} if inputs.mount_namespace else set(data)
    document = config_map(naming.config_map_name, {**data, _NAMESPACE_ENTRY: inputs.namespace})
    document["metadata"]["namespace"] = inputs.namespace
    items: list[JsonObject] = [{"key": name, "path": name, "mode": _READ_BY_OWNER_WRITABLE} for name in sorted(mounted)]
    return Changes(
        pod={"spec": {"volumes": [{"name": _VOLUME, "configMap": {"name": naming.config_map_name, "items": items}}]}},
        container={
            "env": [variable("SPARK_CONF_DIR", CONFIGURATION_DIRECTORY)],
            "volumeMounts": [{"name": _VOLUME, "mountPath": CONFIGURATION_DIRECTORY}],
        },
        resources=(document,),
        warnings=warnings,
    )


def _accepted_files(submission: Submission) -> tuple[dict[str, str], tuple[str, ...]]:
    """Files by ascending size as long as all together stay below the limit; what is left out, as warnings."""
    limit = submission.conf.integer(_LIMIT_KEY, default=_LARGEST)
    if limit > _LARGEST:
        raise DriverBuildError(_LIMIT_KEY, f"must be at most {_LARGEST} bytes, but is {limit}")
    candidates = {
        name: content
        for name, content in submission.inputs.conf_files.items()
        if not _EXCLUDED.fullmatch(name) and len(content) + len(name) <= limit
    }
    accepted: dict[str, str] = {}
    skipped: list[str] = []
    warnings: list[str] = []
    total = 0
    for name in sorted(candidates, key=lambda each: (len(candidates[each]) + len(each), each)):
        try:
            text = candidates[name].decode()
        except UnicodeDecodeError:
            warnings.append(f"configuration file {name} is left out: it is no text in UTF-8")
            continue
        if total + len(name) + len(text) < limit:
            accepted[name] = text
            total += len(name) + len(text)
        else:
            skipped.append(name)
    if skipped:
        warnings.append(f"configuration files {', '.join(skipped)} are left out: {_LIMIT_KEY} is {limit}")
    return accepted, tuple(warnings)
