"""The patterns of custom resources' schemas: Go's regular expressions, converted to Python's."""

import re
from functools import lru_cache

_LEADING_FLAGS = re.compile(r"\^(\(\?[ims]+\))")
_OTHERS = re.compile(r"\\.|\(\?<(?![=!])", re.DOTALL)
_IN_PYTHON = {r"\z": r"\Z", "(?<": "(?P<"}


@lru_cache(maxsize=1000)
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a pattern; raises re.error if it is invalid, or has no equivalent in Python."""
    flagged = _LEADING_FLAGS.match(pattern)
    if flagged is not None:  # Python requires flags at the beginning
        pattern = f"{flagged[1]}^{pattern[flagged.end() :]}"
    return re.compile(_OTHERS.sub(lambda found: _IN_PYTHON.get(found[0], found[0]), pattern))
