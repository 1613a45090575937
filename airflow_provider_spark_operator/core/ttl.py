"""The default times to live of applications that Airflow submits."""

from typing import Final

KEEP: Final = -1
"""The time to live of an application that is never deleted."""
# Time to examine a failure after a weekend, without thousands of successful applications in etcd.
DEFAULT_SECONDS: Final = 7 * 24 * 3600
AFTER_SUCCESS_SECONDS: Final = 24 * 3600
