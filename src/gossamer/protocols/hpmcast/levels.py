"""How events travel in a hierarchy: by rounds of gossip on a level, then one level further down.

The spreading half of hpmcast. It asks a few questions of whoever knows the views, fixed or living.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from gossamer.core.draws import GOSSIP, LOOK, distinct, fold
from gossamer.core.events import Carried, Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.layer import Bound, Handler, Layer
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.protocols.hpmcast import rules
from gossamer.protocols.hpmcast.messages import LevelGossip
from gossamer.protocols.hpmcast.params import Params

BUFFERED_MAX = 10_000
"Events gossiped at a time; when there are more, the one that came first is given up."


class ViewLine(Protocol):
    """A subsystem as a view has it; on level 1, one participant."""

    @property
    def peers(self) -> Sequence[Peer]:
        """Who stands for it."""

    def matches(self, event: Event) -> bool:
        """Whether anybody in it wants the event, as far as is known."""


class Views(Protocol):
    """What a participant knows of each level."""

    levels: int
    "l: 1 is the lowest group, l the topmost."

    def lines(self, level: int) -> Sequence[ViewLine]:
        """The view of a level, in the order of addresses: the same object as long as nothing changed."""

    def ready(self) -> bool:
        """Whether this node has found its place."""


class GossipStep(Struct, frozen=True):
    """It is time to gossip."""


class Gossiped:
    """An event that is being gossiped, always on one level at a time."""

    __slots__ = ("at_once", "carried", "level", "limit", "own", "padding", "prob", "rounds")

    def __init__(self, carried: Carried, level: int, prob: float = 0.0, rounds: int = 0, padding: int = 0) -> None:
        self.carried = carried
        self.level = level
        self.prob = prob
        self.rounds = rounds
        self.padding = padding
        self.limit: int | None = None
        "How many rounds there are on this level; None: not worked out yet."
        self.own = 0
        "Rounds gossiped by this node, on this level."
        self.at_once: tuple[Peer, ...] = ()
        "Who wants it, where all are told at once."


class Levels(Layer):
    """Gossips what it publishes and receives, level by level."""

    def __init__(self, node: Stack, views: Views, params: Params, phase: float = 0.0) -> None:
        super().__init__(node)
        self.views = views
        self.phase = phase
        "Where in each interval our steps begin, as a share of it. In an experiment 0 for all: synchronous rounds."
        self._take(params)
        self.gossips: dict[EventId, Gossiped] = {}
        self.ticking = False
        self._seats: dict[int, tuple[Sequence[ViewLine], list[tuple[Peer, ViewLine]]]] = {}

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {LevelGossip: self.on_gossip, GossipStep: self.on_step}

    def bounds(self) -> Iterator[Bound]:
        yield "events to gossip", len(self.gossips), BUFFERED_MAX

    def lives_by(self, topic: Topic | None) -> Iterator[Struct]:
        if topic is None and self.gossips:
            yield GossipStep()

    def tuned(self, topic: Topic, params: Struct) -> None:
        if isinstance(params, Params):
            before = self.relays
            self._take(params)
            if self.relays and not before:
                self.out.note("relay")

    def _take(self, params: Params) -> None:
        self.params = params
        self.everybody = params.variant == "rfpbcast"
        self.relays = params.variant != "pmcast" or params.audience_floor > 0

    # -- events come ----------------------------------------------------------------------------------------------

    def has_place(self, topic: Topic) -> bool:
        return self.views.ready()

    def publish(self, events: Sequence[Event]) -> bool:
        if not self.views.ready():
            return False
        for event in events:
            carried = Carried(event)
            if self.node.knows(event.id) or self.node.accept(carried, via=self.node.me):
                self.begin(carried, self.views.levels)
        return True

    def begin(self, carried: Carried, level: int) -> None:
        """Gossips an event on a level on which nobody has told us anything about it."""
        it = Gossiped(carried, level)
        self.measure(it)
        self._keep(it)

    def on_gossip(self, peer: Peer, message: LevelGossip) -> None:
        if message.level > self.views.levels or not 0.0 <= message.prob <= 1.0:
            self.out.note("reject", peer=peer, detail="no such level or probability")
        elif self.node.accept(message.carried, peer):
            hops = self.params.hops
            if not hops or message.carried.hops < hops:
                self._keep(Gossiped(message.carried, message.level, message.prob, message.rounds, message.padding))

    def _keep(self, gossiped: Gossiped) -> None:
        if len(self.gossips) >= BUFFERED_MAX:
            first = next(iter(self.gossips))
            del self.gossips[first]
            self.out.note("drop", event=first, detail="too many events to gossip")
        self.gossips[gossiped.carried.event.id] = gossiped
        if not self.ticking:
            self._tick()

    def _tick(self) -> None:
        self.ticking = True
        self.out.timer(rules.until_step(self.node.now_us, self.params.step_us, self.phase), GossipStep())

    # -- and go ---------------------------------------------------------------------------------------------------

    def on_step(self, step: GossipStep) -> None:
        self.ticking = False
        for event_id, gossiped in list(self.gossips.items()):
            if self.settles(gossiped):
                self.gossip(gossiped)
            else:
                del self.gossips[event_id]
        if self.gossips:
            self._tick()

    def settles(self, it: Gossiped) -> bool:
        """Moves an event down until there is something to do on a level. False: it has been gossiped enough."""
        while not self.may_gossip(it):
            if it.level == 1:
                return False
            it.level -= 1
            it.rounds = it.own = 0
            it.limit = None
            if self.params.estimated and not self.everybody:
                self.reckon(it)
            else:
                self.measure(it)
        return True

    def may_gossip(self, it: Gossiped) -> bool:
        repetitions = self.params.repetitions
        if it.limit is None:
            it.limit = self.limit(it)
        return it.rounds < it.limit and not (repetitions and it.own >= repetitions)

    def limit(self, it: Gossiped) -> int:
        """How many rounds there are on the level it is on, as far as is known of its audience."""
        params, size = self.params, len(self.seats(it.level))
        if it.at_once:
            return int(rules.copies(params.expected_loss))
        return int(rules.limit(size, it.prob, params.fanout, params.arriving, params.rounds, params.reliability))

    def gossip(self, it: Gossiped) -> Sequence[Peer]:
        """One round: pick some participants, then tell those of them that want it. Says whom."""
        it.rounds += 1
        it.own += 1
        event, seats = it.carried.event, self.seats(it.level)
        told: Sequence[Peer] = it.at_once
        if not told:
            key = self.node.key(GOSSIP, fold(event.id.word(), rules.turn(it.level, it.rounds)))
            picked = self.pick(seats, key)
            told = [seats[i][0] for i in picked if self.everybody or i < it.padding or seats[i][1].matches(event)]
        prob = 0.0 if it.at_once else it.prob
        others = [peer for peer in told if peer != self.node.me]
        self.out.send(others, LevelGossip(it.carried.hop(), it.level, prob, it.rounds, it.padding))
        return others

    def pick(self, seats: Sequence[tuple[Peer, ViewLine]], key: int) -> list[int]:
        """F places in a view, our own left out."""
        mine = next((i for i, (peer, _) in enumerate(seats) if peer == self.node.me), -1)
        picked = distinct(key, len(seats) - (mine >= 0), self.params.fanout)
        return [i + (0 <= mine <= i) for i in picked]

    def seats(self, level: int) -> Sequence[tuple[Peer, ViewLine]]:
        """The participants of a view, each with the line it stands in."""
        lines = self.views.lines(level)
        known = self._seats.get(level)
        if known is None or known[0] is not lines:
            known = self._seats[level] = (lines, [(peer, line) for line in lines for peer in line.peers])
        return known[1]

    # -- how many want it -----------------------------------------------------------------------------------------

    def measure(self, it: Gossiped) -> None:
        """GETPROB: matches the event with every line of the view; where rounds are fixed there is no need to."""
        params, event, size = self.params, it.carried.event, len(self.seats(it.level))
        it.at_once, it.padding, it.prob = (), 0, 1.0
        if params.rounds:
            return
        matched = [(line, self.everybody or line.matches(event)) for line in self.views.lines(it.level)]
        hits = sum(len(line.peers) for line, wanted in matched if wanted)
        if hits and rules.at_once(it.level, hits, size, params.direct, params.lan):
            it.at_once = tuple(peer for line, wanted in matched if wanted for peer in line.peers)
        else:
            it.padding = rules.padding(hits, params.audience_floor, size)
            interested = [wanted for line, wanted in matched for _ in line.peers]
            hits += it.padding - sum(interested[: it.padding])
        it.prob = hits / size if size else 0.0

    def reckon(self, it: Gossiped) -> None:
        """GETPROB from the level above, and by a look at a few."""
        event, seats = it.carried.event, self.seats(it.level)
        if not seats:
            it.prob = 0.0
            return
        looks = self.pick(seats, self.node.key(LOOK, fold(event.id.word(), it.level)))
        hits = sum(seats[i][1].matches(event) for i in looks)
        prob = rules.refined(rules.estimate(it.prob, len(self.views.lines(it.level))), hits, len(looks))
        it.at_once, it.padding = (), rules.padding(prob * len(seats), self.params.audience_floor, len(seats))
        it.prob = max(prob, it.padding / len(seats))
