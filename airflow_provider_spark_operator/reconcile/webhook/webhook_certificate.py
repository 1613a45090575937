"""Self-signed certificates of the webhook, and the CA bundle by which the API server trusts them.

Each process has its own key, which never leaves it; the bundle holds the certificates of all running processes.
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
# A process that restarts repeatedly must not grow the bundle. A running process adds its certificate again.
_MAX_IN_BUNDLE = 16


@dataclass(frozen=True)
class Certificate:
    """A certificate and its key.

    Attributes:
        hosts: The names and addresses that it is valid for.
        text: The certificate, as PEM.
        key: The private key, as PEM; never shown.
        renewed_at: The time at which it must be replaced.
    """

    hosts: frozenset[str]
    text: str
    key: bytes = field(repr=False)
    renewed_at: datetime

    def load_into(self, context: ssl.SSLContext) -> None:
        """Use the certificate for new connections of the server."""
        # The standard library reads certificates from files only.
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "webhook.pem"
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(self.key + self.text.encode())
            context.load_cert_chain(path)


def issue(hosts: Iterable[str], now: datetime) -> Certificate:
    """Create a certificate for `hosts` that is valid for `LIFETIME` from `now` (UTC)."""
    names = frozenset(hosts)
    key = ec.generate_private_key(ec.SECP256R1())
    serial = x509.random_serial_number()
    # The subject is unique, so that the certificate of another process is never taken for the issuer.
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"spark-operator webhook {serial:x}"[:64])])
    alternatives = [_build_alternative_name(name) for name in sorted(names)]
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
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return Certificate(names, _format_pem(certificate), private, now + RENEWED_AFTER)


def extend_bundle(bundle: str, wanted: Iterable[Certificate], now: datetime) -> str:
    """Build the `caBundle` (base64 of PEM) with `wanted` and the valid certificates of other processes.

    The same text is returned if nothing is missing and nothing has expired.
    """
    texts = [certificate.text for certificate in wanted]
    parsed = _parse_bundle(bundle)
    valid = sorted(
        (each for each in parsed if each.not_valid_after_utc > now), key=lambda each: each.not_valid_before_utc
    )
    others = [text for each in valid if (text := _format_pem(each)) not in texts]
    kept = others[-(_MAX_IN_BUNDLE - len(texts)) :]
    known = {_format_pem(each) for each in parsed}
    if known == {*texts, *kept}:
        return bundle
    return base64.b64encode("".join((*kept, *texts)).encode()).decode()


def _parse_bundle(bundle: str) -> list[x509.Certificate]:
    """Parse a bundle; an invalid bundle counts as empty."""
    try:
        return x509.load_pem_x509_certificates(base64.b64decode(bundle, validate=True))
    except (ValueError, binascii.Error):
        return []


def _build_alternative_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _format_pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()
