"""Draw the figures of the performance page, for light and for dark pages: `python -m docs.draw_performance`.

The figures are those of the first table of docs/operations/performance.md. The scales begin at 0.
"""

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Final

from docs.draw_architecture import COLOURS, PICTURES

PAGE: Final = Path(__file__).parent / "operations" / "performance.md"
_PROGRAMS: Final = ("controller", "bare loop")
_PANELS: Final = {"Applications completed per second": 2, "Processor time for each application, in ms": 3}
"""The columns of the table, by the titles of the panels."""
_WIDTH: Final = 760
_LEFT: Final = 190  # of the bars
_PANEL: Final = 270  # the width of a panel
_BAR: Final = 150  # the longest bar; its number is right of it
_TOP: Final = 76
_GROUP: Final = 46


def read_figures(page: str) -> dict[str, dict[str, list[str]]]:
    """Return the cells of the first table by the load and by the program. Loads without a bare loop are left out."""
    table = page[page.index("| Applications at once") :].split("\n\n", 1)[0]
    figures: dict[str, dict[str, list[str]]] = {}
    load = ""
    for row in table.splitlines()[2:]:
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        load = cells[0] or load
        figures.setdefault(load, {})[cells[1]] = cells
    return {load: rows for load, rows in figures.items() if rows.keys() == {*_PROGRAMS}}


def render(scheme: str, page: str) -> str:
    """Return the picture as SVG.

    Args:
        scheme: `light` or `dark`.
        page: The text of the page.
    """
    figures, colours = read_figures(page), COLOURS[scheme]
    fills = dict(zip(_PROGRAMS, (colours["stroke"], colours["note"]), strict=True))
    height = _TOP + _GROUP * len(figures)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" font-size="14" '
        "font-family=\"system-ui, 'Segoe UI', Helvetica, Arial, sans-serif\">",
        "<title>The rate and the processor time of the controller and of the bare loop</title>",
    ]
    for index, program in enumerate(_PROGRAMS):
        x = _LEFT + index * 130
        parts.append(f'<rect x="{x}" y="8" width="12" height="12" rx="2" fill="{fills[program]}"/>')
        parts.append(_write(x + 18, 19, program, colours["text"]))
    parts.append(_write(0, 54, "Applications at once", colours["note"]))
    for number, load in enumerate(figures):
        parts.append(_write(0, _TOP + 23 + _GROUP * number, load, colours["text"]))
    for index, (title, column) in enumerate(_PANELS.items()):
        left = _LEFT + _PANEL * index + 20 * index
        parts.append(_write(left, 54, title, colours["note"]))
        parts += _draw_bars(left, column, figures, fills, colours["text"])
    return "\n".join([*parts, "</svg>\n"])


def _draw_bars(
    left: int, column: int, figures: dict[str, dict[str, list[str]]], fills: dict[str, str], text: str
) -> Iterator[str]:
    values = {(load, one): cells[column].split()[0] for load, rows in figures.items() for one, cells in rows.items()}
    longest = max(map(float, values.values()))
    for number, load in enumerate(figures):
        for index, program in enumerate(_PROGRAMS):
            value, y = values[load, program], _TOP + _GROUP * number + 18 * index
            width = _BAR * float(value) / longest
            yield f'<rect x="{left}" y="{y}" width="{width:.1f}" height="15" rx="2" fill="{fills[program]}"/>'
            yield _write(left + width + 6, y + 12, value, text)


def _write(x: float, y: float, text: str, colour: str) -> str:
    return f'<text x="{x:.1f}" y="{y}" fill="{colour}">{escape(text)}</text>'


if __name__ == "__main__":
    for each in COLOURS:
        picture = render(each, PAGE.read_text(encoding="utf-8"))
        (PICTURES / f"performance-{each}.svg").write_text(picture, encoding="utf-8")
