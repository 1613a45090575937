"""Hooks of MkDocs that complete the site: the link to the repository, the order of search results, and the pictures.

The site links to the repository, whose address is in `pyproject.toml`. A picture whose name ends with `-light` has a
twin for dark pages. Pages with a diagram load Mermaid from the site
itself: `make site` downloads the script. If the site has no copy, the theme loads Mermaid from unpkg.com.
"""

import os
import re
import shutil
import tomllib
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:  # so that tests can import the module without MkDocs
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

_SCRIPT = "assets/mermaid.min.js"
_DOWNLOADED = Path(__file__).parents[1] / ".site-venv/package/dist/mermaid.min.js"
_BOOSTS: Final = {
    "get-started": 4.0,
    "guides": 2.0,
    "troubleshooting.md": 3.0,
    # The pages that answer the most common searches, and those that only mention their words often.
    "guides/logs.md": 6.0,
    "guides/out-of-memory.md": 6.0,
    "guides/retries.md": 6.0,
    "operations/faq.md": 3.0,
    "guides/outages.md": 1.0,
    "guides/packages.md": 1.0,
    "guides/spark-clusters.md": 1.0,
    "architecture.md": 0.25,
    "migration": 0.5,
    "internals": 0.25,
    "decisions": 0.25,
}
"""The weight of search results by the path of a page, or by its first part. Other pages have 1."""


def read_address() -> str:
    """Return the address of the repository, or an empty string if it is not known."""
    tool = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    address: str = tool["hatch"]["metadata"]["hooks"]["custom"]["repository"]
    return address or os.environ.get("REPOSITORY_ADDRESS", "")


def on_config(config: "MkDocsConfig") -> "MkDocsConfig":
    """Link to the repository on each page."""
    if address := read_address():
        config.repo_url, config.repo_name = address, address.partition("://")[2].partition("/")[2]
    return config


def on_page_markdown(markdown: str, page: "Page", config: "MkDocsConfig", files: "Files") -> str:  # noqa: ARG001 - MkDocs passes them
    """Set the weight of the page in the search."""
    path = page.file.src_uri
    page.meta["search"] = {"boost": _BOOSTS.get(path) or _BOOSTS.get(path.partition("/")[0], 1.0)}
    return name_release(markdown, os.environ.get("RELEASE", ""))


def name_release(markdown: str, release: str) -> str:
    """Return the page with the version of a release in each command that installs the package from an index.

    Args:
        markdown: The page.
        release: Version of the release for which the site is built. If it is empty, the page stays as it is.
    """
    command = r"""(pip install ['"]?airflow-provider-spark-operator(?:\[[\w,]+\])?)(?![\w\[=.-])"""
    return re.sub(command, rf"\g<1>=={release}", markdown) if release else markdown


def on_page_content(html: str, page: "Page", config: "MkDocsConfig", files: "Files") -> str:  # noqa: ARG001 - MkDocs passes them
    """Return the page with the pictures of both schemes, and with the script in front if it has a diagram."""
    html = re.sub(r"<t[dh]\b.*?</t[dh]>", lambda cell: cell[0].replace("\\|", "|"), html, flags=re.DOTALL)
    if page.file.src_uri.startswith("reference/airflow"):
        html = _add_anchors(html)
    html = re.sub(r'<img ([^>]*src="[^"]+)-light\.(svg|png)"([^>]*)>', _show_per_scheme, html)
    if 'class="mermaid"' not in html or not _DOWNLOADED.is_file():
        return html
    address = "../" * page.url.count("/") + _SCRIPT
    return f'<script src="{address}"></script>\n{html}'


def _add_anchors(html: str) -> str:
    """Return the page with an anchor for each row of a table, for example `sparkapplicationoperator-image`."""
    sections = re.split(r'(?=<h[23] id=")', html)
    return "".join(
        re.sub(r"(?<=<tr>\n)<td><code>\*{0,2}(\w+)</code></td>", partial(_link_row, section), section)
        for section in sections
    )


def _link_row(section: str, cell: re.Match[str]) -> str:
    heading = re.match(r'<h[23] id="([^"]+)"', section)
    anchor = f"{heading[1] if heading else 'page'}-{cell[1]}"
    return f'<td id="{anchor}"><a href="#{anchor}"><code>{cell[1]}</code></a></td>'


def _show_per_scheme(image: re.Match[str]) -> str:
    return "".join(f'<img {image[1]}-{scheme}.{image[2]}#only-{scheme}"{image[3]}>' for scheme in ("light", "dark"))


def on_post_build(config: "MkDocsConfig") -> None:
    """Copy the script into the site."""
    if _DOWNLOADED.is_file():
        shutil.copyfile(_DOWNLOADED, Path(config.site_dir) / _SCRIPT)
