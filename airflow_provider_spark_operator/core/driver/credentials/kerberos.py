"""The configuration file, keytabs and delegation tokens of Kerberos."""

from ...kubernetes.json_object import JsonObject
from ..configuration.errors import DriverBuildError
from ..configuration.text import decode_text
from ..pod import pod

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


def mount_kerberos_configuration(submission: pod.BuildContext, _: pod.SparkPod) -> pod.Changes:
    """Mount `krb5.conf` from a local file or from an existing ConfigMap.

    Raises:
        DriverBuildError: Both are set, or the file cannot be read or is not a text file.
    """
    path, existing = submission.conf.get_text(_KRB5_PATH_KEY), submission.conf.get_text(_KRB5_MAP_KEY)
    if path is not None and existing is not None:
        raise DriverBuildError(_KRB5_MAP_KEY, f"cannot be combined with {_KRB5_PATH_KEY}: remove one of them")
    if path is not None:
        name, key = f"{submission.naming.prefix}-krb5-file", path.rsplit("/", 1)[-1]
        instead = f"add it to a ConfigMap as {_KRB5_FILE}, and set {_KRB5_MAP_KEY} to the name of the ConfigMap"
        content = decode_text(_KRB5_PATH_KEY, pod.get_file_content(submission, _KRB5_PATH_KEY, path, instead))
        source = {"name": name, "items": [{"key": key, "path": key}]}
        return _mount_krb5_file(source, (pod.build_config_map(name, {key: content}),))
    return _mount_krb5_file({"name": existing}, ()) if existing is not None else pod.Changes()


def mount_kerberos_tokens(submission: pod.BuildContext, _: pod.SparkPod) -> pod.Changes:
    """Mount the local keytab; if there is none, mount an existing secret with delegation tokens.

    The build does not log in with the keytab. spark-submit does if Kerberos is enabled.

    Raises:
        DriverBuildError: Only one of two related settings is set, or the keytab cannot be read.
    """
    _check_pair(submission, _KEYTAB_KEY, _PRINCIPAL_KEY)
    _check_pair(submission, _SECRET_NAME_KEY, _SECRET_ITEM_KEY)
    keytab = submission.conf.get_text(_KEYTAB_KEY)
    if keytab is not None and not keytab.startswith("local:"):
        return _mount_keytab(submission, keytab)
    name, item = submission.conf.get_text(_SECRET_NAME_KEY), submission.conf.get_text(_SECRET_ITEM_KEY)
    if name is None:
        return pod.Changes()
    added = pod.build_volume_with_mount(
        {"name": "hadoop-secret", "secret": {"secretName": name}},
        {"name": "hadoop-secret", "mountPath": _TOKEN_DIRECTORY},
    )
    location = pod.build_variable("HADOOP_TOKEN_FILE_LOCATION", f"{_TOKEN_DIRECTORY}/{item}")
    return pod.Changes(pod=added.pod, container={**added.container, "env": [location]})


def _mount_keytab(submission: pod.BuildContext, path: str) -> pod.Changes:
    """Mount the keytab from a new secret."""
    instead = "mount the keytab in the driver, for example from a secret, and refer to it with local://"
    content = pod.get_file_content(submission, _KEYTAB_KEY, path, instead)
    name, entry = f"{submission.naming.prefix}-kerberos-keytab", path.rsplit("/", 1)[-1]
    added = pod.build_volume_with_mount(
        {"name": _KEYTAB_VOLUME, "secret": {"secretName": name}},
        {"name": _KEYTAB_VOLUME, "mountPath": _KEYTAB_DIRECTORY},
    )
    return pod.Changes(
        pod=added.pod,
        container=added.container,
        properties={_KEYTAB_KEY: f"{_KEYTAB_DIRECTORY}/{entry}"},
        resources=(pod.build_secret(name, {entry: content}),),
    )


def _mount_krb5_file(source: JsonObject, resources: tuple[JsonObject, ...]) -> pod.Changes:
    added = pod.build_volume_with_mount(
        {"name": "krb5-file", "configMap": source},
        {"name": "krb5-file", "mountPath": f"/etc/{_KRB5_FILE}", "subPath": _KRB5_FILE},
    )
    return pod.Changes(pod=added.pod, container=added.container, resources=resources)


def _check_pair(submission: pod.BuildContext, first: str, second: str) -> None:
    for present, absent in ((first, second), (second, first)):
        if submission.conf.get_text(present) is not None and submission.conf.get_text(absent) is None:
            raise DriverBuildError(absent, f"is required together with {present}")
