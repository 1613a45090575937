import base64
import ssl
from datetime import UTC, datetime, timedelta

from airflow_provider_spark_operator.reconcile.webhook_certificate import LIFETIME, Certificate, extend_bundle, issue

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HOST = "spark-operator-webhook.spark.svc"


def texts(bundle: str) -> int:
    return base64.b64decode(bundle).decode().count("BEGIN CERTIFICATE")


def holds(bundle: str, certificate: Certificate) -> bool:
    return certificate.text in base64.b64decode(bundle).decode()


def test_a_bundle_gets_the_certificate_and_keeps_that_of_another_replica() -> None:
    mine, theirs = issue([HOST], NOW), issue([HOST], NOW)
    bundle = extend_bundle(extend_bundle("", [theirs], NOW), [mine], NOW)
    assert holds(bundle, mine)
    assert holds(bundle, theirs)


def test_a_bundle_that_holds_the_certificate_stays_as_it_is() -> None:
    mine = issue([HOST], NOW)
    bundle = extend_bundle(extend_bundle("", [issue([HOST], NOW)], NOW), [mine], NOW)
    assert extend_bundle(bundle, [mine], NOW) == bundle


def test_what_has_ended_goes() -> None:
    old = issue([HOST], NOW)
    later = NOW + LIFETIME + timedelta(seconds=1)
    mine = issue([HOST], later)
    bundle = extend_bundle(extend_bundle("", [old], NOW), [mine], later)
    assert not holds(bundle, old)
    assert holds(bundle, mine)


def test_a_bundle_does_not_grow_without_end_and_loses_the_oldest_first() -> None:
    bundle = ""
    issued = [issue([HOST], NOW + timedelta(seconds=number)) for number in range(20)]
    for certificate in issued:
        bundle = extend_bundle(bundle, [certificate], NOW)
    assert texts(bundle) == 16
    assert [holds(bundle, certificate) for certificate in issued] == [False] * 4 + [True] * 16


def test_what_is_no_bundle_is_replaced() -> None:
    mine = issue([HOST], NOW)
    for nonsense in ("", "Cg==", "not base64", base64.b64encode(b"no certificate").decode()):
        assert texts(extend_bundle(nonsense, [mine], NOW)) == 1


def test_a_key_is_not_shown() -> None:
    assert "PRIVATE" not in repr(issue([HOST], NOW))


def test_a_certificate_can_be_served_and_leaves_no_file() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    issue([HOST, "127.0.0.1"], NOW).load_into(context)
