from xml.etree import ElementTree

import numpy as np

from bench.chart import Curve, draw, plot

SVG = "{http://www.w3.org/2000/svg}"
FEW = Curve("few", [1.0, 2.0], "red")
MANY = Curve("many", [float(second) for second in range(1, 1001)], "blue", dashed=True)


def test_each_curve_rises_from_zero_to_its_total() -> None:
    (axes,) = plot("Applications", [FEW, MANY]).axes
    few, many = axes.lines
    assert np.asarray(few.get_xydata()).tolist() == [[0, 0], [1, 1], [2, 2]]
    assert np.asarray(many.get_xydata())[-1].tolist() == [1000, 1000]
    assert [line.get_linestyle() for line in (few, many)] == ["-", "--"]


def test_titles_are_svg_text() -> None:
    chart = ElementTree.fromstring(draw("a < b", [Curve("c & d", [1.0], "red")]))
    assert {"a < b", "c & d"} <= {text.text for text in chart.iter(f"{SVG}text")}


def test_equal_input_gives_an_equal_chart() -> None:
    assert draw("Applications", [FEW, MANY]) == draw("Applications", [FEW, MANY])
