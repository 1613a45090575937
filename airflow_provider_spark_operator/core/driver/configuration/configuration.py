"""Typed access to a Spark configuration. The callers supply Spark's defaults."""

import re
from collections.abc import Mapping

from .errors import DriverBuildError
from .memory import parse_memory_mib
from .text import parse_double, split_list, trim

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
