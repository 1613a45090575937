"""Kerberos: its configuration file, keytabs and delegation tokens."""

from airflow_provider_spark_operator.core.driver.errors import DriverBuildError
from airflow_provider_spark_operator.core.driver.pod import (
    Changes,
    JsonObject,
    SparkPod,
    Submission,
    config_map,
    file_content,
    mounted_volume,
    secret,
    variable,
)
from airflow_provider_spark_operator.core.driver.text import decoded

_PREFIX = "spark.kubernetes.kerberos."
_KRB5_PATH_KEY = f"{_PREFIX}krb5.path"
_KRB5_MAP_KEY = f"{_PREFIX}krb5.configMapName"
_SECRET_NAME_KEY = f"{_PREFIX}tokenSecret.name"
_SECRET_ITEM_KEY = f"{_PREFIX}tokenSecret.itemKey"
_KEYTAB_KEY = "spark.kerberos.keytab"
_PRINCIPAL_KEY = "spark.kerberos.principal"
_TOKEN_DIRECTORY = "/mnt/secrets/hadoop-credentials"  # noqa: S105 - a path
_KEYTAB_VOLUME = "kerberos-keytab"
_KEYTAB_DIRECTORY = "/mnt/secrets/kerberos-keytab"
_KRB5_FILE = "krb5.conf"


def kerberos_configuration(submission: Submission, _: SparkPod) -> Changes:
    """Mount `krb5.conf` from a file of the submitter or from an existing config map.

    Raises:
        DriverBuildError: both are given, or the file cannot be read or is no text.
    """
    path, existing = submission.conf.text(_KRB5_PATH_KEY), submission.conf.text(_KRB5_MAP_KEY)
    if path is not None and existing is not None:
        raise DriverBuildError(_KRB5_MAP_KEY, f"excludes {_KRB5_PATH_KEY}: remove one of them")
    if path is not None:
        name, key = f"{submission.naming.prefix}-krb5-file", path.rsplit("/", 1)[-1]
        instead = f"put it into a config map as {_KRB5_FILE}, and name that with {_KRB5_MAP_KEY}"
        content = decoded(_KRB5_PATH_KEY, file_content(submission, _KRB5_PATH_KEY, path, instead))
        source = {"name": name, "items": [{"key": key, "path": key}]}
        return _krb5_mounted(source, (config_map(name, {key: content}),))
    return _krb5_mounted({"name": existing}, ()) if existing is not None else Changes()


def kerberos_tokens(submission: Submission, _: SparkPod) -> Changes:
    """Mount the submitter's keytab, else an existing secret with delegation tokens.

    Nobody logs in with the keytab here, as spark-submit does where Kerberos is on.

    Raises:
        DriverBuildError: half of a pair is given, or the keytab cannot be read.
    """
    _check_pair(submission, _KEYTAB_KEY, _PRINCIPAL_KEY)
    _check_pair(submission, _SECRET_NAME_KEY, _SECRET_ITEM_KEY)
    keytab = submission.conf.text(_KEYTAB_KEY)
    if keytab is not None and not keytab.startswith("local:"):
        return _keytab(submission, keytab)
    name, item = submission.conf.text(_SECRET_NAME_KEY), submission.conf.text(_SECRET_ITEM_KEY)
    if name is None:
        return Changes()
    added = mounted_volume(
        {"name": "hadoop-secret", "secret": {"secretName": name}},
        {"name": "hadoop-secret", "mountPath": _TOKEN_DIRECTORY},
    )
    location = variable("HADOOP_TOKEN_FILE_LOCATION", f"{_TOKEN_DIRECTORY}/{item}")
    return Changes(pod=added.pod, container={**added.container, "env": [location]})


def _keytab(submission: Submission, path: str) -> Changes:
    """Hand the file to the driver in a secret."""
    instead = "mount the keytab into the driver, as from a secret, and name it as local://"
    content = file_content(submission, _KEYTAB_KEY, path, instead)
    name, entry = f"{submission.naming.prefix}-kerberos-keytab", path.rsplit("/", 1)[-1]
    added = mounted_volume(
        {"name": _KEYTAB_VOLUME, "secret": {"secretName": name}},
        {"name": _KEYTAB_VOLUME, "mountPath": _KEYTAB_DIRECTORY},
    )
    return Changes(
        pod=added.pod,
        container=added.container,
        properties={_KEYTAB_KEY: f"{_KEYTAB_DIRECTORY}/{entry}"},
        resources=(secret(name, {entry: content}),),
    )


def _krb5_mounted(source: JsonObject, resources: tuple[JsonObject, ...]) -> Changes:
    added = mounted_volume(
        {"name": "krb5-file", "configMap": source},
        {"name": "krb5-file", "mountPath": f"/etc/{_KRB5_FILE}", "subPath": _KRB5_FILE},
    )
    return Changes(pod=added.pod, container=added.container, resources=resources)


def _check_pair(submission: Submission, first: str, second: str) -> None:
    for present, absent in ((first, second), (second, first)):
        if submission.conf.text(present) is not None and submission.conf.text(absent) is None:
            raise DriverBuildError(absent, f"is required together with {present}")
