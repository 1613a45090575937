"""The names of everything a driver brings with it: ours, and spark-submit's with its randomness fixed."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass

from airflow_provider_spark_operator.core.driver.configuration import Configuration
from airflow_provider_spark_operator.core.driver.errors import DriverBuildError
from airflow_provider_spark_operator.core.driver.text import trimmed
from airflow_provider_spark_operator.core.names import application_id

_MAX_SERVICE_NAME_LENGTH = 63
_MAX_LABEL_LENGTH = 63
_SERVICE_NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
POD_NAME_KEY = "spark.kubernetes.driver.pod.name"
_PREFIX_KEY = "spark.kubernetes.driver.resourceNamePrefix"


@dataclass(frozen=True)
class Naming:
    """The names of one driver's resources.

    Attributes:
        application_id: Spark's id of the application, also the value of the selector label.
        prefix: what the names of most resources begin with.
        pod_name: the driver pod.
        service_name: the headless service through which executors reach the driver.
        policy_name: the network policy of the executors.
        config_map_name: the config map with the driver's configuration.
        seed: what all further ids are derived from, where spark-submit draws random ones.
    """

    application_id: str
    prefix: str
    pod_name: str
    service_name: str
    policy_name: str
    config_map_name: str
    seed: str

    @property
    def local_directory(self) -> str:
        """The scratch directory of a driver whose configuration names none."""
        return f"/var/data/spark-{_uuid(self.seed, 'local-directory')}"

    @property
    def pod_uid(self) -> str:
        """A uid in the API's form, for a pod that is built and never created."""
        return _uuid(self.seed, "pod")

    def upload_directory(self, source: str) -> str:
        """The name of the directory that a file of the submitter's disk is uploaded into."""
        return f"spark-upload-{_uuid(self.seed, 'upload', source)}"


def attempt_naming(namespace: str, name: str, attempt_id: int, conf: Mapping[str, str]) -> Naming:
    """The names that the Apache operator gives an attempt's resources; each attempt has its own.

    A `spark.app.id` in the configuration replaces the generated id, for all attempts alike.

    Raises:
        DriverBuildError: the id makes no name of a service or value of a label, so that the API would
            refuse the service after the pod was created; or the pod's name refers to itself.
    """
    given = conf.get("spark.app.id")
    identifier = given or application_id(namespace, name, attempt_id)
    field = "spark.app.id" if given else "metadata.name"
    service_name = f"{identifier}-driver-svc"
    if len(service_name) > _MAX_SERVICE_NAME_LENGTH:
        longest = _MAX_SERVICE_NAME_LENGTH - len("-driver-svc")
        raise DriverBuildError(
            field,
            f"{identifier!r} has {len(identifier)} characters: use at most {longest}, "
            "since a service is named after it",
        )
    if not _SERVICE_NAME.fullmatch(service_name):
        raise DriverBuildError(
            field,
            f"{given or name!r} makes no service name: use lower-case letters, digits and '-' only, a letter first",
        )
    return Naming(
        application_id=identifier,
        prefix=identifier,
        pod_name=driver_pod_of(identifier, conf),
        service_name=service_name,
        policy_name=f"{identifier}-policy",
        config_map_name=f"{identifier}-spark-drv-conf-map",
        seed=f"{namespace}/{name}/{attempt_id}",
    )


def driver_pod_of(identifier: str, conf: Mapping[str, object]) -> str:
    """Return the name of the driver pod of the attempt with this application id.

    Args:
        identifier: The application id.
        conf: The Spark configuration. A property that is null is not set.

    Raises:
        DriverBuildError: The name in the configuration refers to itself.
    """
    if conf.get(POD_NAME_KEY) is None:
        return f"{identifier}-driver"
    values = {key: str(value) for key, value in conf.items() if value is not None}
    return Configuration({**values, "spark.app.id": identifier}, {}).text(POD_NAME_KEY) or f"{identifier}-driver"


def submit_naming(name: str, conf: Mapping[str, str], seed: str, environment: Mapping[str, str]) -> Naming:
    """The names in spark-submit's form, its random parts derived from `seed`.

    The variable SPARK_TESTING alone lets the configuration fix the prefix.

    Raises:
        DriverBuildError: a name refers to itself.
    """
    configuration = Configuration(conf, environment)
    fixed = configuration.text(_PREFIX_KEY) if "SPARK_TESTING" in environment else None
    prefix = _resource_name_prefix(f"{name}-{_unique_id(seed, 'resources')}") if fixed is None else fixed
    given = configuration.text(POD_NAME_KEY)
    service_name = f"{prefix}-driver-svc"
    if len(service_name) > _MAX_SERVICE_NAME_LENGTH:
        service_name = f"spark-{_unique_id(seed, 'service')}-driver-svc"
    return Naming(
        application_id=f"spark-{_digest(seed, 'application')[:32]}",
        prefix=prefix,
        pod_name=f"{prefix}-driver" if given is None else given,
        service_name=service_name,
        policy_name=f"{prefix}-policy",
        config_map_name=f"spark-drv-{_unique_id(seed, 'configuration')}-conf-map",
        seed=seed,
    )


def application_name_label(name: str) -> str:
    """An application's name as the value of the label `spark-app-name`: at most 63 characters."""
    return _dashed(name)[:_MAX_LABEL_LENGTH].removeprefix("-").removesuffix("-")


def check_label_value(field: str, value: str) -> None:
    """Raise DriverBuildError if the API would refuse `value` as the value of a label."""
    if value and (len(value) > _MAX_LABEL_LENGTH or not _LABEL_VALUE.fullmatch(value)):
        raise DriverBuildError(
            field,
            f"{value!r} is put into a label: use at most {_MAX_LABEL_LENGTH} letters, digits, '-', '_' and '.', "
            "with a letter or digit at both ends",
        )


def _resource_name_prefix(name: str) -> str:
    """A name as the beginning of resource names; no length limit."""
    dashed = _dashed(name).removeprefix("-")
    return f"x{dashed[1:]}" if dashed[:1].isdigit() else dashed


def _dashed(name: str) -> str:
    replaced = re.sub(r"[^a-z0-9-]", "-", trimmed(name).lower())
    return re.sub(r"-+", "-", replaced)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _unique_id(*parts: str) -> str:
    return _digest(*parts)[:16]


def _uuid(*parts: str) -> str:
    digest = _digest(*parts)
    return "-".join((digest[:8], digest[8:12], digest[12:16], digest[16:20], digest[20:32]))
