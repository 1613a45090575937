"""Memory, cores and devices of the driver's container."""

from airflow_provider_spark_operator.core.driver.configuration import Configuration
from airflow_provider_spark_operator.core.driver.errors import DriverBuildError
from airflow_provider_spark_operator.core.driver.inputs import ApplicationKind
from airflow_provider_spark_operator.core.driver.numbers import java_double
from airflow_provider_spark_operator.core.driver.pod import JsonObject

FACTOR_KEY = "spark.kubernetes.memoryOverheadFactor"
_DRIVER_FACTOR_KEY = "spark.driver.memoryOverheadFactor"
_MEMORY_KEY = "spark.driver.memory"
_DEVICE_PREFIX = "spark.driver.resource."
_DEFAULT_MEMORY_MIB = 1024
_DEFAULT_MINIMUM_OVERHEAD_MIB = 384
_DEFAULT_FACTOR = 0.1
# Spark counts the overhead in 32 bits, and stays there.
_LARGEST_INTEGER = (1 << 31) - 1
_LARGEST_LONG = (1 << 63) - 1
_DEFAULT_FACTOR_OUTSIDE_JAVA = 0.4


def container_resources(conf: Configuration, kind: ApplicationKind) -> JsonObject:
    """Requests and limits: cpu as written, memory with its overhead, devices as limits only.

    Raises:
        DriverBuildError: a size, factor or amount that does not parse or is out of range, or a device
            without a vendor.
    """
    total = _memory(conf) + _overhead(conf, kind)
    if total > _LARGEST_LONG:
        raise DriverBuildError(_MEMORY_KEY, f"makes {total} MiB with its overhead: more than Spark can count")
    memory = f"{total}Mi"
    cores = _quantity(conf, "spark.kubernetes.driver.request.cores")
    if cores is None:
        cores = str(conf.integer("spark.driver.cores", default=1))
    limits = {"memory": memory, **_devices(conf)}
    limit_cores = _quantity(conf, "spark.kubernetes.driver.limit.cores")
    if limit_cores is not None:
        limits["cpu"] = limit_cores
    return {"requests": {"cpu": cores, "memory": memory}, "limits": limits}


def written_overhead_factor(conf: Configuration, kind: ApplicationKind) -> str:
    """The factor that executors inherit: the driver's own is left out."""
    return java_double(_base_factor(conf, kind))


def _quantity(conf: Configuration, key: str) -> str | None:
    """A quantity as written: the API judges it; only an empty one says nothing."""
    value = conf.text(key)
    if value == "":
        raise DriverBuildError(key, "is empty: give a quantity as in 500m or 2, or remove it")
    return value


def _memory(conf: Configuration) -> int:
    memory = conf.mebibytes(_MEMORY_KEY)
    if memory is not None and memory < 0:
        raise DriverBuildError(_MEMORY_KEY, "must not be negative")
    return _DEFAULT_MEMORY_MIB if memory is None else memory


def _overhead(conf: Configuration, kind: ApplicationKind) -> int:
    base = _base_factor(conf, kind)
    given = conf.double(_DRIVER_FACTOR_KEY)
    if given is not None and given <= 0:
        raise DriverBuildError(_DRIVER_FACTOR_KEY, f"must be greater than 0, but is {given}")
    overhead = conf.mebibytes("spark.driver.memoryOverhead")
    if overhead is not None:
        return overhead
    minimum = conf.mebibytes("spark.driver.minMemoryOverhead")
    return max(
        int(min((base if given is None else given) * _memory(conf), _LARGEST_INTEGER)),
        _DEFAULT_MINIMUM_OVERHEAD_MIB if minimum is None else minimum,
    )


def _base_factor(conf: Configuration, kind: ApplicationKind) -> float:
    factor = conf.double(FACTOR_KEY)
    if factor is None:
        return _DEFAULT_FACTOR if kind is ApplicationKind.JAVA else _DEFAULT_FACTOR_OUTSIDE_JAVA
    if factor < 0:
        raise DriverBuildError(FACTOR_KEY, f"must not be negative, but is {factor}")
    return factor


def _devices(conf: Configuration) -> dict[str, str]:
    settings = conf.with_prefix(_DEVICE_PREFIX)
    devices: dict[str, str] = {}
    for name in sorted({key.partition(".")[0] for key in settings}):
        amount_key = f"{_DEVICE_PREFIX}{name}.amount"
        if f"{name}.amount" not in settings:
            raise DriverBuildError(amount_key, f"is required: say how many of {name} the driver needs")
        amount = conf.plain_integer(amount_key, default=0)
        if amount <= 0:
            continue
        vendor = settings.get(f"{name}.vendor")
        if not vendor:
            raise DriverBuildError(f"{_DEVICE_PREFIX}{name}.vendor", f"is required: whose {name}, as in nvidia.com")
        devices[f"{vendor}/{name}"] = str(amount)
    return devices
