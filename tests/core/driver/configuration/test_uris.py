import pytest

from airflow_provider_spark_operator.core.driver.configuration.uris import (
    build_file_uri,
    get_file_path,
    is_local,
    resolve_reference,
    split_alias,
)


@pytest.mark.parametrize(
    ("reference", "uri"),
    [
        ("/a/b.jar", "file:/a/b.jar"),
        ("b.jar", "file:/home/me/b.jar"),
        ("/a b.jar", "file:/a%20b.jar"),
        ("/a%20b.jar", "file:/a%2520b.jar"),
        ("/a.zip#env", "file:/a.zip#env"),
        ("/a%20b.zip#env", "file:/a%20b.zip#env"),
        ("/a.zip#two words", "file:/a.zip%23two%20words"),
        ("file:/a.jar", "file:/a.jar"),
        ("file:///a%20b.jar", "file:///a%20b.jar"),
        ("https://h:1/a?b=c#d", "https://h:1/a?b=c#d"),
        ("https://h/ü", "https://h/ü"),
        ("local:///a", "local:///a"),
        ("https://h/a b", "file:/home/me/https://h/a%20b"),
        ("%zz", "file:/home/me/%25zz"),
    ],
)
def test_reference_that_is_not_a_uri_is_a_path(reference: str, uri: str) -> None:
    assert resolve_reference(reference, "/home/me") == uri


def test_path_is_converted_to_uri_and_back() -> None:
    for path in ("/a b", "/100%", "/a#b?c", "/ü→字", "/[1]{2}^`|"):
        assert get_file_path(build_file_uri(path)) == path
    assert get_file_path("file:///a%20b?query#alias") == "/a b"
    assert get_file_path("local:///a") is None
    assert get_file_path("https://h/a") is None


def test_alias_is_the_fragment() -> None:
    assert split_alias("file:/a.zip#env") == ("file:/a.zip", "env")
    assert split_alias("file:/a.zip#") == ("file:/a.zip", "")
    assert split_alias("file:/a.zip") == ("file:/a.zip", "")


@pytest.mark.parametrize(
    ("uri", "local"),
    [
        ("job.py", True),
        ("/opt/job.py", True),
        ("/opt/a:b.py", True),
        ("1:2", True),
        ("file:///job.py", True),
        ("file:/job.py", True),
        ("local:///job.py", False),
        ("s3a://b/a", False),
        ("spark-internal", False),
    ],
)
def test_path_without_scheme_is_local(uri: str, local: bool) -> None:
    assert is_local(uri) is local
