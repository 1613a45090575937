"""The goals of the measurements, and the table that compares the measured values with them."""

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import NamedTuple


class Goal(NamedTuple):
    """A value that a part of the benchmark measures.

    Attributes:
        part: The name of the part, a module of `bench`.
        measure: The name of the value.
        goal: The worst value that is accepted; None if the value is only reported.
        is_minimum: Whether larger values are better.
    """

    part: str
    measure: str
    goal: float | None
    is_minimum: bool = False

    def judge(self, value: float) -> str:
        """Return whether a value meets the goal."""
        if self.goal is None:
            return "-"
        return "met" if (value >= self.goal if self.is_minimum else value <= self.goal) else "not met"


class NotMeasured(SystemExit):
    """A part cannot run here. The message says what the part needs."""


def require(variable: str, meaning: str) -> str:
    """Return the value of an environment variable, or raise NotMeasured."""
    value = os.environ.get(variable)
    if not value:
        raise NotMeasured(f"set {variable} to {meaning}")
    return value


def require_cluster() -> str:
    """Return the kubeconfig of a cluster with a simulated node, or raise NotMeasured."""
    return require("SIM_KUBECONFIG", "the kubeconfig of a cluster with a simulated node, for example of KWOK")


def compute_p99(values: Sequence[float]) -> float:
    """Return the 99th percentile of sorted values."""
    return values[max(0, round(len(values) * 0.99) - 1)]


def run_part(part: str, arguments: Sequence[str]) -> Mapping[str, float]:
    """Run a module of this package; return its values by measure."""
    values: Mapping[str, float] = import_module(f"bench.{part}").main(arguments)
    return values


GOALS = (
    Goal("driver", "seconds to build a driver / of one spark-submit", 0.001),
    Goal("parsing", "import of SparkApplicationOperator / of SparkKubernetesOperator, CPU", 1),
    Goal("parsing", "DAG file with 500 operators / with KubernetesPodOperator, CPU", 1),
    Goal("parsing", "DAG file with 500 operators / with KubernetesPodOperator, memory", 1),
    Goal("parsing", "DAG file with 500 operators / with SparkKubernetesOperator, CPU", 1),
    Goal("parsing", "DAG file with 500 operators / with SparkKubernetesOperator, memory", 1),
    Goal("deferral", "KiB of the record of a deferred task, of 5,000", 20),
    Goal("deferral", "requests per second of 5,000 deferred tasks with their record", round(5000 / 60)),
    Goal("deferral", "XComs per second of 5,000 deferred tasks with their record", 20),
    Goal("deferral", "seconds from the end to the event with the record, p99 of 25 per second", 0.2),
    Goal("deferral", "CPU seconds of a deferred task with its log, per hour, of 5,000", 0.36),
    Goal("deferral", "KiB of a deferred task with its log, of 5,000", 100),
    Goal("deferral", "seconds from the end to the resume, p99 of 1,000 in one second", 5),
    Goal("deferral", "100 deferred tasks with logs / with Airflow's trigger for pods, CPU", 1),
    Goal("deferral", "100 deferred tasks with logs / with Airflow's trigger for pods, memory", 1),
    Goal("deferral", "100 deferred tasks with logs / with Airflow's trigger for pods, end p99", 1),
    Goal("controller", "500 applications at once / bare loop, CPU", 1.35),
    Goal("controller", "requests of an application, of 500 at once", 12),
    Goal("controller", "seconds until the driver is requested, p50 of 20 at once after the start", 0.3),
    Goal("reaction", "seconds from the end of a driver to the status, p99", 2),
    Goal("running", "10,000 running applications: memory of the controller, MiB", 191),
    Goal("running", "10,000 running applications: seconds until a restart is ready", 15),
    Goal("running", "10,000 running applications: writes after a restart", 0),
    Goal("churn", "growth of the controller's memory, percent", 5),
    Goal("local_api", "local API server / kube-apiserver, create a pod, per second", 1, is_minimum=True),
    Goal("local_api", "local API server / kube-apiserver, get a pod, per second", 1, is_minimum=True),
    Goal("local_api", "local API server / kube-apiserver, patch a pod, per second", 1, is_minimum=True),
    Goal("local_api", "local API server / kube-apiserver, list 1,000 pods, per second", 1, is_minimum=True),
    Goal("local_api", "local API server / kube-apiserver, watch, 99th of 100 ms", 1),
    Goal("local_api", "local API server / kube-apiserver, seconds to start", 1),
    Goal("local_api", "local API server / kube-apiserver, memory, MiB", 1),
    Goal("local_run", "local run of one line / SparkSubmit with local[1], seconds", 1.1),
    Goal("local_run", "local run of one line / SparkSubmit with local[1], CPU", None),
)
_NAMES = max(len(each.measure) for each in GOALS)


def format_goals(results: Mapping[str, Mapping[str, float] | BaseException], goals: tuple[Goal, ...] = GOALS) -> str:
    """Return the table of the parts that ran.

    Args:
        results: The values of each part by measure, or the reason why the part has none.
        goals: The rows of the table.
    """
    return "\n".join(_format_rows(results, goals))


def _format_rows(results: Mapping[str, Mapping[str, float] | BaseException], goals: tuple[Goal, ...]) -> Iterator[str]:
    yield f"{'measure':<{_NAMES}} {'value':>9} {'goal':>8}  result"
    for each in goals:
        if each.part not in results:
            continue
        result = results[each.part]
        goal = "" if each.goal is None else f"{'≥' if each.is_minimum else '≤'} {each.goal:g}"
        if isinstance(result, BaseException):
            value, verdict = "", f"not measured: {str(result) or repr(result)}"
        elif math.isnan(measured := result.get(each.measure, math.nan)):
            value, verdict = "", f"not measured: the arguments of {each.part} exclude it"
        else:
            value, verdict = f"{measured:.3g}", each.judge(measured)
        yield f"{each.measure:<{_NAMES}} {value:>9} {goal:>8}  {verdict}"
