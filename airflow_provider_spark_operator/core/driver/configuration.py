"""Typed reading of a Spark configuration, with Spark's defaults left to the caller."""

import re
from collections.abc import Mapping

from airflow_provider_spark_operator.core.driver.errors import DriverBuildError
from airflow_provider_spark_operator.core.driver.memory import memory_mib
from airflow_provider_spark_operator.core.driver.numbers import parse_double
from airflow_provider_spark_operator.core.driver.text import trimmed

_REFERENCE = re.compile(r"\$\{(?:(\w+?):)?(\S+?)\}")
_INTEGER_RANGE = 1 << 31

FORMER_KEYS = {
    "spark.driver.memoryOverhead": "spark.yarn.driver.memoryOverhead",
    "spark.kerberos.keytab": "spark.yarn.keytab",
    "spark.kerberos.principal": "spark.yarn.principal",
}
"""Keys that Spark still reads under the name they once had, where the present one is not set."""


class Configuration:
    """A read-only view of the configuration that a driver is built from.

    Values read by key may refer to others as `${spark.other.key}` or `${env:NAME}`, as Spark allows for
    every key it knows; a reference that leads nowhere stays as it is. Values read by prefix are taken
    literally. Each `*keys` parameter names a key and its fallbacks, strongest first.
    """

    def __init__(self, values: Mapping[str, str], environment: Mapping[str, str]) -> None:
        self._values = values
        self._environment = environment

    @property
    def values(self) -> Mapping[str, str]:
        """The configuration as given, references unresolved."""
        return self._values

    def text(self, *keys: str) -> str | None:
        """The value of the first key that is set, or None."""
        found = self._find(keys)
        return found and found[1]

    def listed(self, key: str) -> tuple[str, ...]:
        """The trimmed entries of a comma list, without empty ones."""
        return tuple(trimmed(entry) for entry in (self.text(key) or "").split(",") if trimmed(entry))

    def boolean(self, *keys: str, default: bool = False) -> bool:
        """Raise DriverBuildError for anything but true or false, in any case."""
        found = self._find(keys)
        if found is None:
            return default
        word = trimmed(found[1]).lower()
        if word not in ("true", "false"):
            raise DriverBuildError(found[0], f"must be true or false, but is {found[1]!r}")
        return word == "true"

    def integer(self, *keys: str, default: int) -> int:
        """Raise DriverBuildError for anything but a whole number."""
        found = self._find(keys)
        if found is None:
            return default
        return _integer(found[0], trimmed(found[1]))

    def plain_integer(self, *keys: str, default: int) -> int:
        """The same for a key that Spark reads as it is written: no reference, no blank around it, all of them good."""
        numbers = [_integer(key, self._values[key]) for key in keys if key in self._values]
        return numbers[0] if numbers else default

    def double(self, key: str) -> float | None:
        """A floating-point number as Java reads it; raise DriverBuildError for anything else."""
        value = self.text(key)
        if value is None:
            return None
        number = parse_double(trimmed(value))
        if number is None:
            raise DriverBuildError(key, f"must be a number, but is {value!r}")
        return number

    def choice(self, key: str, options: tuple[str, ...], default: str) -> str:
        """Raise DriverBuildError for a value that is not one of the options."""
        value = self.text(key)
        if value is None:
            return default
        if value not in options:
            raise DriverBuildError(key, f"must be one of {', '.join(options)}, but is {value!r}")
        return value

    def mebibytes(self, key: str) -> int | None:
        """A size in MiB (without a unit the number is MiB), or None; errors as `memory_mib`.

        Spark takes a sign here, which it does not take from its command line.
        """
        value = self.text(key)
        if value is None:
            return None
        return -memory_mib(key, value[1:]) if value.startswith("-") else memory_mib(key, value)

    def with_prefix(self, prefix: str) -> dict[str, str]:
        """What follows the prefix, sorted, with the values as given."""
        return {key.removeprefix(prefix): self._values[key] for key in sorted(self._values) if key.startswith(prefix)}

    def _find(self, keys: tuple[str, ...]) -> tuple[str, str] | None:
        for key in keys:
            for name in (key, FORMER_KEYS.get(key)):
                if name is not None and name in self._values:
                    return name, self._resolve(self._values[name], (name,))
        return None

    def _resolve(self, value: str, seen: tuple[str, ...]) -> str:
        def replacement(match: re.Match[str]) -> str:
            source, name = match.groups()
            if source == "env":
                return self._environment.get(name, match[0])
            if source is not None or not name.startswith("spark.") or name not in self._values:
                return match[0]
            if name in seen:
                raise DriverBuildError(seen[0], f"refers to itself through ${{{name}}}")
            return self._resolve(self._values[name], (*seen, name))

        return _REFERENCE.sub(replacement, value) if "${" in value else value


def _integer(key: str, text: str) -> int:
    if not re.fullmatch(r"[+-]?\d{1,18}", text, re.ASCII):
        raise DriverBuildError(key, f"must be a whole number, but is {text!r}")
    number = int(text)
    if not -_INTEGER_RANGE <= number < _INTEGER_RANGE:
        raise DriverBuildError(key, f"must fit into 32 bits, but is {number}")
    return number
