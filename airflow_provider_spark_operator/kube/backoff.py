"""The pauses between attempts of an operation that keeps failing."""

import random
from dataclasses import dataclass


@dataclass
class Backoff:
    """Seconds that double from `first` up to `longest`, with jitter so that the requests of many clients spread out."""

    first: float = 0.5
    longest: float = 30.0
    failures: int = 0

    def next(self) -> float:
        """Count a failure and return the seconds to wait after it."""
        exponent = min(self.failures, 30)
        self.failures += 1
        return min(self.longest, self.first * 2.0**exponent) * random.uniform(0.5, 1.0)  # noqa: S311 - jitter

    def reset(self) -> None:
        """Forget the failures after a success."""
        self.failures = 0
