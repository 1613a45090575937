"""A certificate authority for each cluster, and the server's certificate."""

import os
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_VALID_FOR = timedelta(days=365)
_CLOCK_SKEW = timedelta(hours=1)
_NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
_ADDRESSES = ("127.0.0.1", "::1")


@dataclass(frozen=True)
class ServerIdentity:
    """The TLS files of servers and clients.

    Args:
        ca_file: Certificate of the authority, for clients.
        certificate_file: Certificate of the server.
        key_file: Private key of the server, readable by its owner only.
    """

    ca_file: Path
    certificate_file: Path
    key_file: Path

    def build_server_context(self) -> ssl.SSLContext:
        """Return the TLS settings of the server."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(self.certificate_file, self.key_file)
        return context


def issue_identity(folder: Path) -> ServerIdentity:
    """Create an authority and a certificate for the loopback addresses in the existing directory `folder`.

    Uses ECDSA P-256, which every Kubernetes client and every Java supports. The key of the authority is not stored.

    Raises:
        OSError: The files could not be written.
    """
    authority_key = ec.generate_private_key(ec.SECP256R1())
    server_key = ec.generate_private_key(ec.SECP256R1())
    authority = _issue_authority(authority_key)
    certificate = _issue_server_certificate(server_key, authority, authority_key)
    identity = ServerIdentity(folder / "ca.crt", folder / "server.crt", folder / "server.key")
    identity.ca_file.write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    identity.certificate_file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    _write_private(identity.key_file, server_key)
    return identity


def _issue_authority(key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    name = _build_name("local-kubernetes authority")
    usage = _build_key_usage(signs_certificates=True)
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    return (
        _create_builder(name, name, key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(identifier, critical=False)
        .sign(key, hashes.SHA256())
    )


def _issue_server_certificate(
    key: ec.EllipticCurvePrivateKey, authority: x509.Certificate, authority_key: ec.EllipticCurvePrivateKey
) -> x509.Certificate:
    names: list[x509.GeneralName] = [x509.DNSName(name) for name in _NAMES]
    names += [x509.IPAddress(ip_address(address)) for address in _ADDRESSES]
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key())
    return (
        _create_builder(_build_name("kube-apiserver"), authority.subject, key.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_build_key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(issuer, critical=False)
        .sign(authority_key, hashes.SHA256())
    )


def _create_builder(
    subject: x509.Name, issuer: x509.Name, public_key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + _VALID_FOR)
    )


def _build_key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    absent = ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement")
    usage = dict.fromkeys((*absent, "encipher_only", "decipher_only"), False)
    return x509.KeyUsage(digital_signature=True, key_cert_sign=signs_certificates, crl_sign=signs_certificates, **usage)


def _build_name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _write_private(path: Path, key: ec.EllipticCurvePrivateKey) -> None:
    text = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(descriptor, 0o600)
        file.write(text)
