"""What happened in a world, seen from outside: who should get which event, who did, and what was said for it."""

from collections.abc import Callable, Iterable

from msgspec import Struct

from gossamer.core.events import Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import Deliver, Effect, Given, Message, Note, Started
from gossamer.core.messages import Carrier
from gossamer.sim.checkers import CheckFailed
from gossamer.sim.world import Watcher, World

REJECTS_MAX = 10_000
"Rejects that are kept whole."


class Got(Struct, frozen=True, gc=False):
    """A delivery."""

    after_us: int
    hops: int
    since: int
    "The life in which the process last began without a memory: from then on no event may come twice."


class Fate:
    """What became of one event."""

    def __init__(self, event: Event, due: dict[Peer, int], now_us: int) -> None:
        self.event = event
        self.due = due
        "Who wanted it and was up when it was published, and in which of its lives."
        self.published_us = now_us
        self.got: dict[Peer, Got] = {}
        "The first delivery to each."
        self.left = False
        "Whether a copy left its publisher."


class Chronicle(Watcher):
    """Follows every event. `reads` is asked whenever one is delivered: nobody may get what it did not ask for."""

    def __init__(self, world: World, reads: Callable[[Peer, Event], bool]) -> None:
        self.world, self.reads = world, reads
        self.fates: dict[EventId, Fate] = {}
        self.sends: dict[str, int] = {}
        "How often each kind of message was sent."
        self.relays: dict[EventId, list[Peer]] = {}
        "Who carried an event for others, and said so."
        self.rejects: list[tuple[Peer, Note]] = []
        "The first ones; the others are counted."
        self.rejected = 0
        self.since: dict[Peer, int] = {}

    def publish(self, event: Event, due: Iterable[Peer]) -> None:
        """It is about to be given to its publisher, and these want it."""
        lives = self.world.lives
        self.fates[event.id] = Fate(event, {peer: lives[peer] for peer in due}, self.world.now_us)

    def excuse(self, peer: Peer) -> None:
        """A process reads something no more: what it did not get of that, it does not miss, whatever it reads later."""
        for fate in self.fates.values():
            if peer in fate.due and peer not in fate.got and not self.reads(peer, fate.event):
                del fate.due[peer]

    def missing(self) -> list[tuple[Peer, EventId]]:
        """Who should have got an event and did not, of those that stayed up and want it still. What died with its
        publisher, before a copy left, nobody could get."""
        return [
            (peer, event_id)
            for event_id, fate in self.fates.items()
            if fate.left or self.world.is_alive(event_id.publisher, event_id.incarnation)
            for peer, life in fate.due.items()
            if peer not in fate.got and self.world.is_alive(peer, life) and self.reads(peer, fate.event)
        ]

    def forget(self, before_us: int) -> None:
        """What was published before then is judged no more: a town that lives long need not remember it."""
        self.fates = {event_id: fate for event_id, fate in self.fates.items() if fate.published_us >= before_us}
        self.relays = {event_id: peers for event_id, peers in self.relays.items() if event_id in self.fates}

    # -- what is seen -------------------------------------------------------------------------------------------

    def sent(self, sender: Peer, target: Peer, message: Message) -> None:
        name = type(message).__name__
        self.sends[name] = self.sends.get(name, 0) + 1
        if isinstance(message, Carrier) and sender == message.carried.event.id.publisher:
            for event in message.carried.events:
                if event.id in self.fates:
                    self.fates[event.id].left = True

    def stepped(self, peer: Peer, given: Given, effects: list[Effect], now_us: int) -> None:
        if type(given) is Started and not given.memory:
            self.since[peer] = self.world.lives[peer]
        for effect in effects:
            if type(effect) is Deliver:
                self._delivers(peer, effect, now_us)
            elif type(effect) is Note:
                self._notes(peer, effect)

    def _delivers(self, peer: Peer, delivery: Deliver, now_us: int) -> None:
        event, since = delivery.event, self.since[peer]
        fate = self.fates.get(event.id) or self.fates.setdefault(event.id, Fate(event, {}, now_us))
        before = fate.got.get(peer)
        if before is not None and before.since == since:
            raise CheckFailed(f"process {peer} delivered event {event.id} twice")
        if not self.reads(peer, event):
            raise CheckFailed(f"process {peer} delivered an event of {event.topic} that it did not ask for")
        first = before or Got(now_us - fate.published_us, delivery.hops, since)
        fate.got[peer] = Got(first.after_us, first.hops, since)

    def _notes(self, peer: Peer, note: Note) -> None:
        if note.kind == "relay" and note.event is not None:
            self.relays.setdefault(note.event, []).append(peer)
        elif note.kind == "reject":
            self.rejected += 1
            if len(self.rejects) < REJECTS_MAX:
                self.rejects.append((peer, note))
