"""The key that audits: nodes seal the attributes of their events to its public half, and nobody without the other half
reads them in a trace.

X25519: each file of a trace is sealed by a pair of its own, whose secret half is forgotten when the file's key has been
made. So who breaks into a node finds the key of the file being written, and no other. Rows are sealed by
ChaCha20-Poly1305, each under its number, with the event it is about.
"""

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from cryptography.exceptions import InvalidTag, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_public_key,
)
from msgspec import Struct

from gossamer.core.errors import Misuse
from gossamer.core.ids import EventId
from gossamer.core.trace import Head
from gossamer.live.keys import files
from gossamer.live.keys.signing import read_private_key, short
from gossamer.wire.values import KeptValues

KEY = "audit.key"
"The secret half, which no node needs."
NONCE = 12


class AuditKey:
    """Both halves."""

    def __init__(self, private: X25519PrivateKey) -> None:
        self._private = private
        self.public = private.public_key().public_bytes_raw()
        self.short = short(self.public)

    @classmethod
    def new(cls) -> "AuditKey":
        return cls(X25519PrivateKey.generate())

    @classmethod
    def read(cls, path: Path, passphrase: bytes | None = None) -> "AuditKey":
        private = read_private_key(path, passphrase, "a key that audits")
        if not isinstance(private, X25519PrivateKey):
            raise Misuse(f"{path} is not a key that audits: name the {KEY} that `gossamer keys audit` made")
        return cls(private)

    def write(self, path: Path, passphrase: bytes | None = None) -> None:
        locked = BestAvailableEncryption(passphrase) if passphrase else NoEncryption()
        files.write(path, self._private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, locked), private=True)

    def write_public(self, path: Path) -> None:
        key = self._private.public_key()
        files.write(path, key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))

    def key_of_rows(self, sealed_by: bytes) -> bytes | None:
        """What the rows of a file are sealed with; None: that is no public half."""
        try:
            shared = self._private.exchange(X25519PublicKey.from_public_bytes(sealed_by))
        except ValueError:
            return None
        return derived(shared, sealed_by, self.public)


def read_public(path: Path) -> bytes:
    """The public half, raw."""
    wrong = Misuse(
        f"{path} is not the public half of a key that audits: copy the {files.AUDIT_PUBLIC} of the network's folder"
    )
    try:
        key = load_pem_public_key(files.read(path))
    except (ValueError, UnsupportedAlgorithm):
        raise wrong from None
    if not isinstance(key, X25519PublicKey):
        raise wrong
    raw = key.public_bytes_raw()
    try:
        FileSealer(raw)
    except ValueError:  # a point by which anybody could open
        raise wrong from None
    return raw


def derived(shared: bytes, sealed_by: bytes, sealed_to: bytes) -> bytes:
    return HKDF(SHA256(), 32, None, b"gossamer trace:" + sealed_by + sealed_to).derive(shared)


class FileSealer:
    """Seals the rows of one file of a trace to the key that audits."""

    def __init__(self, public: bytes) -> None:
        own = X25519PrivateKey.generate()
        self.sealed_to, self.sealed_by = short(public), own.public_key().public_bytes_raw()
        shared = own.exchange(X25519PublicKey.from_public_bytes(public))
        self._rows = ChaCha20Poly1305(derived(shared, self.sealed_by, public))

    def seal(self, seq: int, event: EventId, data: bytes) -> bytes:
        return self._rows.encrypt(nonce(seq), data, about(event))


class FileKeys(Struct, frozen=True):
    """Keys of the files an audit reads: they go to those who do the work, and the key that audits stays at home."""

    keys: dict[bytes, bytes]
    "By the public half each file's head tells."
    opens: frozenset[bytes]
    "What the keys that audit are known by."

    def __repr__(self) -> str:
        return f"the keys of {len(self.keys)} files"  # and not they themselves, wherever that is written

    def fits(self, kept: KeptValues) -> bool:
        return kept.sealed_to in self.opens

    def open(self, kept: KeptValues, event: EventId) -> bytes | None:
        key = self.keys.get(kept.sealed_by)
        if key is None or kept.seq < 0:
            return None
        try:
            return cipher(key).decrypt(nonce(kept.seq), kept.data, about(event))
        except InvalidTag:
            return None


def keys_of_files(audits: Iterable[AuditKey], heads: Iterable[Head]) -> FileKeys:
    """The keys of these files, as far as they are sealed to one of these."""
    by_short = {each.short: each for each in audits}
    found = dict[bytes, bytes]()
    for head in heads:
        audit = by_short.get(head.sealed_to)
        if audit is not None and head.sealed_by not in found:
            key = audit.key_of_rows(head.sealed_by)
            if key is not None:
                found[head.sealed_by] = key
    return FileKeys(found, frozenset(by_short))


@lru_cache(maxsize=1024)
def cipher(key: bytes) -> ChaCha20Poly1305:
    return ChaCha20Poly1305(key)


def nonce(seq: int) -> bytes:
    """A row's number: no other row of its file has it."""
    return seq.to_bytes(NONCE, "little")


def about(event: EventId) -> bytes:
    """A row opens only beside the event it was written of."""
    return b"%d-%d-%d" % (event.publisher, event.incarnation, event.sequence)
