"""Typed access to a Spark configuration, and the parsers of its values. The callers supply Spark's defaults."""

import re
from collections.abc import Mapping
from decimal import Decimal

from ...kubernetes.problems import InvalidResource, Problem
from ...spark.spark_conf import JAVA_BLANKS

_MAX_ENTRIES = 2000
_BYTE_STRING = re.compile(r"([0-9]{1,19})([a-z]*)", re.ASCII)
_MIB = 1 << 20
_POWERS = {"k": 1 << 10, "m": _MIB, "g": 1 << 30, "t": 1 << 40, "p": 1 << 50}
_UNITS = {"b": 1} | {f"{letter}{rest}": size for letter, size in _POWERS.items() for rest in ("", "b", "i", "ib")}
_LARGEST_LONG = (1 << 63) - 1
# An open reference is matched as well, up to the next blank, so that no text is read twice.
_REFERENCE = re.compile(r"\$\{(\S[^\s}]*+)(\}?)")
_SOURCE = re.compile(r"(\w+):(?=.)", re.DOTALL)
_LONGEST_REFERENCES = 1 << 16
_DEEPEST_REFERENCE = 50
_INTEGER_RANGE = 1 << 31

FORMER_KEYS = {
    "spark.driver.memoryOverhead": "spark.yarn.driver.memoryOverhead",
    "spark.executor.memoryOverhead": "spark.yarn.executor.memoryOverhead",
    "spark.kerberos.keytab": "spark.yarn.keytab",
    "spark.kerberos.principal": "spark.yarn.principal",
}
"""Former names of keys. Spark still reads a former name if the current key is not set."""
DRIVER_PORT_KEY = "spark.driver.port"
DRIVER_BLOCK_MANAGER_PORT_KEY = "spark.driver.blockManager.port"
_DEFAULT_DRIVER_PORT = 7078
_DEFAULT_BLOCK_MANAGER_PORT = 7079
_DEFAULT_UI_PORT = 4040
_DEFAULT_CONNECT_PORT = 15002
_LARGEST_PORT = 65535


class DriverBuildError(InvalidResource):
    """The resources of the driver cannot be built. A retry does not help: the user must edit the field.

    Attributes:
        field: The invalid configuration key or path in the resource.
        sentence: The problem and what to do about it.
    """

    def __init__(self, field: str, sentence: str) -> None:
        super().__init__([Problem(field, sentence)])
        self.field = field
        self.sentence = sentence


def decode_text(field: str, content: bytes) -> str:
    """Return the content as text. Raise DriverBuildError for `field` if it is not UTF-8."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise DriverBuildError(field, "must be a text file in UTF-8") from error


def trim(text: str) -> str:
    """Trim the text as `String.trim` does."""
    return text.strip(JAVA_BLANKS)


def trim_except_line_ends(text: str) -> str:
    """Trim the text, but keep line ends: in a properties file, the user must have escaped them on purpose."""
    return text.strip(JAVA_BLANKS.replace("\r", "").replace("\n", ""))


def split_list(field: str, text: str) -> tuple[str, ...]:
    """Return the entries of a comma-separated list, trimmed, without empty ones.

    Raises:
        DriverBuildError: The list of `field` has more entries than any real application.
    """
    if text.count(",") >= _MAX_ENTRIES:
        sentence = f"has more than {_MAX_ENTRIES} entries: pack the files into archives, or add them to the image"
        raise DriverBuildError(field, sentence)
    return tuple(entry for each in text.split(",") if (entry := trim(each)))


def split(text: str, separator: str) -> list[str]:
    """Split the text as `String.split` does: without empty parts at the end, unless there is no separator."""
    if separator not in text:
        return [text]
    kept = text.rstrip(separator)
    return kept.split(separator) if kept else []


_DECIMAL = re.compile(r"[+-]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?[fFdD]?", re.ASCII)
_HEXADECIMAL = re.compile(
    r"[+-]?0[xX](?:[0-9a-fA-F]++(?:\.[0-9a-fA-F]*+)?|\.[0-9a-fA-F]++)[pP][+-]?\d++[fFdD]?", re.ASCII
)
_INFINITE = re.compile(r"[+-]?Infinity")
_POSITIONAL_FROM, _POSITIONAL_BELOW = 1e-3, 1e7
_INFINITY = float("inf")


def parse_double(text: str) -> float | None:
    """Parse a number as `Double.parseDouble` does: too large a number is infinite. Return None for other text."""
    if _DECIMAL.fullmatch(text):
        return float(text.rstrip("fFdD"))
    if _HEXADECIMAL.fullmatch(text):
        mantissa, exponent = re.split("[pP]", text.rstrip("fFdD"))
        try:
            return float.fromhex(f"{mantissa}p{exponent}")
        except OverflowError:
            return -_INFINITY if text.startswith("-") else _INFINITY
    return float(text) if _INFINITE.fullmatch(text) else None


def format_double(value: float) -> str:
    """Format a number as `Double.toString` does: `0.1`, `0.0`, `1.0E-5`, `Infinity`."""
    if abs(value) == _INFINITY:
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or _POSITIONAL_FROM <= abs(value) < _POSITIONAL_BELOW:
        return repr(float(value))
    number = Decimal(repr(value)).normalize()
    digits = "".join(map(str, number.as_tuple().digits))
    return f"{'-' if value < 0 else ''}{digits[0]}.{digits[1:] or '0'}E{number.adjusted()}"


def parse_memory_mib(key: str, value: str) -> int:
    """Parse a size such as `512`, `2g` or `1500MB` to MiB, rounded down. A number without a unit is in MiB.

    Raises:
        DriverBuildError: The size has a fraction, a sign or an unknown unit, or does not fit in 64 bits.
    """
    number, unit = _parse_size(key, value)
    size = number * unit // _MIB
    if max(size, number) > _LARGEST_LONG:
        raise DriverBuildError(key, f"{value!r} is too large: the size must fit in a 64-bit integer")
    return size


def parse_bytes_as_mib(key: str, value: str) -> int:
    """Parse a size to MiB, rounded down. A number without a unit is in bytes.

    Raises:
        DriverBuildError: The size is invalid, or the number of bytes does not fit in 64 bits.
    """
    number, unit = _parse_size(key, value, "b")
    if number * unit > _LARGEST_LONG:
        raise DriverBuildError(key, f"{value!r} is too large: the size must fit in a 64-bit integer")
    return number * unit // _MIB


def is_positive_size(key: str, value: str) -> bool:
    """Return whether a size is greater than 0, even if it is less than 1 MiB.

    A number without a unit is in bytes. The errors are those of `parse_memory_mib`, and the number of bytes must fit
    in 64 bits.
    """
    number, unit = _parse_size(key, value, "b")
    if number * unit > _LARGEST_LONG:
        raise DriverBuildError(key, f"{value!r} is too large: the size must fit in a 64-bit integer")
    return number > 0


def _parse_size(key: str, value: str, default_unit: str = "m") -> tuple[int, int]:
    """Return the number and the number of bytes of its unit."""
    match = _BYTE_STRING.fullmatch(trim(value).lower())
    unit = match and _UNITS.get(match[2] or default_unit)
    if not match or not unit:
        raise DriverBuildError(
            key, f"invalid memory size {value!r}: use an integer with a unit b, k, m, g, t or p, such as 2g"
        )
    return int(match[1]), unit


class Configuration:
    """A read-only view of the configuration that a driver is built from.

    As in Spark, a value that is read by its key can contain the references `${spark.other.key}` and `${env:NAME}`.
    A reference that cannot be resolved is not changed. Values that are read by prefix are literal.
    Each `*keys` parameter names a key and its fallbacks. The first key that is set takes precedence.
    """

    def __init__(self, values: Mapping[str, str], environment: Mapping[str, str]) -> None:
        self._values = values
        self._environment = environment

    @property
    def values(self) -> Mapping[str, str]:
        """The configuration with unresolved references."""
        return self._values

    def get_text(self, *keys: str) -> str | None:
        """Return the value of the first key that is set, or None."""
        found = self._find(keys)
        return found and found[1]

    def get_list(self, key: str) -> tuple[str, ...]:
        """Return the entries of a comma-separated list, trimmed, without empty ones."""
        return split_list(key, self.get_text(key) or "")

    def get_boolean(self, *keys: str, default: bool = False) -> bool:
        """Return a boolean. Raise DriverBuildError unless the value is true or false, in any case."""
        found = self._find(keys)
        if found is None:
            return default
        word = trim(found[1]).lower()
        if word not in ("true", "false"):
            raise DriverBuildError(found[0], f"must be true or false, but is {found[1]!r}")
        return word == "true"

    def get_integer(self, *keys: str, default: int) -> int:
        """Return an integer. Raise DriverBuildError for any other value."""
        found = self._find(keys)
        if found is None:
            return default
        return _parse_integer(found[0], trim(found[1]))

    def get_plain_integer(self, *keys: str, default: int) -> int:
        """Return an integer that Spark reads literally, without references or trimming.

        All keys that are set are checked, not only the first one.
        """
        numbers = [_parse_integer(key, self._values[key]) for key in keys if key in self._values]
        return numbers[0] if numbers else default

    def get_double(self, key: str) -> float | None:
        """Return a number as Java parses it, or None. Raise DriverBuildError for any other value."""
        value = self.get_text(key)
        if value is None:
            return None
        number = parse_double(trim(value))
        if number is None:
            raise DriverBuildError(key, f"must be a number, but is {value!r}")
        return number

    def get_choice(self, key: str, options: tuple[str, ...], default: str) -> str:
        """Return one of the options. Raise DriverBuildError for any other value."""
        value = self.get_text(key)
        if value is None:
            return default
        if value not in options:
            raise DriverBuildError(key, f"must be one of {', '.join(options)}, but is {value!r}")
        return value

    def get_mebibytes(self, key: str) -> int | None:
        """Return a size in MiB, or None. A number without a unit is in MiB. Raises the errors of `parse_memory_mib`.

        Spark accepts a minus sign here, but not on its command line.
        """
        value = self.get_text(key)
        if value is None:
            return None
        return -parse_memory_mib(key, value[1:]) if value.startswith("-") else parse_memory_mib(key, value)

    def get_by_prefix(self, prefix: str) -> dict[str, str]:
        """Return the settings that start with the prefix, without the prefix, sorted by key. The values are literal."""
        return {key.removeprefix(prefix): self._values[key] for key in sorted(self._values) if key.startswith(prefix)}

    def _find(self, keys: tuple[str, ...]) -> tuple[str, str] | None:
        for key in keys:
            for name in (key, FORMER_KEYS.get(key)):
                if name is not None and name in self._values:
                    return name, self._resolve(self._values[name], (name,), [0])
        return None

    def _resolve(self, value: str, seen: tuple[str, ...], total: list[int]) -> str:
        """Replace the references in a value that is reached through the keys `seen`; `total` is the length so far."""

        def replace(match: re.Match[str]) -> str:
            source = _SOURCE.match(match[1])
            name = match[1] if source is None else match[1][source.end() :]
            if not match[2]:
                return match[0]
            if source is not None:
                return self._environment.get(name, match[0]) if source[1] == "env" else match[0]
            if not name.startswith("spark.") or name not in self._values:
                return match[0]
            if name in seen:
                raise DriverBuildError(seen[0], f"refers to itself through ${{{name}}}")
            total[0] += len(name) + len(self._values[name])
            if total[0] > _LONGEST_REFERENCES or len(seen) > _DEEPEST_REFERENCE:
                raise DriverBuildError(
                    seen[0],
                    f"refers to values of more than {_LONGEST_REFERENCES} characters, or more than "
                    f"{_DEEPEST_REFERENCE} levels deep: write the value without references",
                )
            return self._resolve(self._values[name], (*seen, name), total)

        return _REFERENCE.sub(replace, value) if "${" in value else value


def _parse_integer(key: str, text: str) -> int:
    if not re.fullmatch(r"[+-]?\d{1,18}", text, re.ASCII):
        raise DriverBuildError(key, f"must be an integer, but is {text!r}")
    number = int(text)
    if not -_INTEGER_RANGE <= number < _INTEGER_RANGE:
        raise DriverBuildError(key, f"must fit in 32 bits, but is {number}")
    return number


def get_driver_port(conf: Configuration) -> int:
    """Return the port at which executors register."""
    return _get_port(conf, DRIVER_PORT_KEY, default=_DEFAULT_DRIVER_PORT)


def get_service_block_manager_port(conf: Configuration) -> int:
    """Return the port of the block manager in the service. The common `spark.blockManager.port` has no effect on it."""
    return _get_port(conf, DRIVER_BLOCK_MANAGER_PORT_KEY, default=_DEFAULT_BLOCK_MANAGER_PORT)


def get_container_block_manager_port(conf: Configuration) -> int:
    """Return the port of the block manager in the container."""
    return _get_port(
        conf, DRIVER_BLOCK_MANAGER_PORT_KEY, "spark.blockManager.port", default=_DEFAULT_BLOCK_MANAGER_PORT
    )


def get_ui_port(conf: Configuration) -> int:
    """Return the port of the web interface. It is part of the pod even if the interface is disabled."""
    key = "spark.ui.port"
    return _check_port(conf.get_integer(key, default=_DEFAULT_UI_PORT), key)


def get_connect_port(conf: Configuration) -> int:
    """Return the port of the Spark Connect server."""
    return _get_port(conf, "spark.connect.grpc.binding.port", default=_DEFAULT_CONNECT_PORT)


def _get_port(conf: Configuration, *keys: str, default: int) -> int:
    port = conf.get_plain_integer(*keys, default=default)
    return _check_port(port, next((key for key in keys if key in conf.values), keys[0]))


def _check_port(port: int, key: str) -> int:
    """Return a valid port. Raise DriverBuildError otherwise: Spark would send the pod, and the API would reject it."""
    if not 1 <= port <= _LARGEST_PORT:
        raise DriverBuildError(key, f"must be a port from 1 to {_LARGEST_PORT}, but is {port}")
    return port
