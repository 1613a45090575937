"""The pages show the pictures that the scripts make, and no others."""

import re
from pathlib import Path
from types import ModuleType

import pytest

from docs import draw_architecture, draw_performance, draw_terminal, draw_views, take_queue_screenshot, take_screenshots

DOCS = Path(take_screenshots.__file__).parent
# The scripts, and the tasks that no picture shows.
SCREENSHOTS: dict[ModuleType, set[str]] = {take_screenshots: {"export"}, take_queue_screenshot: {"load_orders"}}
README = DOCS.parent / "README.md"
TEXTS = [page.read_text() for page in (README, *DOCS.rglob("*.md"))]
SHOWN = {name for text in TEXTS for name in re.findall(r"""[("](?:\.\./|docs/)*pictures/([^)"]+)[)"]""", text)}
SHOWN |= {name.replace("-light.", "-dark.") for name in SHOWN}  # docs/adapt_site.py shows the twin


def test_pages_show_every_picture_that_exists() -> None:
    assert {path.name for path in take_screenshots.PICTURES.iterdir()} == SHOWN


def test_scripts_make_every_picture() -> None:
    schemes = {
        f"{name}-{scheme}.svg" for name in ("architecture", "performance") for scheme in draw_architecture.COLOURS
    }
    drawn = {*schemes, "timeline-file.svg", draw_terminal.PICTURE.name, *(f"{name}.svg" for name in draw_views.VIEWS)}
    assert {f"{name}.png" for script in SCREENSHOTS for name in script.PAGES} | drawn == SHOWN


@pytest.mark.parametrize("scheme", draw_architecture.COLOURS)
def test_architecture_is_up_to_date(scheme: str) -> None:
    written = (draw_architecture.PICTURES / f"architecture-{scheme}.svg").read_text(encoding="utf-8")
    assert written == draw_architecture.render(scheme), "run python docs/draw_architecture.py"


@pytest.mark.parametrize("scheme", draw_architecture.COLOURS)
def test_performance_is_up_to_date(scheme: str) -> None:
    written = (draw_architecture.PICTURES / f"performance-{scheme}.svg").read_text(encoding="utf-8")
    page = draw_performance.PAGE.read_text(encoding="utf-8")
    assert written == draw_performance.render(scheme, page), "run python -m docs.draw_performance"
    assert len(draw_performance.read_figures(page)) == 4


@pytest.mark.parametrize("name", [draw_terminal.PICTURE.name, *(f"{name}.svg" for name in draw_views.VIEWS)])
def test_terminal_loads_nothing_from_other_sites(name: str) -> None:
    assert not re.search(r"url\(|href|@import", (draw_views.PICTURES / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("script", SCREENSHOTS)
def test_dag_of_the_screenshots_compiles(script: ModuleType) -> None:
    compile(script.DAG_FILE, "dags.py", "exec")
    tasks = re.findall(r'task_id="(\w+)"', script.DAG_FILE)
    shown = re.findall(r"/tasks/(\w+)", " ".join(page for page, _ in script.PAGES.values()))
    assert {*shown} == {*tasks} - SCREENSHOTS[script]
