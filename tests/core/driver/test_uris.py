import pytest

from airflow_provider_spark_operator.core.driver.uris import file_path, file_uri, is_local, resolved, without_alias


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
def test_what_is_no_uri_is_a_path(reference: str, uri: str) -> None:
    assert resolved(reference, "/home/me") == uri


def test_a_path_and_its_uri_lead_to_each_other() -> None:
    for path in ("/a b", "/100%", "/a#b?c", "/ü→字", "/[1]{2}^`|"):
        assert file_path(file_uri(path)) == path
    assert file_path("file:///a%20b?query#alias") == "/a b"
    assert file_path("local:///a") is None
    assert file_path("https://h/a") is None


def test_an_alias_is_what_follows_the_hash() -> None:
    assert without_alias("file:/a.zip#env") == ("file:/a.zip", "env")
    assert without_alias("file:/a.zip#") == ("file:/a.zip", "")
    assert without_alias("file:/a.zip") == ("file:/a.zip", "")


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
