"""The ConfigMap that carries configuration into the driver."""

import re
from collections.abc import Mapping

from ...spark.properties import format_properties
from ..configuration.errors import DriverBuildError
from ..pod.command import CONFIGURATION_DIRECTORY
from ..pod.pod import BuildContext, Changes, build_config_map, build_variable

_NAMESPACE_ENTRY = "spark.kubernetes.namespace"
_PROPERTIES_ENTRY = "spark.properties"
_VOLUME = "spark-conf-volume-driver"
_LIMIT_KEY = "spark.kubernetes.configMap.maxSize"
_LARGEST = 1048576
_READ_BY_OWNER_WRITABLE = 0o644
_EXCLUDED = re.compile(r".*\.(gz|zip|jar|tar|template)|spark.*(conf|properties)", re.DOTALL)


def mount_configuration(submission: BuildContext, properties: Mapping[str, str]) -> Changes:
    """Create the ConfigMap from the final properties and the accepted configuration files, and mount it.

    Raises:
        DriverBuildError: The configured size limit is larger than a ConfigMap can be.
    """
    naming, inputs = submission.naming, submission.inputs
    files, warnings = _select_files(submission)
    comment = f"Java properties built from Kubernetes config map with name: {naming.config_map_name}"
    data = {**files, _PROPERTIES_ENTRY: format_properties(properties, comment)}
    mounted = {*data, _NAMESPACE_ENTRY} if inputs.mount_namespace else set(data)
    document = build_config_map(naming.config_map_name, {**data, _NAMESPACE_ENTRY: inputs.namespace})
    document["metadata"]["namespace"] = inputs.namespace
    items: list[dict[str, object]] = [
        {"key": name, "path": name, "mode": _READ_BY_OWNER_WRITABLE} for name in sorted(mounted)
    ]
    return Changes(
        pod={"spec": {"volumes": [{"name": _VOLUME, "configMap": {"name": naming.config_map_name, "items": items}}]}},
        container={
            "env": [build_variable("SPARK_CONF_DIR", CONFIGURATION_DIRECTORY)],
            "volumeMounts": [{"name": _VOLUME, "mountPath": CONFIGURATION_DIRECTORY}],
        },
        resources=(document,),
        warnings=warnings,
    )


def _select_files(submission: BuildContext) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the accepted files, and warnings about skipped ones. Smaller files come first, up to the size limit."""
    limit = submission.conf.get_integer(_LIMIT_KEY, default=_LARGEST)
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
            warnings.append(f"configuration file {name} is skipped: it is not UTF-8 text")
            continue
        if total + len(name) + len(text) < limit:
            accepted[name] = text
            total += len(name) + len(text)
        else:
            skipped.append(name)
    if skipped:
        warnings.append(
            f"configuration files {', '.join(skipped)} are skipped: the total size would exceed {_LIMIT_KEY}={limit}"
        )
    return accepted, tuple(warnings)
