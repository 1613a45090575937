"""Record what a command writes to a terminal, and draw it as an SVG picture with its colours, still or animated."""

import fcntl
import os
import re
import struct
import subprocess
import termios
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Final

from rich.cells import cell_len
from rich.color import Color
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from rich.text import Text

_NORMAL: Final = [(72, 79, 88), (255, 123, 114), (86, 211, 100), (227, 179, 65), (121, 192, 255), (210, 168, 255)]
_BRIGHT: Final = [(139, 148, 158), (255, 161, 152), (126, 231, 135), (242, 204, 96), (165, 214, 255), (226, 197, 255)]
_THEME: Final = TerminalTheme(
    (22, 27, 34),
    (201, 209, 217),
    [*_NORMAL, (86, 212, 221), (201, 209, 217)],
    [*_BRIGHT, (179, 240, 255), (240, 246, 252)],
)
_CELL: Final = 8.4
_LINE: Final = 19
_LEFT: Final = 16
_TOP: Final = 40
_LONGEST_WAIT: Final = 0.8  # between two lines
_FIRST_PAUSE: Final = 2.0  # on the last state, before the recording begins
_SHORTEST_FRAME: Final = 0.2
_FONT: Final = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace"
_BLOCK: Final = "█"
_STYLE: Final = f"""
text {{ font: 14px {_FONT}; white-space: pre; }}
.bold {{ font-weight: bold; }}
.past {{ visibility: hidden; }}
@media (prefers-reduced-motion: reduce) {{ g {{ animation: none !important; }} }}
"""


@dataclass(frozen=True)
class Line:
    """What one line of the terminal shows for some time.

    Attributes:
        row: Number of the line, from 0.
        text: The text with its colours.
        begin: When the line appears, in seconds.
        end: When it disappears. None if it stays.
    """

    row: int
    text: Text
    begin: float = 0.0
    end: float | None = None


def record(command: Sequence[str], folder: Path, columns: int, **variables: str) -> tuple[int, list[tuple[float, str]]]:
    """Run a command in a terminal. Return its exit code and its output, with the seconds since the start.

    Args:
        command: Program and arguments.
        folder: Working directory.
        columns: Width of the terminal.
        variables: Additional environment variables.
    """
    terminal, other_end = os.openpty()
    fcntl.ioctl(other_end, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    unset = ("NO_COLOR", "COLUMNS", "LINES")
    environment = {key: value for key, value in os.environ.items() if key not in unset}
    environment |= {"TERM": "xterm-256color", "TZ": "UTC", **variables}
    output, start = [], time.monotonic()
    with subprocess.Popen(command, cwd=folder, stdout=other_end, stderr=other_end, env=environment) as process:  # noqa: S603 - commands of the scripts
        os.close(other_end)
        while chunk := _read(terminal):
            output.append((time.monotonic() - start, chunk.decode(errors="replace")))
    os.close(terminal)
    return process.returncode, output


def replay(
    command: str, output: Sequence[tuple[float, str]], columns: int, hidden: re.Pattern[str] | None = None
) -> list[Line]:
    """Return the lines that the terminal shows after a command. Long waits for a line are shortened.

    Args:
        command: The command, without the prompt.
        output: What the command wrote, with the seconds since the start.
        columns: Width of the terminal.
        hidden: Lines that begin with this pattern are left out.
    """
    lines = [Line(0, Text.assemble(("$ ", "green"), (command, "bold")))]
    row, current, now, waited, last = 1, "", 0.6, 0.0, 0.0
    for time_read, chunk in output:
        pause = min(time_read - last, _LONGEST_WAIT - waited)
        now, waited, last = now + pause, waited + pause, time_read
        for part in re.split(r"(\r\n|\r\x1b\[K)", chunk):
            if part == "\r\n" and hidden and hidden.match(Text.from_ansi(current).plain):
                current = ""
            elif part == "\r\n":
                shown = list(Text.from_ansi(current).wrap(_WRAPPER, columns, overflow="fold")) or [Text()]
                lines = [*_end(lines, row, now), *(Line(row + extra, text, now) for extra, text in enumerate(shown))]
                row, current, waited = row + len(shown), "", 0.0
            elif part.startswith("\r"):
                current = ""
            elif part:
                current += part
        is_shown = current and not (hidden and hidden.match(Text.from_ansi(current).plain))
        if is_shown and waited < _LONGEST_WAIT and now - max(line.begin for line in lines) >= _SHORTEST_FRAME:
            lines = [*_end(lines, row, now), Line(row, Text.from_ansi(current), now)]
    return _end(lines, row, now)


def draw(title: str, lines: Sequence[Line], columns: int) -> str:
    """Return the picture of a terminal. If lines have times, it shows the end, then plays once."""
    rows = max(line.row for line in lines) + 1
    width, height = _LEFT * 2 + columns * _CELL, _TOP + rows * _LINE + 12
    seconds = max(line.end or line.begin for line in lines) + _FIRST_PAUSE
    frames = "".join(_build_frames(index, line, seconds) for index, line in enumerate(lines) if _moves(line))
    dots = "".join(
        f'<circle cx="{20 + 18 * index}" cy="20" r="6" fill="{colour}"/>'
        for index, colour in enumerate(("#ff5f57", "#febc2e", "#28c840"))
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height}" role="img">',
            f"<title>{escape(title)}</title>",
            f"<style>{_STYLE}\n{frames}</style>",
            f'<rect width="{width:g}" height="{height}" rx="10" fill="{_THEME.background_color.hex}"/>',
            dots,
            f'<text x="{width / 2:g}" y="25" text-anchor="middle" fill="#8b949e">{escape(title)}</text>',
            *(_draw_line(index, line) for index, line in enumerate(lines)),
            "</svg>\n",
        ]
    )


_WRAPPER: Final = Console(width=1000)


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux reports the end of the other side as an error
        return b""


def _end(lines: Sequence[Line], row: int, now: float) -> list[Line]:
    """Return the lines, after the row has got another text."""
    return [replace(line, end=now) if line.row == row and line.end is None else line for line in lines]


def _moves(line: Line) -> bool:
    return line.begin > 0 or line.end is not None


def _build_frames(index: int, line: Line, seconds: float) -> str:
    start, begin, end = (
        f"{100 * moment / seconds:.2f}%"
        for moment in (_FIRST_PAUSE, _FIRST_PAUSE + line.begin, _FIRST_PAUSE + (line.end or 0))
    )
    first = "hidden" if line.end is not None else "visible"
    hidden = f" {start} {{ visibility: hidden; }}" if line.begin else ""
    gone = f" {end} {{ visibility: hidden; }}" if line.end is not None else ""
    return (
        f"#l{index} {{ animation: a{index} {seconds:.1f}s step-end; }} "
        f"@keyframes a{index} {{ 0% {{ visibility: {first}; }}{hidden} {begin} {{ visibility: visible; }}{gone} }}\n"
    )


def _draw_line(index: int, line: Line) -> str:
    x, parts = float(_LEFT), []
    top = _TOP + line.row * _LINE
    for style, segments in groupby(line.text.render(_WRAPPER), lambda segment: segment.style):
        text = "".join(segment.text for segment in segments).rstrip("\n")
        for full, run in groupby(text, lambda letter: letter == _BLOCK):
            letters = "".join(run)
            width = cell_len(letters) * _CELL
            parts.append(_draw_run(x, top, width, letters, style or Style(), is_block=full))
            x += width
    kind = ' class="past"' if line.end is not None else ""
    return f'<g id="l{index}"{kind}>{"".join(parts)}</g>'


def _draw_run(x: float, top: int, width: float, letters: str, style: Style, *, is_block: bool) -> str:
    colour = (style.color or Color.default()).get_truecolor(_THEME).hex
    faint = ' opacity="0.65"' if style.dim else ""
    if is_block:
        return f'<rect x="{x:g}" y="{top + 3}" width="{width:g}" height="{_LINE - 5}" fill="{colour}"{faint}/>'
    if not letters.strip():
        return ""
    weight = ' class="bold"' if style.bold else ""
    return (
        f'<text x="{x:g}" y="{top + 14}" textLength="{width:g}" fill="{colour}"{weight}{faint}>{escape(letters)}</text>'
    )
