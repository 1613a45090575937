"""The lanes that `timeline --svg` draws. layout.test.mjs compares those of the page with the same file."""

import json
import os
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from airflow_provider_spark_operator.core.report.run_record import build_record
from airflow_provider_spark_operator.core.report.timeline import Timeline
from airflow_provider_spark_operator.core.report.timeline_picture import draw_timeline
from airflow_provider_spark_operator.core.report.timeline_rows import build_groups, describe_parts
from tests.plugins.spark_view.runs import build_runs

FILE = Path(__file__).parent / "runs.json"
SVG = "{http://www.w3.org/2000/svg}"


def read_lanes(timeline: Timeline) -> dict[str, Any]:
    """Return what the picture of a timeline shows, with its coordinates."""
    picture = ElementTree.fromstring(draw_timeline(timeline))
    rects = [one for one in picture.iter(f"{SVG}rect") if len(one) and one.get("class") is None]
    texts = [one for one in picture.iter(f"{SVG}text") if one.get("fill") == "#5b6472"]
    beside = {one.get("y"): one.text for one in texts if one.get("text-anchor") is None and one.get("y") != "51"}
    paths = list(picture.iter(f"{SVG}path"))
    return {
        "groups": [group.title for group in build_groups(timeline)],
        "bars": [
            {
                "label": one[0].text,
                "x": float(one.get("x", "")),
                "width": float(one.get("width", "")),
                "text": beside[f"{float(one.get('y', '')) + 12:g}"],
            }
            for one in rects
        ],
        "parts": [
            [one[0].text, float(one.get("x", "")), float(one.get("width", ""))]
            for one in picture.iter(f"{SVG}rect")
            if one.get("class") == "part"
        ],
        "time": describe_parts(timeline),
        "ticks": [[float(one.get("x", "")), one.text] for one in texts if one.get("text-anchor") == "middle"],
        "marks": [
            [float(one.get("d", "M0 ")[1:].partition(" ")[0]), one[0].text]
            for one in paths
            if one.get("stroke-dasharray")
        ],
        "curve": next((one.get("d") for one in paths if one.get("fill-opacity")), None),
    }


def build_file() -> str:
    runs = {
        name: {"record": build_record(timeline), "lanes": read_lanes(timeline)}
        for name, timeline in build_runs().items()
    }
    return json.dumps(runs, indent=1, ensure_ascii=False) + "\n"


def test_lanes_of_the_picture_are_those_with_which_the_page_is_compared(request: pytest.FixtureRequest) -> None:
    written = build_file()
    if os.environ.get("WRITE_RUNS"):
        FILE.write_text(written, encoding="utf-8")
    assert written == FILE.read_text(encoding="utf-8"), (
        f"run WRITE_RUNS=1 pytest {request.node.nodeid.partition('::')[0]}"
    )
