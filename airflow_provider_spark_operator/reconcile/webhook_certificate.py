"""Self-signed certificates of the webhook: how they are made, and the bundle by which the API server believes them.

Each process has a key of its own, which never leaves it; the bundle holds the certificates of all that run.
"""

import base64
import binascii
import os
import ssl
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = timedelta(days=30)
RENEWED_AFTER = timedelta(days=20)
_CLOCK_SKEW = timedelta(hours=1)
# Starts of a process that is killed over and over; the certificates of those that live are put back if they fall out.
_MOST_IN_BUNDLE = 16


@dataclass(frozen=True)
class Certificate:
    """A certificate and its key.

    Attributes:
        hosts: the names and addresses that it is for.
        text: the certificate, PEM.
        key: its private key, PEM; never shown.
        renewed_at: when another should take its place.
    """

    hosts: frozenset[str]
    text: str
    key: bytes = field(repr=False)
    renewed_at: datetime

    def load_into(self, context: ssl.SSLContext) -> None:
        """Have the server show it to those who connect from now on."""
        # The standard library reads certificates from files only.
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "webhook.pem"
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(self.key + self.text.encode())
            context.load_cert_chain(path)


def issue(hosts: Iterable[str], now: datetime) -> Certificate:
    """Make a certificate for `hosts` that is valid for `LIFETIME` from `now` (UTC)."""
    names = frozenset(hosts)
    key = ec.generate_private_key(ec.SECP256R1())
    serial = x509.random_serial_number()
    # Who looks for the issuer by its name must not find another of us; for whom it is say the alternative names.
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"spark-operator webhook {serial:x}"[:64])])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(serial)
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + LIFETIME)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_alternative(name) for name in sorted(names)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return Certificate(names, _pem(certificate), private, now + RENEWED_AFTER)


def bundle_with(bundle: str, wanted: Iterable[Certificate], now: datetime) -> str:
    """A `caBundle` (base64 of PEM) that holds `wanted`, the others' that are still valid, and no more.

    The same text where nothing is missing and nothing has ended.
    """
    texts = [certificate.text for certificate in wanted]
    parsed = _certificates(bundle)
    valid = sorted(
        (each for each in parsed if each.not_valid_after_utc > now), key=lambda each: each.not_valid_before_utc
    )
    others = [text for each in valid if (text := _pem(each)) not in texts]
    kept = others[-(_MOST_IN_BUNDLE - len(texts)) :]
    known = {_pem(each) for each in parsed}
    if known == {*texts, *kept}:
        return bundle
    return base64.b64encode("".join((*kept, *texts)).encode()).decode()


def _certificates(bundle: str) -> list[x509.Certificate]:
    """What can be read of a bundle; what is none is as good as not there."""
    try:
        return x509.load_pem_x509_certificates(base64.b64decode(bundle, validate=True))
    except (ValueError, binascii.Error):
        return []


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()
