"""The pictures on the pages are those that the script takes."""

import re
from pathlib import Path

from docs import take_screenshots

DOCS = Path(take_screenshots.__file__).parent
TEXTS = [page.read_text() for page in DOCS.rglob("*.md")]
SHOWN = {name for text in TEXTS for name in re.findall(r"!\[[^]]+\]\((?:\.\./)*pictures/([^)]+)\.png\)", text)}


def test_every_picture_that_is_taken_is_shown_and_no_other() -> None:
    assert set(take_screenshots.PAGES) == SHOWN
    assert {path.stem for path in take_screenshots.PICTURES.glob("*.png")} == SHOWN


def test_the_dag_in_the_pictures_can_be_loaded() -> None:
    compile(take_screenshots.DAG_FILE, "sales.py", "exec")
    tasks = re.findall(r'task_id="(\w+)"', take_screenshots.DAG_FILE)
    assert {page.split("/")[1] for page in take_screenshots.PAGES.values()} == set(tasks)
