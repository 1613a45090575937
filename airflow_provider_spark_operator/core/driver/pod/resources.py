"""The memory, cores and devices of the container of a driver or an executor."""

from ...kubernetes.json_object import JsonObject
from ...kubernetes.names import ROLE_DRIVER, ROLE_EXECUTOR
from ..configuration.configuration import Configuration, DriverBuildError, format_double, parse_bytes_as_mib
from ..configuration.inputs import ApplicationKind

FACTOR_KEY = "spark.kubernetes.memoryOverheadFactor"
_OFF_HEAP_KEY = "spark.memory.offHeap.enabled"
_OFF_HEAP_SIZE_KEY = "spark.memory.offHeap.size"
_DEFAULT_MEMORY_MIB = 1024
_DEFAULT_MINIMUM_OVERHEAD_MIB = 384
_DEFAULT_FACTOR = 0.1
# Spark stores the overhead as a 32-bit integer, and limits it to the largest one.
_LARGEST_INTEGER = (1 << 31) - 1
_LARGEST_LONG = (1 << 63) - 1
_DEFAULT_FACTOR_OUTSIDE_JAVA = 0.4


def build_container_resources(conf: Configuration, kind: ApplicationKind, role: str = ROLE_DRIVER) -> JsonObject:
    """Build the requests and limits: cores as written, memory with its overhead, devices only as limits.

    Raises:
        DriverBuildError: A size, factor or amount is invalid or out of range, or a device has no vendor.
    """
    total = _get_memory(conf, role) + _compute_overhead(conf, kind, role)
    if role == ROLE_EXECUTOR:
        total += _get_off_heap_memory(conf) + _get_python_memory(conf, kind)
    if total > _LARGEST_LONG:
        raise DriverBuildError(
            _build_memory_key(role), f"is too large: memory and overhead together are {total} MiB. Use less memory"
        )
    memory = f"{total}Mi"
    cores = _get_quantity(conf, f"spark.kubernetes.{role}.request.cores")
    if cores is None:
        cores = str(conf.get_integer(f"spark.{role}.cores", default=1))
    limits = {"memory": memory, **_build_devices(conf, f"spark.{role}.resource.", role)}
    limit_cores = _get_quantity(conf, f"spark.kubernetes.{role}.limit.cores")
    if limit_cores is not None:
        limits["cpu"] = limit_cores
    return {"requests": {"cpu": cores, "memory": memory}, "limits": limits}


def format_overhead_factor(conf: Configuration, kind: ApplicationKind) -> str:
    """Return the overhead factor for the executors, without the setting that applies only to the driver."""
    return format_double(_get_base_factor(conf, kind))


def _get_quantity(conf: Configuration, key: str) -> str | None:
    """Return a quantity as written. The API validates it, but an empty one is refused here."""
    value = conf.get_text(key)
    if value == "":
        raise DriverBuildError(key, "is empty: use a quantity such as 500m or 2, or remove the key")
    return value


def _build_memory_key(role: str) -> str:
    return f"spark.{role}.memory"


def _get_memory(conf: Configuration, role: str) -> int:
    key = _build_memory_key(role)
    memory = conf.get_mebibytes(key)
    if memory is not None and memory < 0:
        raise DriverBuildError(key, "must not be negative")
    return _DEFAULT_MEMORY_MIB if memory is None else memory


def _get_off_heap_memory(conf: Configuration) -> int:
    """Return the off-heap memory of an executor in MiB, 0 if it is disabled."""
    if not conf.get_boolean(_OFF_HEAP_KEY):
        return 0
    size = parse_bytes_as_mib(_OFF_HEAP_SIZE_KEY, conf.get_text(_OFF_HEAP_SIZE_KEY) or "0")
    if size < 1:
        raise DriverBuildError(_OFF_HEAP_SIZE_KEY, f"must be at least 1 MiB (1m), because {_OFF_HEAP_KEY} is true")
    return size


def _get_python_memory(conf: Configuration, kind: ApplicationKind) -> int:
    return (conf.get_mebibytes("spark.executor.pyspark.memory") or 0) if kind is ApplicationKind.PYTHON else 0


def _compute_overhead(conf: Configuration, kind: ApplicationKind, role: str) -> int:
    base = _get_base_factor(conf, kind)
    factor_key = f"spark.{role}.memoryOverheadFactor"
    given = conf.get_double(factor_key)
    if given is not None and given <= 0:
        raise DriverBuildError(factor_key, f"must be greater than 0, but is {given}")
    overhead = conf.get_mebibytes(f"spark.{role}.memoryOverhead")
    if overhead is not None:
        return overhead
    minimum = conf.get_mebibytes(f"spark.{role}.minMemoryOverhead")
    return max(
        int(min((base if given is None else given) * _get_memory(conf, role), _LARGEST_INTEGER)),
        _DEFAULT_MINIMUM_OVERHEAD_MIB if minimum is None else minimum,
    )


def _get_base_factor(conf: Configuration, kind: ApplicationKind) -> float:
    factor = conf.get_double(FACTOR_KEY)
    if factor is None:
        return _DEFAULT_FACTOR if kind is ApplicationKind.JAVA else _DEFAULT_FACTOR_OUTSIDE_JAVA
    if factor < 0:
        raise DriverBuildError(FACTOR_KEY, f"must not be negative, but is {factor}")
    return factor


def _build_devices(conf: Configuration, prefix: str, role: str) -> dict[str, str]:
    settings = conf.get_by_prefix(prefix)
    devices: dict[str, str] = {}
    for name in sorted({key.partition(".")[0] for key in settings}):
        amount_key = f"{prefix}{name}.amount"
        if f"{name}.amount" not in settings:
            raise DriverBuildError(amount_key, f"is required: set the number of {name} devices that the {role} needs")
        amount = conf.get_plain_integer(amount_key, default=0)
        if amount <= 0:
            continue
        vendor = settings.get(f"{name}.vendor")
        if not vendor:
            raise DriverBuildError(
                f"{prefix}{name}.vendor", f"is required: set the vendor of {name}, for example nvidia.com"
            )
        devices[f"{vendor}/{name}"] = str(amount)
    return devices
