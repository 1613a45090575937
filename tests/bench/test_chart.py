from xml.etree import ElementTree

from bench.chart import Curve, draw

SVG = "{http://www.w3.org/2000/svg}"


def points(curve: ElementTree.Element) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in (pair.split(",") for pair in curve.attrib["points"].split())]


def test_each_curve_climbs_from_nothing_to_its_number() -> None:
    few, many = Curve("few", [1.0, 2.0], "red"), Curve("many", [float(second) for second in range(1, 1001)], "blue")
    chart = ElementTree.fromstring(draw("Applications", [few, many]))
    short, long = (points(curve) for curve in chart.iter(f"{SVG}polyline"))
    assert len(short) == 4
    assert short[0] == long[0]
    assert long == sorted(long, key=lambda point: (point[0], -point[1]))
    assert min(y for _, y in long) < min(y for _, y in short)
    assert len(long) < 250


def test_titles_are_text() -> None:
    chart = ElementTree.fromstring(draw("a < b", [Curve("c & d", [1.0], "red")]))
    assert {"a < b", "c & d"} <= {text.text for text in chart.iter(f"{SVG}text")}
