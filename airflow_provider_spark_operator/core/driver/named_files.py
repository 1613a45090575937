"""The files that a configuration names, and the templates from these files.

This module reads no files. The caller reads the files that it returns and passes their contents to the build.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..models.application import PodSpecOverride, SparkApplication
from .build import find_excluded_steps
from .configuration.configuration import Configuration
from .configuration.inputs import DRIVER_TEMPLATE_KEY
from .pod.template import EXECUTOR_TEMPLATE_KEY, mount_executor_template
from .pod.volcano import POD_GROUP_TEMPLATE_KEY, uses_volcano

_CREDENTIALS_PREFIX = "spark.kubernetes.authenticate.driver."
_FILE_KEYS = (
    f"{_CREDENTIALS_PREFIX}caCertFile",
    f"{_CREDENTIALS_PREFIX}clientKeyFile",
    f"{_CREDENTIALS_PREFIX}clientCertFile",
    "spark.kubernetes.kerberos.krb5.path",
)
_KEYTAB_KEY = "spark.kerberos.keytab"


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
