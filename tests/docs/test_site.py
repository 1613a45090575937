"""The hooks of the site complete the pages."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from docs import adapt_site


def complete(html: str, path: str = "guides/logs.md") -> str:
    return adapt_site.on_page_content(html, SimpleNamespace(url="a/b/", file=SimpleNamespace(src_uri=path)), None, None)


def test_bar_in_a_cell_has_no_backslash() -> None:
    cell = r'<td style="text-align: left;"><code>str \| None</code></td>'
    assert complete(cell) == cell.replace("\\", "")


def test_backslash_in_a_code_block_stays() -> None:
    block = r"<table><tr><td>x</td></tr></table><pre><code>grep 'a\|b'</code></pre>"
    assert complete(block) == block


def test_parameter_on_the_page_of_classes_has_an_anchor() -> None:
    row = "<tr>\n<td><code>image</code></td>\n<td><code>None</code></td></tr>"
    page = complete(f'<h2 id="operator">O</h2>{row}<h3 id="hook">H</h3>{row}', "reference/airflow.md")
    assert re.findall(r'id="(\w+-\w+)"', page) == ["operator-image", "hook-image"]
    assert complete(row) == row


def test_light_picture_gets_a_dark_twin() -> None:
    pictures = complete('<img alt="x" src="../pictures/a-light.svg" />')
    assert [f"a-{scheme}.svg#only-{scheme}" in pictures for scheme in ("light", "dark")] == [True, True]


@pytest.mark.parametrize(
    ("path", "other"),
    [
        ("get-started/install.md", "operations/install.md"),
        ("troubleshooting.md", "guides/outages.md"),
        ("guides/logs.md", "decisions/0001-airflow-is-an-extra.md"),
        ("reference/airflow.md", "migration/spark-submit-operator.md"),
    ],
)
def test_search_prefers_pages_for_users(path: str, other: str) -> None:
    boosts = []
    for each in (path, other):
        page = SimpleNamespace(meta={}, file=SimpleNamespace(src_uri=each))
        adapt_site.on_page_markdown("", page, None, None)
        boosts.append(page.meta["search"]["boost"])
    assert boosts[0] > boosts[1]


def test_site_of_a_release_has_the_command_that_installs_it() -> None:
    page = (Path(adapt_site.__file__).parent / "get-started" / "install.md").read_text(encoding="utf-8")
    released = adapt_site.name_release(page, "0.9.0")
    assert "$ pip install 'airflow-provider-spark-operator[airflow,local]==0.9.0'\n" in released
    assert adapt_site.name_release(page, "") == page


@pytest.mark.parametrize("quote", ["", "'", '"'])
def test_each_command_that_installs_a_release_names_it(quote: str) -> None:
    command = f"pip install {quote}airflow-provider-spark-operator{quote} pytest"
    released = f"pip install {quote}airflow-provider-spark-operator==0.9.0{quote} pytest"
    assert adapt_site.name_release(command, "0.9.0") == released
