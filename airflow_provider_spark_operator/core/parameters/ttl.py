"""Times to live of applications. Separate from the dialects, which DAG files do not load."""

from typing import Final

KEEP: Final = -1
"""The time to live of an application that is never deleted."""
# The defaults of applications that Airflow submits: time to examine a failure after a weekend, without thousands of
# successful applications in etcd.
DEFAULT_TTL_SECONDS: Final = 7 * 24 * 3600
TTL_AFTER_SUCCESS_SECONDS: Final = 24 * 3600
