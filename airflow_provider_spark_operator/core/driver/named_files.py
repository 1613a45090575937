"""The files that a configuration names: which they are, and the templates that come out of them.

Nothing is read here. Whoever builds asks what is named, reads it, and hands it in.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from airflow_provider_spark_operator.core.driver.build import excluded_steps
from airflow_provider_spark_operator.core.driver.configuration import Configuration
from airflow_provider_spark_operator.core.driver.executor_template import EXECUTOR_TEMPLATE_KEY, executor_template
from airflow_provider_spark_operator.core.driver.inputs import DRIVER_TEMPLATE_KEY
from airflow_provider_spark_operator.core.driver.volcano import POD_GROUP_TEMPLATE_KEY, uses_volcano
from airflow_provider_spark_operator.core.models.application import PodSpecOverride, SparkApplication

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
    """What the files hold that the configuration names; None for a file that it does not name.

    Attributes:
        driver: the driver's pod template, parsed.
        executor: the executors' pod template as text: only the driver parses it.
        pod_group: Volcano's PodGroup, parsed.
    """

    driver: Mapping[str, Any] | None = None
    executor: str | None = None
    pod_group: Mapping[str, Any] | None = None


NO_TEMPLATES = NamedTemplates()


def template_files(conf: Configuration) -> dict[str, str]:
    """The template files that building reads, by configuration key: paths or URIs."""
    keys = [DRIVER_TEMPLATE_KEY]
    if executor_template not in excluded_steps(conf):
        keys.append(EXECUTOR_TEMPLATE_KEY)
    if uses_volcano(conf):
        keys.append(POD_GROUP_TEMPLATE_KEY)
    return _named(conf, keys)


def application_template_files(application: SparkApplication) -> dict[str, str]:
    """The same for a resource: a template in the resource takes the place of a file."""
    named = template_files(Configuration(application.spec.spark_conf, {}))
    replaced = {
        DRIVER_TEMPLATE_KEY: application.spec.driver_spec,
        EXECUTOR_TEMPLATE_KEY: application.spec.executor_spec,
    }
    return {key: path for key, path in named.items() if not _has_template(replaced.get(key))}


def unread_templates(named: Mapping[str, str]) -> NamedTemplates:
    """Templates in the place of files that need not be read: they lead to resources of the same names."""
    return NamedTemplates(
        driver={"spec": {}} if DRIVER_TEMPLATE_KEY in named else None,
        executor="" if EXECUTOR_TEMPLATE_KEY in named else None,
        pod_group={} if POD_GROUP_TEMPLATE_KEY in named else None,
    )


def plain_files(conf: Configuration) -> dict[str, str]:
    """The other files of the submitter's disk that building reads, by configuration key: paths."""
    named = _named(conf, (*_FILE_KEYS, _KEYTAB_KEY))
    return {key: path for key, path in named.items() if key != _KEYTAB_KEY or not path.startswith("local:")}


def _named(conf: Configuration, keys: Iterable[str]) -> dict[str, str]:
    paths = {key: conf.text(key) for key in keys}
    return {key: path for key, path in paths.items() if path is not None}


def _has_template(override: PodSpecOverride | None) -> bool:
    return override is not None and override.pod_template_spec is not None
