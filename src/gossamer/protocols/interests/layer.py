"""The interest view, gossiped: some of the other nodes, with what they want (002, section 2.2; after lpbcast).

Every turn a node tells a few others which entries it has, its own first, and they answer alike; whoever lacks one, or
has an older one, asks for it. So what nodes want travels only when it changes, and ages travel all the time: a node of
which nobody hears any more is forgotten everywhere.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from gossamer.core.draws import JOIN, TICK, chance, distinct, fold
from gossamer.core.ids import Peer
from gossamer.core.interest import Change
from gossamer.core.layer import Bound, Handler, Layer
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.parts.bucket import Buckets
from gossamer.parts.own_wants import OwnWants
from gossamer.parts.wants import WANTS_BYTES_MAX, Wants
from gossamer.protocols.interests.entries import Entries
from gossamer.protocols.interests.messages import Gone, Mark, NodesDigest
from gossamer.protocols.interests.params import Params
from gossamer.protocols.interests.ring import position_of_topic
from gossamer.protocols.interests.view import REMEMBERED, WORDS_MAX, KnownInterests

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


class Turn(Struct, frozen=True):
    """Timer: time to gossip. Stale after a change that was in a hurry."""

    number: int


class Interests(Layer):
    """What others want, as far as this node knows; see `core.roles.InterestView`."""

    def __init__(self, node: Stack, params: Params, own: OwnWants | None = None) -> None:
        super().__init__(node)
        self.params = params
        self.own = own or OwnWants(node.hierarchy)
        self.view = KnownInterests(node.me, params.view_max, params.leaves)
        self.told = Entries(node, self.view, self.own, self.learned)
        self.seeds: dict[Peer, None] = {}
        "Peers this node began with."
        self.fresh: dict[Peer, int] = {}
        "Nodes there is news of, and how often it is still told before anything else."
        self.turns = self.hurried = self.count = self.due_us = 0
        self.rounds = 0
        "Turns at which partners were chosen. Between two of them there may be one, always, to ask the silent again."
        self.begun = False
        self.digests = Buckets(DIGESTS_PER_S, DIGESTS_BURST)
        self.within = (self.told,)

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {
            NodesDigest: self.on_digest,
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

    @property
    def mine(self) -> Wants:
        return self.own.now()

    def bounds(self) -> Iterator[Bound]:
        yield "nodes known", len(self.view.known), self.params.view_max
        yield "itself among the nodes known", int(self.node.me in self.view.known), 0
        yield "words of what others want", self.view.words, WORDS_MAX
        yield "nodes given up", len(self.view.lost), REMEMBERED
        yield "nodes to begin with", len(self.seeds), REMEMBERED
        yield "nodes there is news of", len(self.fresh), FRESH_MAX

    def lives_by(self, topic: Topic | None) -> Iterator[Struct]:
        if topic is None and self.begun:
            yield Turn(self.turns)

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
            self.told.incarnation = self.node.now_us
        self.hurry()

    def refuses(self, topics: Sequence[Topic], gone: Sequence[Topic] = ()) -> str | None:
        if self.own.has_room(topics, gone):
            return None
        count = len(self.own) + len(topics) - len(gone)
        return (
            f"{count:,} topics are more than this node can tell others about, which takes more "
            f"than {WANTS_BYTES_MAX:,} bytes: subscribe to topics that include several of them, or use another node"
        )

    def interest_changed(self, change: Change) -> None:
        """What this node wants is told when somebody asks: many changes together cost no more than one."""
        self.own.take(change)
        if self.begun and (change.joined or change.left):
            self.told.version += 1
            self.hurry()

    def tuned(self, topic: Topic, params: Struct) -> None:
        """For all topics at once. A view that is to be smaller shrinks as its nodes are forgotten. What this node wants
        is told anew: it may be sealed by another key now."""
        if isinstance(params, Params):
            self.params = params
            self.view.most, self.view.leaves = params.view_max, params.leaves
            self.told.version += 1
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
            self.out.send([peer], NodesDigest(self.marks_for(peer), answer=True))

    def partners(self) -> list[Peer]:
        """Whom to tell this time: a leaf, whoever was not heard of for longest, some others, now and then somebody from
        far back."""
        self.rounds += 1
        known, fanout = [*self.view.known], self.params.fanout
        leaves, stalest = self.view.around(), self.view.stalest()
        told = [leaves[self.rounds % len(leaves)]] if leaves else []
        told += [] if stalest is None else [stalest]
        told += self.some(known, fanout - len(told))
        if not known or self.rounds % FAR_EVERY == 0:
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
        return tuple(map(self.told.mark, [self.node.me, *named[: most - 1]]))

    def told_again(self, peers: Sequence[Peer]) -> Sequence[Peer]:
        for peer in peers:
            self.fresh[peer] -= 1
            if self.fresh[peer] == 0:
                del self.fresh[peer]
        return peers

    def on_digest(self, peer: Peer, digest: NodesDigest) -> None:
        if not self.digests.take(peer, self.node.now_us):
            self.out.note("reject", peer=peer, detail="too many requests")
            return
        self.view.unanswered.heard(peer)
        self.view.heard(peer, self.node.now_us)
        self.told.ask(peer, digest.marks, self.params.forget_us, self.params.renewed)
        if digest.answer:
            self.out.send([peer], NodesDigest(self.marks_for(peer), answer=False))

    def learned(self, peer: Peer) -> None:
        """There is news of a node: it is told before anything else, and at once if it is of ourselves or the first."""
        if peer == self.node.me or len(self.view.known) == 1:
            self.hurry()
        if peer != self.node.me:
            self.fresh.pop(peer, None)
            self.fresh[peer] = FRESH_TOLD
            if len(self.fresh) > FRESH_MAX:
                del self.fresh[next(iter(self.fresh))]

    def on_gone(self, peer: Peer, gone: Gone) -> None:
        self.view.lose(peer, self.node.now_us)

    # -- small things -------------------------------------------------------------------------------------------

    def fresh_key(self, why: int) -> int:
        """A key no other draw of this layer has; time tells a node's lives apart."""
        self.count += 1
        return self.node.key(why, fold(self.node.now_us, self.count))

    def some(self, peers: Sequence[Peer], k: int) -> list[Peer]:
        return [peers[i] for i in distinct(self.fresh_key(JOIN), len(peers), max(0, k))]
