from pathlib import Path

import pytest

from local_kubernetes.kubelet.node.runtime import PathMap

PATHS = PathMap({"/opt/app": Path("/S"), "/opt/app/conf/": Path("/C"), "/data": Path("/D")})


@pytest.mark.parametrize(
    ("text", "rewritten"),
    [
        ("/opt/app/conf", "/C"),
        ("/opt/app/conf/app.properties", "/C/app.properties"),
        ("/opt/app/config", "/S/config"),
        ("file:///opt/app/examples/pi.py", "file:///S/examples/pi.py"),
        ("file:/data/x,file:///data/y", "file:/D/x,file:///D/y"),
        ("-Dpath=/data:/opt/app/jars/*", "-Dpath=/D:/S/jars/*"),
        ("--input=/data", "--input=/D"),
        ('{"path": "/data"}', '{"path": "/D"}'),
    ],
)
def test_container_paths_are_rewritten_everywhere_in_a_text(text: str, rewritten: str) -> None:
    assert PATHS.rewrite(text) == rewritten


@pytest.mark.parametrize(
    "text", ["/database", "/data.csv", "/data-1", "s3a://bucket/data", "hdfs://data/x", "some/data", "~/data", ""]
)
def test_similar_paths_are_not_rewritten(text: str) -> None:
    assert PATHS.rewrite(text) == text


def test_further_folders_take_precedence() -> None:
    assert PATHS.overlay({"/data": Path("/E"), "/data/in": Path("/F")}).rewrite("/data /data/in") == "/E /F"


def test_without_folders_nothing_changes() -> None:
    assert PathMap({}).rewrite("/data") == "/data"
