"""A spanning tree that makes itself, over any connected overlay, and mends itself: one node of it.

Destination-sequenced, as DSDV's routes are: the root sends numbered beats, and each beat that a node takes over from
its parent it offers on to everybody it knows. A node stands at the *rank* (epoch, -root, sequence) of the last beat it
took over. It keeps its parent as long as that one brings new beats; when it lags behind what others offer for longer
than a patience, or is gone, the node hangs itself on one of those. When no beat comes at all, the root is dead: after a
while somebody begins the next epoch with itself as the root; of several that do, the smallest number wins.

**No circle of parents is possible.** Ranks only grow, and a child's is one its parent had: rank(parent) >= rank(child)
always. A node x hangs itself on y only if rank(y) > rank(x). Were y below x, then rank(y) <= rank(x): a contradiction.
A node that starts again has another life, and whoever hung on its former one hangs on nothing.

At rest all nodes share one root and all parents are alive: n - 1 links, no circle, hence one tree.
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from gossamer.core.draws import TREE, chance, draw, fold, upper_pick
from gossamer.core.ids import Count, Peer
from gossamer.core.layer import Bound, Handler, Layer
from gossamer.core.messages import OfMember, Said
from gossamer.core.roles import Members
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.parts.bucket import Buckets
from gossamer.parts.standing import OTHERS_MAX, Rank, Stand

ANSWERS_PER_S, ANSWERS_BURST = 20, 40
"Questions of one peer that are answered."
TOLD = 5
"Members besides the neighbours that hear of a beat: exp(-5) of all nodes hear it from nobody but their parent."
EPOCH_MAX = 1 << 62


class Offer(OfMember, frozen=True):
    """Where I stand: hang yourself on me if it is ahead of you. A protocol gives it its tag."""

    epoch: Count
    root: Peer
    sequence: Count
    life: Count
    "Of the sender: nodes that start again begin at the bottom."
    parent: Peer | None = None
    "Whom the sender hangs on."
    asks: bool = False
    "Whether whoever is ahead should say so."


class Part(Said, frozen=True):
    """I am not in this tree (any more). A protocol gives it its tag."""

    topic: Topic


class Pace(Struct, frozen=True):
    """How fast a tree is; see the fields of the same names in its protocol's Params."""

    beat_every_us: int
    patience_us: int
    silent_beats: int
    forget_beats: int


class Tick(Struct, frozen=True):
    """Timer: a beat is due, our own or somebody else's. Stale after the tree was left."""

    topic: Topic
    life: int


class Patience(Struct, frozen=True):
    """Timer: the parent still lags behind. Stale once it caught up."""

    topic: Topic
    life: int
    doubt: int


class SpanningTree(Layer):
    """A tree for each community this node was planted in. `members` must make a connected graph, arcs taken both ways;
    `offer` and `part` are the messages of the protocol that uses it."""

    def __init__(self, node: Stack, members: Members, pace: Pace, offer: type[Offer], part: type[Part]) -> None:
        super().__init__(node)
        self.offer, self.part = offer, part
        self.members = members
        self.pace = pace
        self.stands: dict[Topic, Stand] = {}
        self.lives = 0
        self.answers = Buckets(ANSWERS_PER_S, ANSWERS_BURST)

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {self.offer: self.on_offer, self.part: self.on_part, Tick: self.on_tick, Patience: self.on_patience}

    # -- what other layers ask ----------------------------------------------------------------------------------

    def links(self, topic: Topic) -> Sequence[Peer]:
        """This node's neighbours in the tree."""
        stand = self.stands.get(topic)
        return () if stand is None else stand.links()

    def ready(self, topic: Topic) -> bool:
        """Whether this node has found its place."""
        stand = self.stands.get(topic)
        return stand is not None and stand.ready

    def bounds(self) -> Iterator[Bound]:
        for topic, stand in self.stands.items():
            yield f"peers of the tree of {topic}", len(stand.others), OTHERS_MAX

    def lives_by(self, topic: Topic | None) -> Iterator[Struct]:
        if topic is not None and (stand := self.stands.get(topic)) is not None:
            yield Tick(topic, stand.life)
            if stand.lags:
                yield Patience(topic, stand.life, stand.doubt)

    # -- life ---------------------------------------------------------------------------------------------------

    def plant(self, topic: Topic) -> None:
        """This node becomes part of the community's tree."""
        self.lives = max(self.node.now_us, self.lives + 1)
        self.stands[topic] = Stand(self.lives)
        phase = chance(self.node.key(TREE, self.lives), 0)
        self.out.timer(1 + round(phase * self.pace.beat_every_us), Tick(topic, self.lives))

    def uproot(self, topic: Topic) -> None:
        """This node leaves it."""
        stand = self.stands.pop(topic, None)
        if stand is not None:
            self.out.send(self._around(topic, stand), self.part(topic))
            self._show(topic, stand, ())

    def left(self, topic: Topic) -> None:
        self.uproot(topic)

    def leaving(self) -> None:
        for topic in tuple(self.stands):
            self.uproot(topic)

    def peer_down(self, peer: Peer) -> None:
        for topic, stand in self.stands.items():
            self._lose(topic, stand, peer)

    def on_part(self, peer: Peer, part: Part) -> None:
        stand = self.stands.get(part.topic)
        if stand is not None:
            self._lose(part.topic, stand, peer)

    def _lose(self, topic: Topic, stand: Stand, peer: Peer) -> None:
        orphaned = stand.parent == peer
        stand.drop(peer)
        if orphaned:
            self._hang_on_best(topic, stand)
            if stand.parent is None:
                self.out.send(self._around(topic, stand), self._offer(topic, stand, asks=True))
        self._show(topic, stand, stand.links())

    # -- beats --------------------------------------------------------------------------------------------------

    def on_tick(self, timer: Tick) -> None:
        topic = timer.topic
        stand = self.stands.get(topic)
        if stand is None or stand.life != timer.life:
            return
        self.out.timer(self.pace.beat_every_us, timer)
        self._forget_silent(topic, stand)
        if stand.rooted:
            epoch, root, sequence = stand.rank
            stand.rank = (epoch, root, sequence + 1)
            self._tell(topic, stand)
            return
        stand.quiet = 0 if stand.news or not self.members.ready(topic) else stand.quiet + 1
        if not stand.news:
            if stand.quiet >= self._silence(stand):
                self._claim(topic, stand, stand.rank[0] + 1)
            else:
                self.out.send(self._around(topic, stand), self._offer(topic, stand, asks=True))
        stand.news = False

    def _silence(self, stand: Stand) -> int:
        """Beats to wait for: not everybody should take the root's place at once."""
        spread = upper_pick(draw(self.node.key(TREE, fold(stand.life, stand.rank[0])), 1), self.pace.silent_beats)
        return self.pace.silent_beats + int(spread)

    def _forget_silent(self, topic: Topic, stand: Stand) -> None:
        for other in stand.others.values():
            other.missed += 1
        for peer in [each for each, other in stand.others.items() if other.missed > self.pace.forget_beats]:
            self._lose(topic, stand, peer)

    def _claim(self, topic: Topic, stand: Stand, epoch: int) -> None:
        """We are the root of a new epoch."""
        stand.rank = (min(epoch, EPOCH_MAX), -self.node.me, 1)
        stand.rooted, stand.parent, stand.lags, stand.quiet = True, None, False, 0
        self.out.send(self._around(topic, stand), self._offer(topic, stand))
        self._show(topic, stand, stand.links(), always=True)

    # -- offers -------------------------------------------------------------------------------------------------

    def on_offer(self, peer: Peer, offer: Offer) -> None:
        topic, stand = offer.topic, self.stands.get(offer.topic)
        if stand is None:
            if offer.parent == self.node.me:
                self.out.send([peer], self.part(topic))
            return
        sane = offer.epoch <= EPOCH_MAX and (offer.epoch > 0 or offer.asks)
        other = stand.know(peer, offer.life) if sane else None
        if other is None:
            return
        other.missed = 0
        rank = (offer.epoch, -offer.root, offer.sequence)
        if rank >= other.rank:  # or it was overtaken on the way
            other.rank = rank
            other.child = offer.parent == self.node.me
        if rank > stand.rank:
            self._ahead(topic, stand, peer, rank)
        elif offer.asks and rank < stand.rank and self.answers.take(peer, self.node.now_us):
            self.out.send([peer], self._offer(topic, stand))
        self._show(topic, stand, stand.links())

    def _ahead(self, topic: Topic, stand: Stand, peer: Peer, rank: Rank) -> None:
        """A peer is farther than we are."""
        if rank[1] == -self.node.me:
            self._claim(topic, stand, rank[0] + 1)  # our own beats, of a former life: nobody sends any more of them
        elif peer == stand.parent or stand.parent is None or rank[:2] != stand.rank[:2]:
            self._hang_on(topic, stand, peer)
        elif not stand.lags:
            self._doubt_parent(topic, stand)

    def _doubt_parent(self, topic: Topic, stand: Stand) -> None:
        """Others have a newer beat than the parent brought: it is asked for it, and given some time."""
        assert stand.parent is not None
        stand.lags = True
        stand.doubt += 1
        self.out.send([stand.parent], self._offer(topic, stand, asks=True))
        self.out.timer(self.pace.patience_us, Patience(topic, stand.life, stand.doubt))

    def on_patience(self, timer: Patience) -> None:
        stand = self.stands.get(timer.topic)
        if stand is None or (stand.life, stand.doubt) != (timer.life, timer.doubt) or not stand.lags:
            return
        stand.lags = False
        self._hang_on_best(timer.topic, stand)
        self._show(timer.topic, stand, stand.links())

    def _hang_on_best(self, topic: Topic, stand: Stand) -> None:
        best = stand.best()
        if best is not None:
            self._hang_on(topic, stand, best)

    def _hang_on(self, topic: Topic, stand: Stand, peer: Peer) -> None:
        """Takes over a peer's rank, and so the peer for the parent; says so to everybody, the former parent too."""
        other, before, root = stand.others[peer], stand.parent, stand.rank[:2]
        stand.rank, stand.parent, stand.parent_life = other.rank, peer, other.life
        stand.rooted, stand.lags, stand.news, stand.quiet = False, False, True, 0
        other.child = False
        if (before, root) == (peer, stand.rank[:2]):
            self._tell(topic, stand)
        else:
            told = self._around(topic, stand)
            self.out.send(told if before is None else dict.fromkeys([before, *told]), self._offer(topic, stand))
        if stand.best() is not None:
            self._doubt_parent(topic, stand)

    # -- small things -------------------------------------------------------------------------------------------

    def _offer(self, topic: Topic, stand: Stand, asks: bool = False) -> Offer:
        epoch, root, sequence = stand.rank
        return self.offer(topic, epoch, -root, sequence, stand.life, stand.parent, asks)

    def _tell(self, topic: Topic, stand: Stand) -> None:
        """Passes a beat on: along the tree, and to a few others, who would hang themselves on us if theirs failed."""
        key = self.node.key(TREE, fold(stand.life, fold(stand.rank[0], stand.rank[2])))
        told = dict.fromkeys([*stand.links(), *self.members.sample(topic, TOLD, key)])
        self.out.send(told, self._offer(topic, stand))

    def _around(self, topic: Topic, stand: Stand) -> list[Peer]:
        """Everybody known: for news that cannot wait."""
        return [*dict.fromkeys([*stand.links(), *self.members.about(topic)])]

    def _show(self, topic: Topic, stand: Stand, links: tuple[Peer, ...], always: bool = False) -> None:
        if links != stand.shown or always:
            stand.shown = links
            self.node.tell(lambda layer: layer.links_changed(topic))
