"""Ed25519: who signs, what others know a key by, and texts that cannot be taken for one another."""

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from gossamer.core.errors import Misuse
from gossamer.live.keys import files

SHORT = 8
"Bytes of a fingerprint that name a key where all keys come from one authority."


def fingerprint(key: bytes) -> bytes:
    """What a public key (raw) is known by."""
    return sha256(key).digest()


def short(key: bytes) -> bytes:
    return fingerprint(key)[:SHORT]


def text(kind: bytes, content: bytes) -> bytes:
    """What is signed: a grant's text is never a record's, nor a batch's (wire/proof.py)."""
    return b"gossamer %b:%b" % (kind, content)


def verifier(key: bytes) -> Callable[[bytes, bytes], bool]:
    """Whether a signature (the first of the two) is this key's: reading the key once is worth it for many of them."""
    try:
        check = Ed25519PublicKey.from_public_bytes(key).verify
    except ValueError:
        return lambda signature, signed: False

    def holds(signature: bytes, signed: bytes) -> bool:
        try:
            check(signature, signed)
        except (InvalidSignature, ValueError):
            return False
        return True

    return holds


def verify(key: bytes, signature: bytes, signed: bytes) -> bool:
    return verifier(key)(signature, signed)


def read_private_key(path: Path, passphrase: bytes | None, kind: str) -> PrivateKeyTypes:
    """Whatever key is in a file; `kind` is what it should be."""
    data = files.read_private(path)
    try:
        return load_pem_private_key(data, passphrase)
    except TypeError:  # a passphrase is missing, or given where there is none
        if passphrase is not None:
            return read_private_key(path, None, kind)
        raise Misuse(f"{path} is encrypted: add --passphrase-file") from None
    except (ValueError, UnsupportedAlgorithm):
        opened = "the passphrase does not open it, or it" if passphrase else "it"
        raise Misuse(f"{path} is not {kind}: {opened} is damaged") from None


class Signer:
    """A private key, and what others know of it."""

    def __init__(self, private: Ed25519PrivateKey) -> None:
        self.private = private
        self.key = private.public_key().public_bytes_raw()
        self.short = short(self.key)
        self.sign = private.sign

    @classmethod
    def new(cls) -> "Signer":
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def read(cls, path: Path, passphrase: bytes | None = None) -> "Signer":
        private = read_private_key(path, passphrase, "a key")
        if not isinstance(private, Ed25519PrivateKey):
            raise Misuse(f"{path} is not an Ed25519 key: use the one that `gossamer keys` made")
        return cls(private)

    def write(self, path: Path, passphrase: bytes | None = None) -> None:
        locked = BestAvailableEncryption(passphrase) if passphrase else NoEncryption()
        files.write(path, self.private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, locked), private=True)
