"""A chart of how many applications have come how far when, as SVG."""

from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

_WIDTH, _HEIGHT = 760, 380
_LEFT, _TOP, _RIGHT, _BOTTOM = 60, 40, 180, 50
_POINTS = 200
_TICKS = 5


@dataclass(frozen=True)
class Curve:
    """When each application came to a certain point.

    Attributes:
        title: what that point is.
        moments: seconds from the beginning, sorted.
        color: as SVG has it.
        dashed: drawn with gaps.
    """

    title: str
    moments: Sequence[float]
    color: str
    dashed: bool = False


def draw(title: str, curves: Sequence[Curve]) -> str:
    """The chart: seconds to the right, applications upwards."""
    longest = max(curve.moments[-1] for curve in curves)
    most = max(len(curve.moments) for curve in curves)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" '
        'font-size="12">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        f'<text x="{_LEFT}" y="20" font-size="14">{escape(title)}</text>',
        *_axes(longest, most),
    ]
    for row, curve in enumerate(curves):
        parts += _line(curve, longest, most, _TOP + 20 * row)
    return "\n".join([*parts, "</svg>\n"])


def _axes(longest: float, most: int) -> list[str]:
    parts = []
    for tick in range(_TICKS + 1):
        share = tick / _TICKS
        x, y = _x(share), _y(share)
        parts += [
            f'<line x1="{_x(0)}" y1="{y}" x2="{_x(1)}" y2="{y}" stroke="#ddd"/>',
            f'<text x="{_LEFT - 8}" y="{y + 4}" text-anchor="end">{most * share:.0f}</text>',
            f'<text x="{x}" y="{_y(0) + 18}" text-anchor="middle">{longest * share:.0f} s</text>',
        ]
    return parts


def _line(curve: Curve, longest: float, most: int, row: int) -> list[str]:
    step = max(1, len(curve.moments) // _POINTS)
    counted = list(enumerate(curve.moments, start=1))
    chosen = [(0, 0.0), *counted[::step], counted[-1]]
    points = " ".join(f"{_x(moment / longest):.1f},{_y(number / most):.1f}" for number, moment in chosen)
    style = f'stroke="{curve.color}" stroke-width="2" fill="none"' + (' stroke-dasharray="6 4"' if curve.dashed else "")
    x = _WIDTH - _RIGHT + 15
    return [
        f'<polyline points="{points}" {style}/>',
        f'<line x1="{x}" y1="{row}" x2="{x + 24}" y2="{row}" {style}/>',
        f'<text x="{x + 30}" y="{row + 4}">{escape(curve.title)}</text>',
    ]


def _x(share: float) -> float:
    return round(_LEFT + share * (_WIDTH - _LEFT - _RIGHT), 1)


def _y(share: float) -> float:
    return round(_HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM), 1)
