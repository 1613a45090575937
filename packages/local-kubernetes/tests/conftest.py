"""Settings that all tests of this package share."""

import os

from hypothesis import HealthCheck, settings

# The duration of an example depends on the machine; a failure prints how to repeat the example. A developer draws new
# examples in each run. Continuous integration draws the same ones, so that a rare find stops no unrelated change.
settings.register_profile(
    "local-kubernetes",
    derandomize=os.environ.get("CI") == "true",
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("local-kubernetes")
