"""One decision, and what it comes to."""

from typing import Any

from airflow_provider_spark_operator.core.application import decide
from airflow_provider_spark_operator.core.decision import Decision, Settings
from airflow_provider_spark_operator.core.models.application import SparkApplication
from airflow_provider_spark_operator.core.observation import DriverObservation, Observed, Unconfirmed
from airflow_provider_spark_operator.core.states import (
    ApplicationState,
)
from tests.builders import (
    NOW,
    application,
    seconds,
    status_at,
)


def decided(
    resource: SparkApplication, driver: DriverObservation | None = None, *, after: float = 0, **observed: Any
) -> Decision:
    """What is decided about `resource` `after` so many seconds; the driver is not in the cache unless told."""
    seen = Observed(driver=driver or Unconfirmed(), **observed)
    return decide(resource, seen, Settings(), NOW + seconds(after))


def at(state: ApplicationState, **modifiers: Any) -> SparkApplication:
    """An application in `state`, reached by some legal way."""
    return application(status=status_at(state), **modifiers)


def entered(decision: Decision) -> ApplicationState | None:
    """The state in which the decision leaves the application; None if it does not touch the status."""
    return decision.status.current_state.current_state_summary if decision.status else None
