"""The interest view, gossiped: some of the other nodes, with what they want (002, section 2.2; after lpbcast).

Every turn a node tells a few others which entries it has, its own first, and they answer alike; whoever lacks one, or
has an older one, asks for it. So what nodes want travels only when it changes, and ages travel all the time: a node of
which nobody hears any more is forgotten everywhere. An entry is changed by nobody but the node it is about.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from msgspec import Struct

from gossamer.core.draws import JOIN, TICK, chance, distinct, fold
from gossamer.core.ids import Peer
from gossamer.core.stack import Handler, Layer, Stack
from gossamer.core.topics import Topic
from gossamer.parts.bucket import Buckets
from gossamer.parts.wants import Spell, Wants
from gossamer.protocols.interests.messages import AGE_MS_MAX, ASKED_MAX, Ask, Digest, Entry, Gone, Mark, Tell
from gossamer.protocols.interests.params import Params
from gossamer.protocols.interests.ring import position_of_topic
from gossamer.protocols.interests.view import REMEMBERED, View

HURRIED = 10
"Turns that come faster after a node came, or its own interest changed."
FAR_EVERY = 8
"One turn in so many, a node given up or known from the start is told too, or parts of a network would stay apart."
FRESH_TOLD = 8
"Times a change is named before others: as often as it takes to reach everybody if each tells two more."
FRESH_MAX = 256
SILENT_ASKED = 8
"Nodes that owe an answer and are asked again, sooner than all others."
DIGESTS_PER_S, DIGESTS_BURST = 50, 500
"Digests of one peer that are heard."
READ_PER_S, READ_BURST = 200_000, 2_000_000
"Bytes of entries that are read for one peer, and as many are sent to it: a short question has a long answer."
TELL_BYTES = 65_536
"Of entries in one message; the last one may exceed it."
ASKED_AGAIN_US = 500_000
"How long an answer may take before somebody else is asked."
OVERHEAD = 64
"Bytes of an entry beside its wants, about."


READ_MAX = 1024
"Wants that are read only once, however many tell them."

read = lru_cache(READ_MAX)(Wants.read)


class Turn(Struct, frozen=True):
    """Timer: time to gossip. Stale after a change that was in a hurry."""

    number: int


class Interests(Layer):
    """What others want, as far as this node knows; see `core.roles.InterestView`."""

    def __init__(self, node: Stack, params: Params, spell: Spell | None = None) -> None:
        self.params = params
        self.spell: Spell = spell or (lambda topic: topic)
        self.view = View(node.me, params.view_max, params.leaves)
        self.mine = Wants(())
        self.incarnation = self.version = 0
        self.seeds: dict[Peer, None] = {}
        "Peers this node began with."
        self.fresh: dict[Peer, int] = {}
        "Nodes there is news of, and how often it is still told before anything else."
        self.asked: dict[Peer, int] = {}
        "Nodes somebody was asked about, and until when nobody else is."
        self.turns = self.hurried = self.count = self.due_us = 0
        self.begun = self.left_alone = False
        self.digests = Buckets(DIGESTS_PER_S, DIGESTS_BURST)
        self.reading = Buckets(READ_PER_S, READ_BURST)
        self.telling = Buckets(READ_PER_S, READ_BURST)
        super().__init__(node)

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {
            Digest: self.on_digest,
            Ask: self.on_ask,
            Tell: self.on_tell,
            Gone: self.on_gone,
            Turn: self.on_turn,
        }

    # -- what other layers ask ----------------------------------------------------------------------------------

    @property
    def changes(self) -> int:
        return self.view.changes

    def entries(self) -> Mapping[Peer, Wants]:
        return self.view.shown

    def towards_home(self, word: int) -> Peer | None:
        """The first node known at or after the topic's position: if we are not nearer, it knows the way, or is it."""
        ring, me = self.view.ring, self.node.me
        ring.add(me)
        found = ring.following(position_of_topic(word))
        ring.remove(me)
        return None if found == me else found

    def ready(self) -> bool:
        """Whether this node found others, or found that there are none."""
        return bool(self.view.known) or self.left_alone

    # -- life ---------------------------------------------------------------------------------------------------

    def started(self, contacts: Sequence[Peer]) -> None:
        for peer in contacts:
            if peer != self.node.me:
                self.seeds.pop(peer, None)
                self.seeds[peer] = None
        while len(self.seeds) > REMEMBERED:
            del self.seeds[next(iter(self.seeds))]
        if not self.begun:
            self.begun = True
            self.incarnation = self.node.now_us
            self.interest_changed()
        self.hurry()

    def interest_changed(self) -> None:
        wants = Wants.of(self.node.interest.mine(), self.node.hierarchy, self.spell)
        if self.begun and wants != self.mine:
            self.version += 1
            self.hurry()
        self.mine = wants

    def tuned(self, topic: Topic, params: Struct) -> None:
        """For all topics at once. A view that is to be smaller shrinks as its nodes are forgotten. What this node wants
        is told anew: it may be sealed by another key now."""
        if isinstance(params, Params):
            self.params = params
            self.view.most, self.view.leaves = params.view_max, params.leaves
            self.version += 1
            self.hurry()

    def peer_down(self, peer: Peer) -> None:
        self.view.lose(peer, self.node.now_us)

    def leaving(self) -> None:
        told = [*self.view.around(), *self.some([*self.view.known], self.params.fanout)]
        self.out.send(dict.fromkeys(told), Gone())
        self.turns += 1

    def hurry(self) -> None:
        """Gossips at once, and for a while more often."""
        if self.hurried == 0:
            self.due_us = self.node.now_us
            self.next_turn(1)
        self.hurried = HURRIED

    def next_turn(self, after_us: int) -> None:
        self.turns += 1
        self.out.timer(after_us, Turn(self.turns))

    # -- gossip -------------------------------------------------------------------------------------------------

    def on_turn(self, timer: Turn) -> None:
        if timer.number != self.turns:
            return
        params, now_us = self.params, self.node.now_us
        self.view.expire(now_us - params.forget_us)
        self.view.give_up(params.asks, now_us)
        self.asked = {peer: until_us for peer, until_us in self.asked.items() if until_us > now_us}
        self.left_alone = not self.view.known and timer.number > params.tries
        told = self.view.unanswered.silent(self.view.known)[:SILENT_ASKED]
        if now_us >= self.due_us:
            told += self.partners()
            self.hurried = max(0, self.hurried - 1)
            pause_us = params.hurry_every_us if self.hurried else params.gossip_every_us
            self.due_us = now_us + round(pause_us * (0.9 + 0.2 * chance(self.fresh_key(TICK), 0)))
        self.tell(dict.fromkeys(told))
        self.next_turn(min(self.due_us - now_us, params.hurry_every_us) if told else self.due_us - now_us)

    def tell(self, peers: Iterable[Peer]) -> None:
        for peer in peers:
            if peer in self.view.known:
                self.view.unanswered.asked([peer])
            self.out.send([peer], Digest(self.marks_for(peer), answer=True))

    def partners(self) -> list[Peer]:
        """Whom to tell this time: a leaf, whoever was not heard of for longest, some others, now and then somebody from
        far back."""
        known, fanout = [*self.view.known], self.params.fanout
        leaves, stalest = self.view.around(), self.view.stalest()
        told = [leaves[self.turns % len(leaves)]] if leaves else []
        told += [] if stalest is None else [stalest]
        told += self.some(known, fanout - len(told))
        if not known or self.turns % FAR_EVERY == 0:
            far = [peer for peer in {**self.seeds, **self.view.lost} if peer not in self.view.known]
            told += self.some(far, 1 if known else fanout)
        return told

    def marks_for(self, peer: Peer) -> tuple[Mark, ...]:
        """Ourselves; who stands near that peer on the ring; what is new; and others. Never whom we doubt."""
        view, most = self.view, self.params.marks
        near = view.ring.around(peer, self.params.leaves)
        fresh = self.told_again([each for each in self.fresh if each in view.known][: most // 2])
        sure = view.unanswered.sure(view.known)
        rest = self.some(sure, most)
        named = [each for each in dict.fromkeys([*view.unanswered.sure([*near, *fresh]), *rest]) if each != peer]
        return (self.own_mark(), *(self.mark(each) for each in named[: most - 1]))

    def told_again(self, peers: Sequence[Peer]) -> Sequence[Peer]:
        for peer in peers:
            self.fresh[peer] -= 1
            if self.fresh[peer] == 0:
                del self.fresh[peer]
        return peers

    def own_mark(self) -> Mark:
        return Mark(self.node.me, self.incarnation, self.version)

    def mark(self, peer: Peer) -> Mark:
        known = self.view.known[peer]
        mark = known.entry.mark
        age_ms = max(0, self.node.now_us - known.heard_us) // 1000
        return Mark(peer, mark.incarnation, mark.version, min(AGE_MS_MAX, age_ms))

    def on_digest(self, peer: Peer, digest: Digest) -> None:
        if not self.digests.take(peer, self.node.now_us):
            self.out.note("reject", peer=peer, detail="too many requests")
            return
        self.view.unanswered.heard(peer)
        self.view.heard(peer, self.node.now_us)
        wanted = self.wanted(peer, digest.marks)
        if wanted:
            self.out.send([peer], Ask(tuple(wanted)))
        if digest.answer:
            self.out.send([peer], Digest(self.marks_for(peer), answer=False))

    def wanted(self, sender: Peer, marks: Sequence[Mark]) -> list[Peer]:
        """The nodes named whose entries this node lacks and has room for; of the others the ages are taken over."""
        now_us, wanted, strangers = self.node.now_us, [], 0
        for mark in marks:
            age_us = 0 if mark.peer == sender else mark.age_ms * 1000
            if mark.peer == self.node.me:
                if mark.stamp > (self.incarnation, self.version):
                    wanted.append(mark.peer)  # of a former life, whose clock was ahead
                continue
            self.view.heard(mark.peer, now_us - age_us)
            if age_us > self.params.forget_us or mark.peer in self.asked or not self.view.is_news(mark, now_us):
                continue
            if mark.peer not in self.view.known and not self.view.welcomes(mark.peer):
                strangers += 1
                if strangers > self.params.renewed:
                    continue
            wanted.append(mark.peer)
        return self.note_asked(wanted[:ASKED_MAX])

    def note_asked(self, peers: list[Peer]) -> list[Peer]:
        until_us = self.node.now_us + ASKED_AGAIN_US
        self.asked.update(dict.fromkeys(peers, until_us))
        return peers

    # -- entries ------------------------------------------------------------------------------------------------

    def on_ask(self, peer: Peer, ask: Ask) -> None:
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
                self.out.send([peer], Tell(tuple(entries)))
                entries, size = [], 0
        if entries:
            self.out.send([peer], Tell(tuple(entries)))

    def entry(self, peer: Peer) -> Entry | None:
        """A node's entry with its age by now."""
        if peer == self.node.me:
            return Entry(self.own_mark(), self.mine.packed)
        known = self.view.known.get(peer)
        return None if known is None else Entry(self.mark(peer), known.entry.wants, known.entry.seal)

    def on_tell(self, peer: Peer, tell: Tell) -> None:
        now_us = self.node.now_us
        for entry in tell.entries:
            who = entry.mark.peer
            if who == self.node.me:
                self.outlive(entry.mark)
            elif who not in self.asked:
                continue  # nobody asked for it: it may be meant to fill our view
            elif not self.reading.take(peer, now_us, OVERHEAD + len(entry.wants)):
                self.out.note("reject", peer=peer, detail="too many requests")
                return
            elif self.view.is_news(entry.mark, now_us):
                self.learn(peer, entry)

    def learn(self, peer: Peer, entry: Entry) -> None:
        wants = read(entry.wants)
        if wants is None:
            self.out.note("reject", peer=peer, detail="bad message")
            return
        who, now_us = entry.mark.peer, self.node.now_us
        del self.asked[who]
        age_us = 0 if who == peer else entry.mark.age_ms * 1000
        first = not self.view.known
        self.view.take(entry, wants, now_us - age_us, self.node.owners, self.fresh_key(JOIN))
        self.fresh.pop(who, None)
        self.fresh[who] = FRESH_TOLD
        if len(self.fresh) > FRESH_MAX:
            del self.fresh[next(iter(self.fresh))]
        if first:
            self.hurry()

    def outlive(self, mark: Mark) -> None:
        """Others know a later life of this node than this one: the clock was set back. This one is later."""
        if self.asked.pop(self.node.me, None) is not None and mark.stamp > (self.incarnation, self.version):
            self.incarnation = min(mark.incarnation + 1, 2**63 - 1)
            self.hurry()

    def on_gone(self, peer: Peer, gone: Gone) -> None:
        self.view.lose(peer, self.node.now_us)

    # -- small things -------------------------------------------------------------------------------------------

    def fresh_key(self, why: int) -> int:
        """A key no other draw of this layer has; time tells a node's lives apart."""
        self.count += 1
        return self.node.key(why, fold(self.node.now_us, self.count))

    def some(self, peers: Sequence[Peer], k: int) -> list[Peer]:
        return [peers[i] for i in distinct(self.fresh_key(JOIN), len(peers), max(0, k))]
