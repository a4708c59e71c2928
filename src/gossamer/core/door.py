"""The one door through which events enter a node, however they came: spread, found again, or published here."""

from typing import TYPE_CHECKING

from gossamer.core import shortcuts
from gossamer.core.events import Carried
from gossamer.core.ids import Peer
from gossamer.core.machine import Deliver
from gossamer.core.roles import Memory
from gossamer.core.trace import Kind

if TYPE_CHECKING:
    from gossamer.core.stack import Stack


class Door:
    """An id counts as seen once its event was delivered, relayed, or belongs to a community of ours: one that came
    before anybody here wanted it is news to who subscribes later."""

    def __init__(self, node: "Stack", seen: Memory) -> None:
        self.node = node
        self.out = node.out
        self.seen = seen

    def accept(self, carried: Carried, via: Peer) -> Carried | None:
        """What is new of these events and should be carried on."""
        if carried.more:
            return self._accept_all(carried, via)
        event, node = carried.event, self.node
        if event.id in self.seen:
            self.out.note("duplicate", event=event.id, peer=via)
            return None
        wanted = node.interest.matches(event)
        relays = node.spread.relays
        strange = not wanted and via != node.me and (relays or not node.interest.communities(event.topic))
        if strange:
            kind: Kind = "relay" if relays else "parasite"
            self.out.note(kind, event=event.id, peer=via, topic=event.topic)
            if not relays:
                node.tell(lambda layer: layer.unasked(via, event.topic))
                return None
        self.seen.add(event.id)
        if wanted:
            self.out.effects.append(Deliver(event, carried.hops))
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
        if wanted:
            self.out.effects += [Deliver(event, carried.hops) for event in events]
        if node.recover is not None:
            node.recover.heard(carried, via, wanted)
        return carried
