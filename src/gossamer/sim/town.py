"""A town: processes that find each other, want what they want, and come and go.

One for simulator and tests, whatever carries the events. Whoever runs a town says what happens; the town knows who
should get which event, and every promise is watched from outside, step by step.
"""

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from gossamer.core.draws import CHURN, distinct, fold
from gossamer.core.events import Attribute, Event, asked_of
from gossamer.core.ids import EventId, Peer
from gossamer.core.interest import Interest
from gossamer.core.machine import SECOND_US, PeerDown, Publish, StopPublishing, Subscribe, Unsubscribe
from gossamer.core.patterns import Pattern
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.parts.tagging import Tagger
from gossamer.sim.camcast_checks import Climbing
from gossamer.sim.checkers import Promises
from gossamer.sim.chronicle import Chronicle, Fate
from gossamer.sim.logs import Logs
from gossamer.sim.network import Independent, Latency, Loss, Network
from gossamer.sim.timers import Timers
from gossamer.sim.unreachable import Unreachable
from gossamer.sim.world import World
from gossamer.wire.codec import Codec

CONTACTS = 3
"Processes that one which starts knows, of those that are up."
NEAR = Latency(median_us=20_000, shape="lognormal", spread=0.3)


class Town:
    """`make` builds a process's machine, also when it comes back; `messages` are what such machines say to each other
    (None: nothing goes through bytes). `told_of_failures`: processes hear `PeerDown` as live ones do. A `network` of
    one's own has its own latency and losses. `logged`: processes have a log, as live ones do, and are told what is in
    it; an incarnation is then the time a life began, as it is there."""

    def __init__(
        self,
        make: Callable[[Peer], Stack],
        messages: Sequence[type[Struct]] | None = None,
        seed: int = 1,
        *,
        latency: Latency = NEAR,
        loss: Loss | float = 0.0,
        duplicated: float = 0.0,
        told_of_failures: bool = True,
        network: Network | None = None,
        logged: bool = False,
    ) -> None:
        self.seed = seed
        self.network = network or Network(seed, latency, losses(loss), duplicated)
        self.world = World(make, self.network, (), None if messages is None else Codec(messages))
        self.interests: dict[Peer, Interest] = {}
        "What each process asked for, whatever its machine thinks: it asks for the same when it comes back."
        self.taggers: dict[Peer, Tagger] = {}
        self.sequences: dict[Peer, int] = {}
        self.unreachable = Unreachable(self.world, seed) if told_of_failures else None
        self.chronicle = Chronicle(self.world, self.reads)
        self.timers = Timers(self.world)
        if self.unreachable is not None:
            self.world.watch(self.unreachable)
        self.world.watch(self.chronicle, self.timers, Promises(self.world), Climbing(self.world, self.timers))
        self.logs = Logs(self.world) if logged else None
        if self.logs is not None:
            self.world.watch(self.logs)
        self.since_us: dict[tuple[Peer, Pattern], int] = {}
        "When each subscribed to what; one that comes back with a memory did so long ago."
        self.born_us: dict[Peer, int] = {}
        self.ordinals: dict[tuple[Peer, Topic], int] = {}

    # -- who is there -------------------------------------------------------------------------------------------

    @property
    def up(self) -> Sequence[Peer]:
        return [*self.world.up]

    def node(self, peer: Peer) -> Stack:
        machine = self.world.machines[peer]
        assert isinstance(machine, Stack)
        return machine

    def reads(self, peer: Peer, event: Event) -> bool:
        interest = self.interests.get(peer)
        return interest is not None and interest.matches(event)

    def readers(self, topic: Topic) -> list[Peer]:
        """Processes that are up and asked for all or some events of a topic."""
        return [peer for peer in self.world.up if self.interests[peer].wants(topic)]

    def members(self, topic: Topic) -> list[Peer]:
        """Processes that are up and in the topic's own community."""
        return [peer for peer in self.world.up if self.node(peer).interest.takes_part(topic)]

    # -- coming and going ---------------------------------------------------------------------------------------

    def start(
        self, peer: Peer, *wants: Topic | Pattern, contacts: Iterable[Peer] | None = None, of: int = CONTACTS
    ) -> None:
        """Brings a process up that knows `of` others that are, and subscribes it; one that comes back wants what it
        wanted before, too, and remembers nothing."""
        self._start(peer, self.some_up(peer, of) if contacts is None else contacts, ())
        for want in wants:
            pattern = want if isinstance(want, Pattern) else Pattern(want)
            if pattern not in self.interests[peer].patterns:
                self.subscribe(peer, pattern.topic, pattern.where)

    def restart(self, peer: Peer, contacts: Iterable[Peer] | None = None, *, memory: bool = False) -> None:
        """A process comes back under its own name. One with a `memory` knows which events it had, and whom it met."""
        chosen = self.some_up(peer, CONTACTS) if contacts is None else contacts
        if not memory:
            self._start(peer, chosen, ())
            return
        met = self.unreachable.known(peer) if self.unreachable else []
        had = [event_id for event_id, fate in self.chronicle.fates.items() if peer in fate.got]
        self._start(peer, dict.fromkeys([*chosen, *met]), had, remembers=True)

    def _start(self, peer: Peer, contacts: Iterable[Peer], memory: Iterable[EventId], remembers: bool = False) -> None:
        self.world.start(peer, contacts, memory)
        self.taggers.pop(peer, None)
        self.sequences.pop(peer, None)
        self.born_us[peer] = self.world.now_us + 1
        self.ordinals = {key: count for key, count in self.ordinals.items() if key[0] != peer}
        if peer not in self.interests:
            self.interests[peer] = Interest(self.node(peer).hierarchy)
        self._remember(peer, remembers)
        for pattern in self.interests[peer].patterns:
            self._subscribe(peer, pattern)

    def _remember(self, peer: Peer, remembers: bool) -> None:
        """What a former life left behind, or that it left nothing."""
        if not remembers:
            self.since_us = {key: since_us for key, since_us in self.since_us.items() if key[0] != peer}
        if self.logs is not None:
            if not remembers:
                self.logs.of.pop(peer, None)
            self.logs.remember(peer)

    def _subscribe(self, peer: Peer, pattern: Pattern) -> None:
        since_us = self.since_us.setdefault((peer, pattern), max(1, self.world.now_us))
        self.world.give(peer, Subscribe(pattern.topic, pattern.where, 0 if self.logs is None else since_us))

    def some_up(self, peer: Peer, count: int) -> list[Peer]:
        """Others that are up, drawn for this process and moment."""
        others = [other for other in self.world.up if other != peer]
        key = fold(fold(self.seed, CHURN), fold(self.world.now_us, peer))
        return [others[i] for i in distinct(key, len(others), count)]

    def crash(self, *peers: Peer) -> None:
        """Down without a word."""
        for peer in peers:
            self.world.crash(peer)

    def leave(self, *peers: Peer) -> None:
        """Down in good order."""
        for peer in peers:
            self.world.leave(peer)

    # -- what they want -----------------------------------------------------------------------------------------

    def subscribe(self, peer: Peer, topic: Topic, where: str = "") -> None:
        interest = self.interests[peer]
        interest.subscribe(Pattern(topic, where))
        self._subscribe(peer, Pattern(topic, where))

    def unsubscribe(self, peer: Peer, topic: Topic, where: str = "") -> None:
        interest = self.interests[peer]
        interest.unsubscribe(Pattern(topic, where))
        self.chronicle.excuse(peer)
        self.since_us.pop((peer, Pattern(topic, where)), None)
        self.world.give(peer, Unsubscribe(topic, where))

    # -- events -------------------------------------------------------------------------------------------------

    def publish(
        self,
        peer: Peer,
        topic: Topic,
        attributes: dict[str, Attribute] | None = None,
        *,
        payload: bytes = b"news",
        climb: float | None = None,
        join: bool = True,
    ) -> EventId:
        """A process publishes, and all that are up and asked for it should get it."""
        event_id, about = self.next_id(peer), {} if attributes is None else attributes
        self.sequences[peer] = event_id.sequence
        now_us = self.world.now_us
        patterns = self.node(peer).patterns(topic, asked_of(about, topic, peer, now_us))
        tags = self.taggers.setdefault(peer, Tagger()).tags(patterns, now_us)
        event = Event(event_id, topic, payload, about, climb, now_us, self._ordinal(peer, topic), tags)
        self.chronicle.publish(event, [each for each in self.world.up if self.reads(each, event)])
        self.world.give(peer, Publish(event, join))
        return event_id

    def next_id(self, peer: Peer) -> EventId:
        """What the next event of a process will be called."""
        incarnation = self.world.lives[peer] if self.logs is None else self.born_us[peer]
        return EventId(peer, incarnation, self.sequences.get(peer, 0) + 1)

    def _ordinal(self, peer: Peer, topic: Topic) -> int:
        """Counts what a process publishes on a topic, where there are logs."""
        if self.logs is None:
            return 0
        self.ordinals[peer, topic] = self.ordinals.get((peer, topic), 0) + 1
        return self.ordinals[peer, topic]

    def stop_publishing(self, peer: Peer, topic: Topic) -> None:
        self.world.give(peer, StopPublishing(topic))

    def fate(self, event_id: EventId) -> Fate:
        return self.chronicle.fates[event_id]

    def delivered(self, event_id: EventId) -> list[Peer]:
        """To whom, in the order it came."""
        return [*self.fate(event_id).got]

    def forget(self, older_s: float) -> None:
        """Events published longer ago than that are judged no more, and take no more room."""
        self.chronicle.forget(self.world.now_us - round(older_s * SECOND_US))

    def missing(self, *events: EventId) -> list[tuple[Peer, EventId]]:
        """Who should have got an event (of these, if any are named) and did not, of those that stayed up and want it
        still."""
        return [missed for missed in self.chronicle.missing() if not events or missed[1] in events]

    # -- the network --------------------------------------------------------------------------------------------

    def lose(self, loss: Loss | float) -> None:
        """From now on messages are lost, independently with this chance or as a model says."""
        self.network.loss = losses(loss)

    def split(self, *islands: Sequence[Peer], noticed: bool = False) -> None:
        """The network falls apart. `noticed`: connections break, and everybody gives up whom it cannot reach."""
        self.network.split(*[[*island] for island in islands])
        if noticed:
            for peer in self.up:
                for other in self.up:
                    if not self.network.passes(peer, other):
                        self.world.give(peer, PeerDown(other))

    def cut(self, senders: Iterable[Peer], targets: Iterable[Peer]) -> None:
        """One way: these targets hear nothing any more that these senders say."""
        self.network.cut(senders, targets)

    def heal(self) -> None:
        self.network.heal()

    # -- time ---------------------------------------------------------------------------------------------------

    def run(self, seconds: float) -> None:
        self.world.run(self.world.now_us + round(seconds * SECOND_US))

    def after(self, seconds: float, action: Callable[[], object]) -> None:
        """Does something that many seconds from now."""
        self.world.at(self.world.now_us + round(seconds * SECOND_US), action)

    def seconds_until(self, condition: Callable[[], object], at_most: float, step: float = 0.5) -> float:
        """Lets time pass until something is true. Says how long that took; infinite if it never was."""
        passed = 0.0
        while not condition():
            if passed >= at_most:
                return float("inf")
            passed += step
            self.run(step)
        return passed


def losses(loss: Loss | float) -> Loss | None:
    """A model, or one that loses independently with this chance."""
    if not isinstance(loss, int | float):
        return loss
    return Independent(lambda sender, target: 1 - loss) if loss else None
