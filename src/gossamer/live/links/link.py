"""One stream to a peer: both say hello, then frames. Who does not say who it is, and prove it, is not heard.

A frame that is none, is too large or drips in too slowly ends the link: TCP and TLS lose and change nothing, so
whoever sends such a frame means to.
"""

import asyncio
import logging
from typing import Protocol

from gossamer.core.errors import PeerFault
from gossamer.core.ids import Peer
from gossamer.live.keys.trust import Record, Trust
from gossamer.live.links.complaints import Complaints
from gossamer.live.links.conduct import Conduct
from gossamer.live.links.transports import Channel
from gossamer.live.running.clock import monotonic_us
from gossamer.live.watching.metrics import Metrics
from gossamer.wire.frame import (
    BATCH,
    EVENT_PARTS_MAX,
    FRAME_BYTES_MAX,
    HELLO,
    OLDEST,
    PART,
    VERSION,
    Batch,
    Copy,
    FrameReader,
    Hello,
    Part,
    agree,
    hello_frame,
    read_batch,
    read_hello,
    read_part,
)

log = logging.getLogger("gossamer.links")

INTRODUCED_MAX = 20_000
UNDER_WAY_MAX = 4
UNDER_WAY_BYTES = 2 * EVENT_PARTS_MAX
"Large events that may arrive in pieces at the same time on one link, and what they may come to."
TAKEN_WITHIN_S = 10.0
"Bytes that another node does not take for so long mean that it, or the way to it, is gone. A client may be slower."
ROLES = ("node", "client")


class LinkOwner(Protocol):
    """What a link asks and tells."""

    me: Peer
    trust: Trust
    metrics: Metrics
    handshake_s: float
    complaints: Complaints
    conduct: Conduct

    def refused(self, peer: Peer | None, reason: str) -> None: ...
    def hello(self) -> Hello: ...
    def greeted(self, link: "Link", hello: Hello) -> None: ...
    def lost(self, link: "Link", why: str) -> None: ...
    def drained(self, link: "Link") -> None: ...


class Receiver(Protocol):
    """Who hears what comes over a link."""

    def admit(self, hello: Hello) -> Record: ...
    def batch(self, link: "Link", batch: Batch) -> None: ...
    def large(self, link: "Link", copy: Copy | None, body: bytes) -> None: ...


class Link:
    """Listens to a channel; the owner hears how the link fares, the receiver what it says."""

    def __init__(self, owner: LinkOwner, receiver: Receiver, channel: Channel, dialed: bool) -> None:
        self.owner, self.receiver = owner, receiver
        self.channel = channel
        self.dialed = dialed
        self.reader = FrameReader()
        self.peer: Peer | None = None
        self.name = ""
        self.role = ""
        self.version = OLDEST
        self.introduced: dict[Peer, int] = {}
        "Records this link has carried, by version."
        self.closed = False
        self.held = False
        "Nothing is read from the other end for the moment."
        self.ending = False
        "One side said goodbye: nothing more is sent here, what still comes is heard."
        self.refusal = ""
        "What the other end did that ended the link, if it did."
        self.frames = 0
        self.frames_before = -1
        self.pieces: dict[int, Pieces] = {}
        loop = asyncio.get_running_loop()
        self.up: asyncio.Future[bool] = loop.create_future()
        "Whether the handshake worked, once that is known."
        self._deadline = loop.call_later(owner.handshake_s, self.refuse, "slow handshake")
        self.write(hello_frame(owner.hello()))

    # -- what the channel tells ---------------------------------------------------------------------------------

    def heard(self, data: bytes) -> None:
        self.owner.metrics.bytes_received += len(data)
        try:
            for version, kind, body in self.reader.feed(data):
                if self.closed:
                    return
                self._frame(version, kind, body)
        except PeerFault as wrong:
            self.refuse("bad frame" if self.peer is not None else "bad handshake", str(wrong))

    def drained(self) -> None:
        self.owner.drained(self)

    def lost(self, why: str) -> None:
        if not self.closed:
            self.closed = True
            self._settle(False)
            self.owner.lost(self, why)

    # -- frames -------------------------------------------------------------------------------------------------

    def _frame(self, version: int, kind: int, body: memoryview) -> None:
        self.frames += 1
        self.owner.metrics.frames_received += 1
        if self.peer is None:
            if kind != HELLO:
                raise PeerFault("the first frame is not a hello")
            self._greet(read_hello(body))
        elif version != self.version:
            raise PeerFault(f"a frame of version {version} after {self.version} was agreed")
        elif kind == BATCH:
            self.receiver.batch(self, read_batch(body))
        elif kind == PART:
            self._piece(read_part(body))
        else:
            raise PeerFault(f"a frame of unknown kind {kind}")

    def _greet(self, hello: Hello) -> None:
        ours = self.owner.hello()
        self.version = agree((OLDEST, VERSION), (hello.oldest, hello.newest))
        if hello.network != ours.network:
            raise PeerFault(f"it belongs to the network {hello.network!r}, we to {ours.network!r}")
        if hello.role == ours.role == "node" and hello.spread != ours.spread:
            raise PeerFault(f"its spread is {hello.spread!r}, ours {ours.spread!r}: all nodes must have the same")
        if hello.role not in ROLES:
            raise PeerFault(f"it is a {hello.role!r}, and nobody here knows what that is")
        record = self.receiver.admit(hello)
        if self.channel.certificate is not None:
            if not self.owner.trust.matches(record, self.owner.trust.caller(self.channel.certificate)):
                raise PeerFault("its record is not that of its certificate")
        elif self.owner.trust.contexts() is not None:
            raise PeerFault("it has no certificate")
        if hello.role == "node" and self.owner.trust.is_client(record.peer):
            raise PeerFault(f"{record.name} says it is a node, and its grant is a client's")
        if record.peer == self.owner.me and "client" not in (hello.role, ours.role):
            self.close()  # we called ourselves: a seed may be our own address
            return
        self.peer, self.name, self.role = record.peer, record.name, hello.role
        self.introduce(record.peer, record.version)
        self.reader.limit = FRAME_BYTES_MAX
        if "client" not in (hello.role, ours.role):
            self.channel.end_unless_taken(TAKEN_WITHIN_S)
        self._settle(True)
        self.owner.greeted(self, hello)

    def _piece(self, part: Part) -> None:
        """Puts large events together, within a budget: few at a time, each announced with its size."""
        if part.start == 0:
            self.pieces.pop(part.transfer, None)
            size = part.total + sum(each.total for each in self.pieces.values())
            if len(self.pieces) >= UNDER_WAY_MAX or part.total > EVENT_PARTS_MAX or size > UNDER_WAY_BYTES:
                raise PeerFault("too many large events at once, or one too large")
            self.pieces[part.transfer] = Pieces(part.copy, part.total)
        pieces = self.pieces.get(part.transfer)
        if pieces is None or not pieces.add(part):
            raise PeerFault("a piece of a large event that fits nowhere")
        if pieces.whole:
            del self.pieces[part.transfer]
            self.receiver.large(self, pieces.copy, bytes(pieces.body))

    def _settle(self, up: bool) -> None:
        self._deadline.cancel()
        if not self.up.done():
            self.up.set_result(up)

    # -- what its owner asks ------------------------------------------------------------------------------

    def introduce(self, peer: Peer, version: int) -> None:
        """Notes that a record has been carried, one way or the other."""
        self.introduced[peer] = version
        if len(self.introduced) > INTRODUCED_MAX:
            del self.introduced[next(iter(self.introduced))]

    def write(self, data: bytes) -> None:
        self.owner.metrics.bytes_sent += len(data)
        self.owner.metrics.frames_sent += 1
        self.channel.write(data)

    def decline(self, reason: str) -> None:
        """Counts what is refused without blame: the peer may not know better, or may know more."""
        self.owner.refused(self.peer, reason)

    def strike(self, reason: str, detail: str) -> None:
        """Counts what the peer should not have sent; one that goes on sending such loses the link."""
        self.owner.refused(self.peer, reason)
        log.info("refused a message of %s: %s", self.name, detail)
        if not self.owner.conduct.strikes.take((self.role, self.peer), monotonic_us()):
            self.refuse("too many refusals", detail)

    def may_check(self) -> bool:
        """Whether one more signature is looked at for this peer now."""
        return self.owner.conduct.checks.take((self.role, self.peer), monotonic_us())

    def blame(self, who: Peer, reason: str, detail: str) -> None:
        """Refuses what is `who`'s fault; a peer that only passes it on may not know."""
        if self.peer == who:
            self.strike(reason, detail)
        else:
            self.decline(reason)

    def refuse(self, reason: str, detail: str = "") -> None:
        """Ends the link because of what the peer did."""
        if not self.closed:
            self.owner.refused(self.peer, reason)
            self.refusal = detail or reason
            where = self.channel.where
            is_new = self.owner.complaints.is_new(self.name or where.rpartition(":")[0], self.refusal)
            level = logging.WARNING if is_new else logging.INFO
            log.log(level, "closed the link to %s: %s", self.name or where, self.refusal)
            self.lost(reason)
            self.channel.abort()

    def hold(self, held: bool) -> None:
        """Stops reading from the other end for a while, or goes on."""
        if held != self.held:
            self.held = held
            self.channel.pause(held)

    def close(self) -> None:
        """Ends the link once everything written has left."""
        self.ending = True
        self._settle(False)
        self.channel.close()

    @property
    def was_heard(self) -> bool:
        """Whether the other end said more than hello."""
        return self.frames > 1

    def drips(self) -> bool:
        """Asked now and then: whether one and the same frame, or piece, has been coming in since the last time."""
        under_way = self.reader.unfinished or len(self.pieces) > 0
        stuck = under_way and not self.held and self.frames == self.frames_before
        self.frames_before = self.frames
        return stuck


class Pieces:
    """A large event on its way in. Pieces come in order: the link keeps it."""

    def __init__(self, copy: Copy | None, total: int) -> None:
        self.copy = copy
        self.total = total
        self.body = bytearray()

    def add(self, part: Part) -> bool:
        if part.start != len(self.body) or part.total != self.total or len(self.body) + len(part.piece) > self.total:
            return False
        self.body += part.piece
        return len(part.piece) > 0

    @property
    def whole(self) -> bool:
        return len(self.body) == self.total
