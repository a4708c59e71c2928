"""Digests for a spread that counts no patterns: who holds events tells others which, of what they want (004, 5.4.1).

A spread that matches events on their way knows what its peers want, and nobody could see a gap: each subscriber gets
what its own filters match. So digests name events, chosen for whom they go to, while these are young. What is only
carried for others is held and asked for too: below a delegate nobody else may have it.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from msgspec import Struct

from gossamer.core.draws import EXCHANGE
from gossamer.core.events import Carried, Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.patterns import Pattern
from gossamer.core.stack import Stack
from gossamer.core.topics import ROOT, Topic
from gossamer.protocols.recovery import rules
from gossamer.protocols.recovery.holding import Holding
from gossamer.protocols.recovery.messages import DIGEST_MAX, Digest
from gossamer.protocols.recovery.params import Params


class Wanting(Protocol):
    """What somebody wants, as far as is known."""

    def matches(self, event: Event) -> bool: ...


@runtime_checkable
class Matching(Protocol):
    """A spread that knows what its peers want."""

    def picked(self, k: int, key: int) -> tuple[Sequence[tuple[Peer, Wanting]], bool]:
        """Some peers, each with what it wants, or those it stands for; and whether they are to hear of all that is
        held, or only of what is our own."""


class Trade(Struct, frozen=True):
    """Timer: tell some others what is held."""

    due_us: int


class Exchange:
    """One node's. All settings are those of the root topic."""

    def __init__(self, node: Stack, ground: object, holding: Holding, params: Callable[[Topic], Params]) -> None:
        self.node, self.holding, self.params = node, holding, params
        self.ground = ground if isinstance(ground, Matching) else None
        self.young: dict[EventId, int] = {}
        "Events that are told of, and until when."
        self.interval_us = 0
        self.due_us: int | None = None
        self.busy = False
        "Whether there was news since the last digests, or somebody wanted some."
        self.rounds = 0

    def applies(self, topic: Topic) -> bool:
        return self.ground is not None and self.params(topic).method == "exchange"

    def heard(self, carried: Carried, ours: bool) -> None:
        """An event came: for a while others are told of it."""
        self.holding.keep(carried, ours)
        params = self.params(ROOT)
        self.young[carried.event.id] = self.node.now_us + params.expiry_us
        if len(self.young) > params.cache:
            del self.young[next(iter(self.young))]
        self.make_haste()

    def make_haste(self) -> None:
        least_us = self.params(ROOT).interval_us
        self.busy = True
        if self.young and (self.due_us is None or self.interval_us > least_us):
            self.interval_us = least_us
            self.wait()

    def wait(self) -> None:
        self.due_us = self.node.now_us + self.interval_us
        self.node.out.timer(self.interval_us, Trade(self.due_us))

    def on_trade(self, timer: Trade) -> None:
        if timer.due_us != self.due_us or self.ground is None:
            return
        self.due_us = None
        now_us, params = self.node.now_us, self.params(ROOT)
        for event_id in [event_id for event_id, until_us in self.young.items() if until_us <= now_us]:
            del self.young[event_id]
        if not self.young:
            return
        self.rounds += 1
        peers, everything = self.ground.picked(params.fanout, self.node.key(EXCHANGE, self.rounds))
        held = self.held(everything)
        for peer, wanting in peers:
            self.tell(peer, [event for event in held if wanting.matches(event)])
        self.interval_us = rules.next_interval(self.interval_us, params.interval_us, self.busy)
        self.busy = False
        self.wait()

    def held(self, everything: bool) -> list[Event]:
        """The youngest events."""
        found = [self.holding.get(event_id) for event_id in [*self.young][-DIGEST_MAX:]]
        me = self.node.me
        return [it.event for it in found if it is not None and (everything or it.event.id.publisher == me)]

    def tell(self, peer: Peer, events: Sequence[Event]) -> None:
        by_topic: dict[Topic, list[EventId]] = {}
        for event in events:
            if event.id.publisher != peer:
                by_topic.setdefault(event.topic, []).append(event.id)
        for topic, ids in by_topic.items():
            ages_us = tuple(map(self.holding.age_us, ids))
            self.node.out.send([peer], Digest(Pattern(topic), tuple(ids), self.node.me, self.rounds, ages_us))
