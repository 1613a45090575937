import base64
import ssl
from datetime import UTC, datetime, timedelta

from airflow_provider_spark_operator.reconcile.webhook import LIFETIME, Certificate, extend_bundle, issue

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HOST = "spark-operator-webhook.spark.svc"


def count_certificates(bundle: str) -> int:
    return base64.b64decode(bundle).decode().count("BEGIN CERTIFICATE")


def contains(bundle: str, certificate: Certificate) -> bool:
    return certificate.text in base64.b64decode(bundle).decode()


def test_certificate_is_added_and_other_replicas_are_kept() -> None:
    mine, theirs = issue([HOST], NOW), issue([HOST], NOW)
    bundle = extend_bundle(extend_bundle("", [theirs], NOW), [mine], NOW)
    assert contains(bundle, mine)
    assert contains(bundle, theirs)


def test_bundle_with_the_certificate_is_unchanged() -> None:
    mine = issue([HOST], NOW)
    bundle = extend_bundle(extend_bundle("", [issue([HOST], NOW)], NOW), [mine], NOW)
    assert extend_bundle(bundle, [mine], NOW) == bundle


def test_expired_certificate_is_removed() -> None:
    old = issue([HOST], NOW)
    later = NOW + LIFETIME + timedelta(seconds=1)
    mine = issue([HOST], later)
    bundle = extend_bundle(extend_bundle("", [old], NOW), [mine], later)
    assert not contains(bundle, old)
    assert contains(bundle, mine)


def test_bundle_size_is_limited_and_the_oldest_is_removed() -> None:
    bundle = ""
    issued = [issue([HOST], NOW + timedelta(seconds=number)) for number in range(20)]
    for certificate in issued:
        bundle = extend_bundle(bundle, [certificate], NOW)
    assert count_certificates(bundle) == 16
    assert [contains(bundle, certificate) for certificate in issued] == [False] * 4 + [True] * 16


def test_invalid_bundle_is_replaced() -> None:
    mine = issue([HOST], NOW)
    for nonsense in ("", "Cg==", "not base64", base64.b64encode(b"no certificate").decode()):
        assert count_certificates(extend_bundle(nonsense, [mine], NOW)) == 1


def test_repr_hides_the_private_key() -> None:
    assert "PRIVATE" not in repr(issue([HOST], NOW))


def test_certificate_is_loaded_and_no_file_remains() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    issue([HOST, "127.0.0.1"], NOW).load_into(context)
