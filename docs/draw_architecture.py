"""Draw the parts of a run and their calls, for light and for dark pages: `python docs/draw_architecture.py`."""

from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Final

PICTURES: Final = Path(__file__).parent / "pictures"
_WIDTH, _HEIGHT = 1000, 500
COLOURS: Final = {
    "light": {"text": "#1f2933", "note": "#52606d", "area": "#f5f7fa", "edge": "#cbd2d9", "box": "#ffffff"}
    | {"line": "#3e4c59", "accent": "#e8f1fb", "stroke": "#2f6fb3"},
    "dark": {"text": "#e6edf3", "note": "#a3afbd", "area": "#161b22", "edge": "#3d4653", "box": "#21262d"}
    | {"line": "#9aa7b5", "accent": "#17304d", "stroke": "#6cb0f5"},
}
"""The colours of each scheme."""
_STYLE: Final = """
text {{ font: 14px system-ui, 'Segoe UI', Helvetica, Arial, sans-serif; fill: {text}; }}
.title {{ font-weight: 600; font-size: 15px; }}
.note {{ font-size: 13px; fill: {note}; }}
.area {{ fill: {area}; stroke: {edge}; }}
.box {{ fill: {box}; stroke: {line}; stroke-width: 1.3; }}
.accent {{ fill: {accent}; stroke: {stroke}; stroke-width: 1.6; }}
.arrow {{ stroke: {line}; stroke-width: 1.6; fill: none; marker-end: url(#head); }}
.dashed {{ stroke-dasharray: 5 4; }}
#head path {{ fill: {line}; }}
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
        x: Horizontal position of the label in pixels.
        y: Baseline of the label in pixels.
        anchor: Whether `x` is the center (`middle`) or the left edge (`start`) of the label.
        dashed: Whether the line is dashed.
    """

    path: str
    label: str
    x: int
    y: int
    anchor: str = "middle"
    dashed: bool = False

    def render(self) -> str:
        """Return the elements of the arrow."""
        style = "arrow dashed" if self.dashed else "arrow"
        text = f'<text class="note" text-anchor="{self.anchor}" x="{self.x}" y="{self.y}">{escape(self.label)}</text>'
        return f'<path class="{style}" d="{self.path}"/>\n{text}'


_BOXES: Final = (
    Box(10, 10, 250, 480, ("Airflow",), "area"),
    Box(450, 10, 540, 480, ("Kubernetes cluster",), "area"),
    Box(760, 50, 215, 370, ("Pods of the application",), "area"),
    Box(30, 60, 210, 90, ("Worker", "SparkApplicationOperator", "@task.spark_application"), "accent"),
    Box(30, 300, 210, 90, ("Triggerer", "SparkApplicationTrigger", "one watch for all tasks"), "accent"),
    Box(470, 60, 210, 90, ("SparkApplication", "spec: script, image, …", "status: states, attempts")),
    Box(
        470, 300, 210, 110, ("Operator", "spark-operator reconcile,", "the Apache operator,", "or Kubeflow's operator")
    ),
    Box(792, 102, 170, 80, ()),
    Box(786, 96, 170, 80, ()),
    Box(780, 90, 170, 80, ("Executors", "1 … n")),
    Box(780, 300, 175, 90, ("Driver", "runs your script,", "requests executors")),
)
_ARROWS: Final = (
    Arrow("M240 105 H464", "creates, adopts, deletes", 355, 96),
    Arrow("M470 132 H310 V335 H246", "reports changes", 322, 240, "start"),
    Arrow("M530 150 V294", "reads spec", 540, 230, "start"),
    Arrow("M635 300 V156", "writes status", 645, 230, "start"),
    Arrow("M680 345 H774", "creates", 720, 336),
    Arrow("M867 300 V188", "creates", 878, 248, "start"),
    Arrow("M867 390 V455 H135 V396", "driver's log", 355, 446, dashed=True),
)


def render(scheme: str) -> str:
    """Return the picture as SVG.

    Args:
        scheme: `light` or `dark`.
    """
    parts = [one.render() for one in (*_BOXES, *_ARROWS)]
    head = '<marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto">'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">',
            "<title>Airflow, the Kubernetes API and the pods of a Spark application</title>",
            f"<style>{_STYLE.format(**COLOURS[scheme])}</style>",
            f'<defs>{head}<path d="M0 0 L10 5 L0 10 z"/></marker></defs>',
            *parts,
            "</svg>\n",
        ]
    )


if __name__ == "__main__":
    for each in COLOURS:
        (PICTURES / f"architecture-{each}.svg").write_text(render(each), encoding="utf-8")
