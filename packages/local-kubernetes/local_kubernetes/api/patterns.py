"""The patterns of custom resources' schemas: regular expressions as Go has them, read as Python's."""

import re
from functools import lru_cache

_LEADING_FLAGS = re.compile(r"\^(\(\?[ims]+\))")
_OTHERS = re.compile(r"\\.|\(\?<(?![=!])", re.DOTALL)
_IN_PYTHON = {r"\z": r"\Z", "(?<": "(?P<"}


@lru_cache(maxsize=1000)
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """The expression that a pattern stands for; raises re.error for none, and for what Python's have nothing like."""
    flagged = _LEADING_FLAGS.match(pattern)
    if flagged is not None:  # Python wants flags before everything else
        pattern = f"{flagged[1]}^{pattern[flagged.end() :]}"
    return re.compile(_OTHERS.sub(lambda found: _IN_PYTHON.get(found[0], found[0]), pattern))
