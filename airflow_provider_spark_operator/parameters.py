"""The types of parameters that group settings: for `secrets`, `volumes`, `dynamic_allocation` and others."""

from .core.parameters.parameter_types import (
    ConfigMap,
    DynamicAllocation,
    RestartPolicy,
    Scheduler,
    Secret,
    Streaming,
    Timeouts,
    Volume,
)

__all__ = ["ConfigMap", "DynamicAllocation", "RestartPolicy", "Scheduler", "Secret", "Streaming", "Timeouts", "Volume"]
