"""Draw docs/pictures/architecture.svg, the parts of a run and their calls: `python docs/draw_architecture.py`."""

from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Final

PICTURE: Final = Path(__file__).parent / "pictures" / "architecture.svg"
_WIDTH, _HEIGHT = 1000, 430
_STYLE = """
text { font: 14px system-ui, 'Segoe UI', Helvetica, Arial, sans-serif; fill: #1f2933; }
.title { font-weight: 600; font-size: 15px; }
.note { font-size: 12px; fill: #52606d; }
.area { fill: #f5f7fa; stroke: #cbd2d9; }
.box { fill: #ffffff; stroke: #3e4c59; stroke-width: 1.3; }
.accent { fill: #fdebe0; stroke: #d9534f; stroke-width: 1.6; }
.arrow { stroke: #3e4c59; stroke-width: 1.6; fill: none; marker-end: url(#head); }
.dashed { stroke-dasharray: 5 4; }
"""


@dataclass(frozen=True)
class Box:
    """A rectangle with lines of text; the first line is its title.

    Attributes:
        x: Left edge in pixels.
        y: Upper edge in pixels.
        width: Width in pixels.
        height: Height in pixels.
        lines: Lines of text.
        style: CSS class of the rectangle: area, box or accent.
    """

    x: int
    y: int
    width: int
    height: int
    lines: tuple[str, ...]
    style: str = "box"

    def render(self) -> str:
        """Return the elements of the box."""
        parts = [
            f'<rect class="{self.style}" x="{self.x}" y="{self.y}" width="{self.width}" height="{self.height}" rx="8"/>'
        ]
        for number, line in enumerate(self.lines):
            kind = "note" if number else "title"
            parts.append(
                f'<text class="{kind}" x="{self.x + 14}" y="{self.y + 25 + 19 * number}">{escape(line)}</text>'
            )
        return "\n".join(parts)


@dataclass(frozen=True)
class Arrow:
    """An arrow with a label.

    Attributes:
        path: SVG path.
        label: Text of the label.
        x: Horizontal center of the label in pixels.
        y: Baseline of the label in pixels.
        dashed: Whether the line is dashed.
    """

    path: str
    label: str
    x: int
    y: int
    dashed: bool = False

    def render(self) -> str:
        """Return the elements of the arrow."""
        style = "arrow dashed" if self.dashed else "arrow"
        text = f'<text class="note" text-anchor="middle" x="{self.x}" y="{self.y}">{escape(self.label)}</text>'
        return f'<path class="{style}" d="{self.path}"/>\n{text}'


_BOXES = (
    Box(10, 10, 250, 410, ("Airflow",), "area"),
    Box(385, 10, 260, 410, ("Kubernetes cluster",), "area"),
    Box(770, 10, 220, 410, ("Pods",), "area"),
    Box(30, 60, 210, 85, ("Worker", "SparkApplicationOperator", "@task.spark_application"), "accent"),
    Box(30, 220, 210, 85, ("Triggerer", "SparkApplicationTrigger", "one watch for all deferred tasks"), "accent"),
    Box(405, 60, 220, 120, ("SparkApplication", "spec: script, image, executors", "status: states of each attempt")),
    Box(
        405,
        270,
        220,
        125,
        ("Operator in the cluster", "spark-operator reconcile", "or the Apache operator", "or Kubeflow's"),
    ),
    Box(790, 60, 180, 85, ("Driver", "runs your script", "requests executors")),
    Box(790, 290, 180, 70, ("Executors", "1 … n")),
)
_ARROWS = (
    Arrow("M240 90 H399", "creates, adopts, deletes", 322, 82),
    Arrow("M405 150 C330 160 300 200 246 240", "reports each change", 322, 142),
    Arrow("M480 180 V264", "reads spec", 440, 208),
    Arrow("M560 270 V186", "writes status", 604, 208),
    Arrow("M625 330 C700 320 700 130 784 118", "creates", 732, 290),
    Arrow("M880 145 V284", "creates", 912, 220),
    Arrow("M790 128 C740 240 560 238 246 268", "driver's log", 322, 284, dashed=True),
)


def render() -> str:
    """Return the picture as SVG."""
    parts = [one.render() for one in (*_BOXES, *_ARROWS)]
    head = '<marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto">'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">',
            "<title>Airflow, the Kubernetes API and the pods of a Spark application</title>",
            f"<style>{_STYLE}</style>",
            f'<defs>{head}<path d="M0 0 L10 5 L0 10 z" fill="#3e4c59"/></marker></defs>',
            f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>',
            *parts,
            "</svg>\n",
        ]
    )


if __name__ == "__main__":
    PICTURE.write_text(render(), encoding="utf-8")
