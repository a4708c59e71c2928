"""The one door through which events enter a node, however they came: spread, found again, or published here."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from gossamer.core import shortcuts
from gossamer.core.events import Carried, Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import Deliver, Relayed
from gossamer.core.roles import Memory
from gossamer.core.trace import Kind

if TYPE_CHECKING:
    from gossamer.core.stack import Stack


UNKEPT_MAX = 100_000
"Events remembered that could not be kept; the oldest are forgotten, and no copy of them is kept any more."
PASSED_MAX = 100_000
"Events remembered to be for nobody here, at least: as many as ids are."


class Door:
    """An id counts as seen once its event was delivered, relayed, or belongs to a community of ours: one that came
    before anybody here wanted it is news to who subscribes later."""

    def __init__(self, node: "Stack", seen: Memory) -> None:
        self.node = node
        self.out = node.out
        self.seen = seen
        self.unkept: dict[EventId, None] = {}
        "Those seen that the store could not keep: the next copy goes there too, and is not passed on again."
        self.passed: set[EventId] = set()
        self.passed_before: set[EventId] = set()
        "Those seen that were for nobody here: they belong to a community this node is in to publish there."

    def accept(self, carried: Carried, via: Peer) -> Carried | None:
        """What is new of these events and should be carried on."""
        if carried.more:
            return self._accept_all(carried, via)
        event, node = carried.event, self.node
        event_id = event.id
        if event_id in self.seen:
            if event_id in self.unkept:
                self._keep_at_last(carried)
            else:
                self.out.note("duplicate", event=event_id, peer=via)
            return None
        wanted = node.interest.matches(event)
        relays = node.spread.relays
        strange = not wanted and via != node.me and (relays or not node.interest.communities(event.topic))
        if strange:
            kind: Kind = "relay" if relays else "parasite"
            self.out.note(kind, event=event_id, peer=via, topic=event.topic)
            if not relays:
                for layer in node.layers:
                    layer.unasked(via, event.topic)
                return None
            self.out.effects.append(Relayed(event, carried.hops))
        self.seen.add(event_id)
        if self.unkept:
            self.unkept.pop(event_id, None)
        if wanted:
            self.out.effects.append(Deliver(event, carried.hops))
        elif not strange:
            self._pass((event,))
        if node.recover is not None:
            node.recover.heard(carried, via, wanted)
        return carried

    def _accept_all(self, carried: Carried, via: Peer) -> Carried | None:
        """Several events: at once if all of them are new and none is strange here, the usual case; otherwise one after
        the other."""
        events, node = carried.events, self.node
        topic, interest = carried.event.topic, node.interest
        wanted = interest.wants(topic)
        usual = wanted or via == node.me or (not node.spread.relays and bool(interest.communities(topic)))
        if not (usual and interest.alike(events) and self.seen.add_all([event.id for event in events])):
            return shortcuts.kept_together(carried, lambda one: self.accept(one, via) is not None)
        for event in events if self.unkept else ():
            self.unkept.pop(event.id, None)
        if wanted:
            self.out.effects += [Deliver(event, carried.hops) for event in events]
        else:
            self._pass(events)
        if node.recover is not None:
            node.recover.heard(carried, via, wanted)
        return carried

    def _pass(self, events: Sequence[Event]) -> None:
        """These are for nobody here."""
        if len(self.passed) >= PASSED_MAX:
            self.passed_before, self.passed = self.passed, set()
        self.passed.update([event.id for event in events])

    def only_passed(self, event_id: EventId) -> bool:
        return event_id in self.passed or event_id in self.passed_before

    def forget(self, events: Iterable[EventId]) -> None:
        """The store could not keep these."""
        self.unkept |= {each: None for each in events if each in self.seen}
        for oldest in [*self.unkept][: max(0, len(self.unkept) - UNKEPT_MAX)]:
            del self.unkept[oldest]

    def _keep_at_last(self, carried: Carried) -> None:
        event = carried.event
        del self.unkept[event.id]
        if self.node.interest.matches(event):
            self.out.effects.append(Deliver(event, carried.hops, again=True))
        elif self.node.spread.relays:
            self.out.effects.append(Relayed(event, carried.hops))
