"""X.509, as little of it as TLS needs: an authority's own certificate, and those it issues to nodes."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from gossamer.core.errors import Misuse, PeerFault
from gossamer.live.keys import files
from gossamer.live.keys.grants import SKEW_S, Grant
from gossamer.live.keys.signing import Signer, short
from gossamer.live.keys.trust import Caller, Name

AUTHORITY_DAYS = 20 * 365
BUNDLE_MAX = 8


def authority_certificate(network: str, authority: Signer, now_s: float) -> x509.Certificate:
    """The authority in its own words. Each has its own name: TLS looks issuers up by it."""
    return _signed(
        _authority_name(network, authority.key),
        authority.private.public_key(),
        (now_s - 86400, now_s + AUTHORITY_DAYS * 86400),
        x509.BasicConstraints(ca=True, path_length=0),
        _authority_name(network, authority.key),
        authority,
    )


def node_certificate(grant: Grant, authority: Signer) -> bytes:
    """For the key of a grant, as PEM. TLS knows no skew, so it is allowed for here."""
    issued = _signed(
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, grant.node)]),
        Ed25519PublicKey.from_public_bytes(grant.key),
        (grant.not_before_s - SKEW_S, grant.not_after_s + SKEW_S),
        x509.BasicConstraints(ca=False, path_length=None),
        _authority_name(grant.network, authority.key),
        authority,
    )
    return issued.public_bytes(Encoding.PEM)


def _authority_name(network: str, key: bytes) -> x509.Name:
    unit = x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, f"authority {short(key).hex()}")
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, network), unit])


def _signed(
    subject: x509.Name,
    key: Ed25519PublicKey,
    valid_s: tuple[float, float],
    constraints: x509.BasicConstraints,
    issuer: x509.Name,
    authority: Signer,
) -> x509.Certificate:
    ca = constraints.ca
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(_moment(valid_s[0]))
        .not_valid_after(_moment(valid_s[1]))
        .add_extension(constraints, critical=True)
        .add_extension(_usage(ca), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.private.public_key()), critical=False
        )
    )
    if not ca:
        both = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        builder = builder.add_extension(x509.ExtendedKeyUsage(both), critical=False)
    return builder.sign(authority.private, None)


def _usage(ca: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not ca,
        key_cert_sign=ca,
        crl_sign=ca,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _moment(seconds: float) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=max(0, int(seconds)))


def bundle(certificates: list[x509.Certificate]) -> bytes:
    return b"".join(each.public_bytes(Encoding.PEM) for each in certificates)


def read_bundle(path: Path) -> list[x509.Certificate]:
    """The authorities a network trusts."""
    try:
        found = x509.load_pem_x509_certificates(files.read(path))
        for each in found:
            key_of(each)
    except (ValueError, x509.InvalidVersion, UnsupportedAlgorithm, PeerFault):
        raise Misuse(f"{path} is damaged: copy the one of the network's folder") from None
    if len(found) > BUNDLE_MAX:
        raise Misuse(f"{path} has {len(found)} certificates: {BUNDLE_MAX} at most, and two are enough")
    return found


def read_caller(path: Path) -> Caller:
    """Whom a node's certificate file belongs to."""
    try:
        return caller(x509.load_pem_x509_certificate(files.read(path)).public_bytes(Encoding.DER))
    except (ValueError, x509.InvalidVersion, PeerFault):
        raise Misuse(f"{path} is damaged: run gossamer keys grant for this node again") from None


def caller(der: bytes) -> Caller:
    """Whom a certificate belongs to; PeerFault for one that no authority of ours would have issued."""
    try:
        certificate = x509.load_der_x509_certificate(der)
        (name,) = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        return Caller(msgspec.convert(name.value, Name), key_of(certificate))
    except (ValueError, TypeError, x509.InvalidVersion, UnsupportedAlgorithm, UserWarning) as wrong:
        raise PeerFault(f"not a node's certificate: {wrong}") from None


def key_of(certificate: x509.Certificate) -> bytes:
    key = certificate.public_key()
    if not isinstance(key, Ed25519PublicKey):
        raise PeerFault("a certificate without an Ed25519 key")
    return key.public_bytes_raw()
