"""Where peers stand: their grants, found genuine, newest first. Dates and revocations are looked at when it matters."""

from collections.abc import Container
from typing import Generic, TypeVar

from msgspec import Struct

from gossamer.core.ids import Peer
from gossamer.live.keys.grants import Grant
from gossamer.live.keys.signing import SHORT, fingerprint

GRANTS_MAX = 8
"Of one peer: the newest is the only one that counts; what it signed under an earlier key may still be on its way."
PEERS_MAX = 50_000
"Only the authority can add to them; whoever was heard of longest ago is forgotten first."
REMEMBERED = 10_000

Answer = TypeVar("Answer")


class Held(Struct, frozen=True):
    """A genuine grant."""

    grant: Grant
    authority: bytes
    "Short form of the key of the authority that signed it."
    fingerprint: bytes
    "Of the node's key."
    short: bytes
    "Its first bytes, which proofs name it by."

    @classmethod
    def of(cls, grant: Grant, authority: bytes) -> "Held":
        known_by = fingerprint(grant.key)
        return cls(grant, authority, known_by, known_by[:SHORT])


class Standing:
    """Everybody's grants."""

    def __init__(self) -> None:
        self._peers: dict[Peer, tuple[Held, ...]] = {}

    def of(self, peer: Peer) -> tuple[Held, ...]:
        """Newest first; none: nobody vouched for this peer."""
        return self._peers.get(peer, ())

    def add(self, peer: Peer, held: Held) -> None:
        before = self._peers.pop(peer, ())  # and in again at the end: heard of last
        if held not in before:
            before = tuple(sorted((held, *before), key=lambda each: -each.grant.serial)[:GRANTS_MAX])
        self._peers[peer] = before
        if len(self._peers) > PEERS_MAX:
            del self._peers[next(iter(self._peers))]

    def keep_only(self, authorities: Container[bytes]) -> None:
        """Forgets what a retired authority signed."""
        for peer, grants in list(self._peers.items()):
            if kept := tuple(each for each in grants if each.authority in authorities):
                self._peers[peer] = kept
            else:
                del self._peers[peer]


class Memory(Generic[Answer]):
    """Answers that were costly to find, by a hash of the question; the oldest give way."""

    def __init__(self) -> None:
        self._answers: dict[bytes, Answer] = {}
        self.get = self._answers.get
        self.clear = self._answers.clear

    def __len__(self) -> int:
        return len(self._answers)

    def put(self, question: bytes, answer: Answer) -> Answer:
        self._answers[question] = answer
        if len(self._answers) > REMEMBERED:
            del self._answers[next(iter(self._answers))]
        return answer
