"""A chart of the number of applications that have reached a point of their lifecycle, drawn by matplotlib as SVG."""

from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO

import matplotlib as mpl
from matplotlib.figure import Figure

_SIZE_IN_INCHES = (8, 4)


@dataclass(frozen=True)
class Curve:
    """The times at which the applications reached a point of their lifecycle.

    Attributes:
        title: The name of the point, shown in the legend.
        moments: Seconds from the start of the run, sorted, one for each application.
        color: Any color that matplotlib accepts.
        dashed: Whether the line is dashed.
    """

    title: str
    moments: Sequence[float]
    color: str
    dashed: bool = False


def draw(title: str, curves: Sequence[Curve]) -> str:
    """Return the chart as an SVG document: seconds on the x axis, the number of applications on the y axis."""
    document = StringIO()
    # The SVG contains text as text, and the same figures give the same file.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "airflow-provider-spark-operator"}):
        plot(title, curves).savefig(document, format="svg", metadata={"Date": None})
    # matplotlib ends some lines with a space.
    return "\n".join(line.rstrip() for line in document.getvalue().splitlines()) + "\n"


def plot(title: str, curves: Sequence[Curve]) -> Figure:
    """Return the figure; each curve rises by one at each of its moments."""
    figure = Figure(figsize=_SIZE_IN_INCHES, layout="constrained")
    axes = figure.add_subplot()
    for curve in curves:
        axes.plot(
            [0.0, *curve.moments],
            range(len(curve.moments) + 1),
            color=curve.color,
            linestyle="--" if curve.dashed else "-",
            drawstyle="steps-post",
            label=curve.title,
        )
    axes.set_title(title)
    axes.set_xlabel("seconds")
    axes.set_ylabel("applications")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.grid(color="#dddddd")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside right upper", frameon=False)
    return figure
