"""The entries: whoever lacks one, or has an older one, asks; whoever has it tells. An entry is changed by nobody but
the node it is about."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache

from msgspec import Struct

from gossamer.core.draws import JOIN, fold
from gossamer.core.ids import Peer
from gossamer.core.layer import Bound, Handler, Layer
from gossamer.core.stack import Stack
from gossamer.parts.bucket import Buckets
from gossamer.parts.own_wants import OwnWants
from gossamer.parts.wants import Wants
from gossamer.protocols.interests.messages import AGE_MS_MAX, ASKED_MAX, AskWants, Entry, Mark, TellWants
from gossamer.protocols.interests.view import KnownInterests

READ_PER_S, READ_BURST = 200_000, 2_000_000
"Bytes of entries that are read for one peer, and as many are sent to it: a short question has a long answer."
TELL_BYTES = 65_536
"Of entries in one message; the last one may exceed it."
OVERHEAD = 64
"Bytes of an entry beside its wants, about."
ASKED_AGAIN_US = 500_000
"How long an answer may take before the same peer is asked again."
OPEN_MAX, OPEN_OF_PEER = 1024, 128
"Nodes that are asked about at a time, and of how many of them one peer is asked."
HOLDERS_MAX = 3
"Peers that are asked about the same node: one that names it and never tells must not keep us from asking others."
READ_MAX, SHORT = 1024, 1024
"Wants that are read only once, however many tell them, and how many bytes they may have."
LIFE_MAX = 2**63 - 1

_read_once = lru_cache(READ_MAX)(Wants.read)


class Entries(Layer):
    """This node's own entry, and those of the view."""

    def __init__(self, node: Stack, view: KnownInterests, own: OwnWants, learned: Callable[[Peer], None]) -> None:
        super().__init__(node)
        self.view = view
        self.own = own
        self.learned = learned
        "Called when there is news of a node, this one included: others know of a later life of it, which it outlived."
        self.incarnation = self.version = 0
        self.asked: dict[Peer, dict[Peer, int]] = {}
        "Nodes asked about, and until when each who was asked may answer."
        self.count = 0
        self.reading = Buckets(READ_PER_S, READ_BURST)
        self.telling = Buckets(READ_PER_S, READ_BURST)

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {AskWants: self.on_ask, TellWants: self.on_tell}

    def bounds(self) -> Iterator[Bound]:
        yield "nodes asked about", len(self.asked), OPEN_MAX

    @property
    def stamp(self) -> tuple[int, int]:
        return self.incarnation, self.version

    # -- asking -------------------------------------------------------------------------------------------------

    def ask(self, peer: Peer, marks: Sequence[Mark], forget_us: int, strangers: int) -> None:
        """Asks for entries of nodes that were named and that this node lacks, if there is room; of `strangers`, even if
        there is none. Of all others the ages are taken over."""
        now_us = self.node.now_us
        self.close(now_us)
        room = min(ASKED_MAX, OPEN_OF_PEER - sum(peer in holders for holders in self.asked.values()))
        wanted: list[Peer] = []
        for mark in marks:
            age_us = 0 if mark.peer == peer else mark.age_ms * 1000
            self.view.heard(mark.peer, now_us - age_us)
            if age_us > forget_us or not self.may_ask(peer, mark.peer) or not self.is_news(mark):
                continue
            if mark.peer not in self.view.known and not self.view.welcomes(mark.peer):
                strangers -= 1
                if strangers < 0:
                    continue
            wanted.append(mark.peer)
        if wanted := wanted[: max(0, room)]:
            for who in wanted:
                self.asked.setdefault(who, {})[peer] = now_us + ASKED_AGAIN_US
            self.out.send([peer], AskWants(tuple(wanted)))

    def close(self, now_us: int) -> None:
        """Forgets questions that were not answered in time."""
        for who, holders in tuple(self.asked.items()):
            for holder in [holder for holder, until_us in holders.items() if until_us <= now_us]:
                del holders[holder]
            if not holders:
                del self.asked[who]

    def may_ask(self, peer: Peer, about: Peer) -> bool:
        holders = self.asked.get(about)
        if holders is None:
            return len(self.asked) < OPEN_MAX
        return peer not in holders and len(holders) < HOLDERS_MAX

    def is_news(self, mark: Mark) -> bool:
        if mark.peer == self.node.me:
            return mark.stamp > self.stamp  # of a former life, whose clock was ahead
        return self.view.is_news(mark, self.node.now_us)

    def on_tell(self, peer: Peer, tell: TellWants) -> None:
        for entry in tell.entries:
            who = entry.mark.peer
            if who not in self.asked or not self.is_news(entry.mark):
                continue  # nobody asked for it: it may be meant to fill our view
            if not self.reading.take(peer, self.node.now_us, OVERHEAD + len(entry.wants)):
                self.out.note("reject", peer=peer, detail="too many requests")
                return
            del self.asked[who]
            self.learn(peer, entry)

    def learn(self, peer: Peer, entry: Entry) -> None:
        who, now_us = entry.mark.peer, self.node.now_us
        wants = read(entry.wants)
        if wants is None:
            self.out.note("reject", peer=peer, detail="bad message")
            return
        if who == self.node.me:
            self.incarnation = min(entry.mark.incarnation + 1, LIFE_MAX)
        else:
            age_us = 0 if who == peer else entry.mark.age_ms * 1000
            self.count += 1
            key = self.node.key(JOIN, ~fold(now_us, self.count))
            self.view.take(entry, wants, now_us - age_us, self.node.owners, key)
        self.learned(who)

    # -- telling ------------------------------------------------------------------------------------------------

    def on_ask(self, peer: Peer, ask: AskWants) -> None:
        entries, size = [], 0
        for each in dict.fromkeys(ask.peers):
            entry = self.entry(each)
            if entry is None:
                continue
            cost = OVERHEAD + len(entry.wants)
            if not self.telling.take(peer, self.node.now_us, cost):
                self.out.note("reject", peer=peer, detail="too many requests")
                break
            entries.append(entry)
            size += cost
            if size > TELL_BYTES:
                self.out.send([peer], TellWants(tuple(entries)))
                entries, size = [], 0
        if entries:
            self.out.send([peer], TellWants(tuple(entries)))

    def entry(self, peer: Peer) -> Entry | None:
        """A node's entry with its age by now."""
        if peer == self.node.me:
            return Entry(self.mark(peer), self.own.now().packed)
        known = self.view.known.get(peer)
        return None if known is None else Entry(self.mark(peer), known.entry.wants, known.entry.seal)

    def mark(self, peer: Peer) -> Mark:
        if peer == self.node.me:
            return Mark(peer, self.incarnation, self.version)
        known = self.view.known[peer]
        age_ms = max(0, self.node.now_us - known.heard_us) // 1000
        return Mark(peer, known.entry.mark.incarnation, known.entry.mark.version, min(AGE_MS_MAX, age_ms))


def read(packed: bytes) -> Wants | None:
    return _read_once(packed) if len(packed) <= SHORT else Wants.read(packed)
