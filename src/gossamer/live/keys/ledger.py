"""The authority's memory: every grant ever issued, a line each, so that all keys of a node can be revoked."""

import os
from pathlib import Path

import msgspec
from msgspec import Struct

from gossamer.core.errors import Misuse
from gossamer.core.ids import peer_of
from gossamer.live.keys import files
from gossamer.live.keys.grants import Grant
from gossamer.live.keys.signing import fingerprint
from gossamer.protocols.hpmcast.addresses import written

SIZE_MAX = 1 << 28


class Issued(Struct, frozen=True):
    """A grant as people read it."""

    node: str
    key: str
    "The node's public key, raw, in hexadecimal."
    publish: tuple[str, ...]
    subscribe: tuple[str, ...]
    not_before_s: int
    not_after_s: int
    owner: str
    serial: int
    authority: str
    "The short form of the key of the authority that signed it."
    address: str = ""
    client: bool = False

    @classmethod
    def of(cls, grant: Grant, authority: bytes) -> "Issued":
        return cls(
            grant.node,
            grant.key.hex(),
            grant.publish,
            grant.subscribe,
            grant.not_before_s,
            grant.not_after_s,
            grant.owner,
            grant.serial,
            authority.hex(),
            written(grant.address),
            grant.client,
        )

    @property
    def fingerprint(self) -> bytes:
        return fingerprint(bytes.fromhex(self.key))


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Issued)


class Ledger:
    """Lines are only ever added. One that a crash cut short was never acted upon, and is dropped."""

    def __init__(self, path: Path) -> None:
        self.path = path
        data = files.read(path, SIZE_MAX) if path.exists() else b""
        self.whole = data.rfind(b"\n") + 1
        "Bytes of the file that are whole lines."
        self.entries = [self._read(number, line) for number, line in enumerate(data[: self.whole].splitlines(), 1)]

    def _read(self, number: int, line: bytes) -> Issued:
        try:
            return _decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise Misuse(f"{self.path} is damaged in line {number}: restore it from a copy") from None

    def add(self, issued: Issued) -> None:
        line = _encoder.encode(issued) + b"\n"
        new = not self.path.exists()
        try:
            with self.path.open("xb" if new else "r+b") as file:
                file.truncate(self.whole)
                file.seek(self.whole)
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
            if new:
                files.settle(self.path.parent)
        except OSError as wrong:
            raise Misuse(f"cannot write {self.path}: {wrong.strerror}") from None
        self.whole += len(line)
        self.entries.append(issued)

    def newest(self) -> dict[str, Issued]:
        """The grant that counts, by node."""
        found: dict[str, Issued] = {}
        for each in self.entries:
            if each.node not in found or found[each.node].serial < each.serial:
                found[each.node] = each
        return found

    def refuse_twin(self, node: str) -> None:
        """No two names may stand for one peer, nor for one folder where large and small letters are the same."""
        for other in dict.fromkeys(each.node for each in self.entries):
            if other != node and (peer_of(other) == peer_of(node) or other.casefold() == node.casefold()):
                raise Misuse(f"{node} could be taken for {other}, which has a grant: choose another name")

    def last_day(self, key: bytes) -> int:
        """Until when anything issued to a key (by fingerprint) is good, in seconds; 0: nothing was."""
        return max((each.not_after_s for each in self.entries if each.fingerprint == key), default=0)
