"""The node: layers that share one outbox, behind one door for events.

Layers are plain objects that call each other; only the stack is a machine. Building a layer with
`Camcast(node, members=…)` is all the wiring there is.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from gossamer.core import machine
from gossamer.core.draws import fold
from gossamer.core.events import Attribute, Carried, Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.interest import Interest
from gossamer.core.machine import Deliver, Effect, Given, Message, Note
from gossamer.core.outbox import Outbox
from gossamer.core.patterns import Pattern
from gossamer.core.roles import Memory, Outside, Recover, Spread
from gossamer.core.topics import Hierarchy, Topic
from gossamer.core.trace import Kind

Handler: TypeAlias = Callable[..., None]

PENDING_MAX = 1000
"Publications that may wait for the node to find its place in a community."


OWNERS_MAX = 20_000
"Peers whose owner is remembered."


class Layer:
    """One protocol's part of a node. Override what you need; each method is a moment in the node's life."""

    def __init__(self, node: "Stack") -> None:
        self.node = node
        self.out = node.out
        node.add(self)

    def hears(self) -> Mapping[type[Struct], Handler]:
        """Message types (handled as `on_x(peer, message)`) and timer types (`on_x(timer)`)."""
        return {}

    def publish_all(self, events: Sequence[Event]) -> bool:
        """For the layer that spreads events, if it takes several at a time (see `Spread`)."""
        return False

    def takes_packs(self) -> Collection[type[Struct]]:
        """Messages whose events it takes several at a time. Those of others come one by one."""
        return ()

    def started(self, contacts: Sequence[Peer]) -> None:
        """The node begins, or some of the peers it may begin with answered later."""

    def joined(self, topic: Topic) -> None:
        """This node now belongs to the topic's community."""

    def left(self, topic: Topic) -> None:
        """This node no longer belongs to it."""

    def tuned(self, topic: Topic, params: Struct) -> None:
        """Parameters changed."""

    def repeated(self, peer: Peer, events: Sequence[EventId]) -> None:
        """A peer sent copies of events this node already has."""

    def recovered(self, carried: Carried) -> None:
        """An event came otherwise than it should have: it was found again, or just earlier."""

    def interest_changed(self) -> None:
        """Our users subscribe to other patterns now, in communities new or old."""

    def fetched(self, peer: Peer, events: Sequence[Event]) -> None:
        """Events that were asked of the store for this peer; those it no longer has are missing."""

    def peer_down(self, peer: Peer) -> None:
        """A peer was given up."""

    def link_up(self, peer: Peer) -> None:
        """An overlay has a new neighbour."""

    def link_down(self, peer: Peer) -> None:
        """A neighbour of the overlay is one no longer."""

    def wants_changed(self, peer: Peer) -> None:
        """A neighbour of the overlay wants other topics than before."""

    def leaving(self) -> None:
        """The node goes."""


class Stack:
    """A node. See `core/machine.py` for the contract it keeps."""

    spread: Spread
    outside: Outside | None = None
    recover: Recover | None = None

    def __init__(self, me: Peer, seed: int, hierarchy: Hierarchy, seen: Memory) -> None:
        self.me = me
        self.seed = seed
        self.now_us = 0
        self.hierarchy = hierarchy
        self.interest = Interest(hierarchy)
        self.seen = seen
        self.out = Outbox()
        self.layers: list[Layer] = []
        self.pending: dict[EventId, Event] = {}
        self.stopping: dict[Topic, None] = {}
        self.owners: dict[Peer, int] = {}
        self.hearers: dict[type[Struct], Handler] = {}
        self.carriers: dict[type[Struct], Handler] = {}
        "Those of the hearers whose messages carry events (in a field `carried`): events change no view or table."
        self.one_by_one: dict[type[Struct], None] = {}
        "Those messages of which each must carry one event."
        self.era = 0
        """Goes up whenever something but an event happened: what was worked out from views, tables, parameters and
        interest holds until then, so that it need not be worked out again for every event."""
        self._reasons: dict[int, int] = {}

    def add(self, layer: Layer) -> None:
        for heard, handler in layer.hears().items():
            if heard in self.hearers:
                raise TypeError(f"{heard.__name__} is heard by two layers: give each its own messages")
            self.hearers[heard] = handler
            if "carried" in heard.__struct_fields__:
                self.carriers[heard] = handler
                if heard not in layer.takes_packs():
                    self.one_by_one[heard] = None
        self.layers.append(layer)

    def key(self, why: int, word: int) -> int:
        """This node's draws for one reason and one event (or any other word)."""
        reason = self._reasons.get(why)
        if reason is None:
            reason = self._reasons[why] = fold(self.seed, why)
        return fold(fold(reason, word), self.me)  # type: ignore[no-any-return]

    def knows(self, event_id: EventId) -> bool:
        return event_id in self.seen

    def knows_any(self, event_ids: Sequence[EventId]) -> bool:
        return self.seen.has_any(event_ids)

    def patterns(self, topic: Topic, attributes: Mapping[str, Attribute]) -> tuple[int, ...]:
        return () if self.recover is None else self.recover.patterns(topic, attributes)

    def step(self, given: Given, now_us: int) -> list[Effect]:
        self.now_us = now_us
        kind = type(given)
        if kind is machine.Received:
            message: Any = given.message  # type: ignore[union-attr]
            carrier = self.carriers.get(type(message))
            if carrier is None:
                self._heard(given.peer, message)  # type: ignore[union-attr]
            elif message.carried.more and type(message) in self.one_by_one:
                for one in message.carried.each():
                    carrier(given.peer, replace(message, carried=one))  # type: ignore[union-attr]
            else:
                carrier(given.peer, message)  # type: ignore[union-attr]
        elif kind is machine.Publish:
            self.publish_all((given.event, *given.more), given.join)  # type: ignore[union-attr]
        elif kind is machine.Known:
            for layer in self.layers:
                layer.repeated(given.peer, given.events)  # type: ignore[union-attr,arg-type]
        else:
            self._told(given)
            self.era += 1
        effects, self.out.effects = self.out.effects, []
        return effects

    def _heard(self, peer: Peer, message: Message) -> None:
        hearer = self.hearers.get(type(message))
        if hearer is None:
            self.out.note("reject", peer=peer, detail="unknown message")
        else:
            hearer(peer, message)
            self.era += 1

    def _told(self, given: Given) -> None:
        match given:
            case machine.Fired(timer):
                self.hearers[type(timer)](timer)
            case machine.Subscribe(topic, where):
                self._change(lambda: self.interest.subscribe(Pattern(topic, where)))
                self.out.note("subscribe", topic=topic, detail=where or None)
            case machine.Unsubscribe(topic, where):
                self._change(lambda: self.interest.unsubscribe(Pattern(topic, where)))
                self.out.note("unsubscribe", topic=topic, detail=where or None)
            case machine.StartPublishing(topic):
                self.stopping.pop(topic, None)
                self._change(lambda: self.interest.publishing.setdefault(topic))
            case machine.StopPublishing(topic):
                self.stopping[topic] = None
                self._stop_publishing(topic)
            case machine.Started(contacts, memory):
                for event_id in memory:
                    self.seen.add(event_id)
                self.tell(lambda layer: layer.started(contacts))
                self.out.note("start")
                if any(getattr(layer, "relays", False) for layer in self.layers):
                    self.out.note("relay")  # said beforehand: what it carries for others then surprises nobody
            case machine.Contacted(contacts):
                self.tell(lambda layer: layer.started(contacts))
            case machine.Tune(topic, params):
                self.tell(lambda layer: layer.tuned(topic, params))
            case machine.Introduced(peer, owner):
                remember_owner(self.owners, peer, owner)
            case machine.Fetched(peer, events):
                self.tell(lambda layer: layer.fetched(peer, events))
            case machine.PeerDown(peer):
                self.tell(lambda layer: layer.peer_down(peer))
            case machine.Leave():
                self._drop_pending()
                self.tell(lambda layer: layer.leaving())
                self.out.note("stop")

    def tell(self, say: Callable[[Layer], None]) -> None:
        """Every layer hears of it, in the order they were built: an overlay says so when its links change."""
        for layer in self.layers:
            say(layer)

    def _change(self, change: Callable[[], object]) -> None:
        before = self.interest.mine()
        change()
        self.interest.changed()
        self.era += 1
        after = self.interest.mine()
        for topic in after:
            if topic not in before:
                self.tell(lambda layer, topic=topic: layer.joined(topic))  # type: ignore[misc]
        for topic in before:
            if topic not in after:
                self.tell(lambda layer, topic=topic: layer.left(topic))  # type: ignore[misc]
        self.tell(lambda layer: layer.interest_changed())

    @property
    def waiting(self) -> int:
        """Publications that wait for the node to find its place; from PENDING_MAX on, further ones are dropped."""
        return len(self.pending)

    def publish_all(self, events: Sequence[Event], join: bool = True) -> None:
        """Several events at once, if the spread takes them so and nothing else is to be done; or one by one."""
        before = len(self.out.effects)
        if len(events) > 1 and self._flows(events) and self.spread.publish_all(events):
            self.out.effects[before:before] = [Note("publish", each.id, topic=each.topic) for each in events]
            return
        for event in events:
            self.publish(event, join)

    def _flows(self, events: Sequence[Event]) -> bool:
        """Whether all of these are new, and of one topic that is published on already."""
        topic, interest = events[0].topic, self.interest
        known = bool(self.pending) or self.seen.has_any([event.id for event in events])
        return topic in interest.publishing and topic not in self.stopping and interest.alike(events) and not known

    def publish(self, event: Event, join: bool = True) -> None:
        """Joins the event's community where needed, then hands the event to the spread, now or once it is ready."""
        if event.id in self.pending:
            if self._spread(event):
                del self.pending[event.id]
            return
        self.stopping.pop(event.topic, None)
        if join and event.topic not in self.interest.publishing:
            self._change(lambda: self.interest.publishing.setdefault(event.topic))
        again = event.id in self.seen
        if not again:
            self.out.note("publish", event=event.id, topic=event.topic)
        if not self._spread(event):
            self._keep_pending(event, again)

    def _spread(self, event: Event) -> bool:
        if self.outside is None or self.interest.takes_part(event.topic):
            return self.spread.publish(event)
        return self.outside.publish(event)

    def is_ready(self, topic: Topic) -> None:
        """This node has found its place, or members to hand events to: what waited for that goes out."""
        self.era += 1
        for event in [event for event in self.pending.values() if event.topic == topic]:
            if self._spread(event):
                del self.pending[event.id]
        self._stop_publishing(topic)

    def _keep_pending(self, event: Event, again: bool) -> None:
        if len(self.pending) < PENDING_MAX:
            self.pending[event.id] = event
            return
        if not again:
            self.out.effects.pop()  # the note: an event that was dropped is not published until it is taken
        self.out.note("drop", event=event.id, topic=event.topic, detail="too many publications wait to join")

    def _drop_pending(self) -> None:
        for event in self.pending.values():
            self.out.note("drop", event=event.id, topic=event.topic, detail="the node left before it found its place")
        self.pending = {}

    def _stop_publishing(self, topic: Topic) -> None:
        """A publisher may go after one hand-over, but not before."""
        if topic in self.stopping and all(event.topic != topic for event in self.pending.values()):
            del self.stopping[topic]
            self._change(lambda: self.interest.publishing.pop(topic, None))
            if self.outside is not None:
                self.outside.close(topic)

    def accept(self, carried: Carried, via: Peer) -> Carried | None:
        """The one door for events, spread or recovered. What is new of them and should be carried on."""
        event = carried.event
        if carried.more:
            return self._accept_all(carried, via)
        if not self.seen.add(event.id):
            self.out.note("duplicate", event=event.id, peer=via)
            return None
        wanted = self.interest.matches(event)
        if wanted:
            self.out.effects.append(Deliver(event, carried.hops))
        elif via != self.me and (self.spread.relays or not self.interest.communities(event.topic)):
            kind: Kind = "relay" if self.spread.relays else "parasite"
            self.out.note(kind, event=event.id, peer=via, topic=event.topic)
            if not self.spread.relays:
                return None
        if self.recover is not None:
            self.recover.heard(carried, via, wanted)
        return carried

    def _accept_all(self, carried: Carried, via: Peer) -> Carried | None:
        """Several events: at once if all of them are new and none is strange here, the usual case; otherwise one after
        the other."""
        events, topic = carried.events, carried.event.topic
        wanted = self.interest.wants(topic)
        usual = wanted or via == self.me or (not self.spread.relays and bool(self.interest.communities(topic)))
        if not (usual and self.interest.alike(events) and self.seen.add_all([event.id for event in events])):
            return carried.only([one.event for one in carried.each() if self.accept(one, via)])
        if wanted:
            self.out.effects += [Deliver(event, carried.hops) for event in events]
        if self.recover is not None:
            self.recover.heard(carried, via, wanted)
        return carried


def remember_owner(owners: dict[Peer, int], peer: Peer, owner: int) -> None:
    """Keeps who runs a peer; the one told longest ago falls out when there are too many."""
    owners.pop(peer, None)
    owners[peer] = owner
    if len(owners) > OWNERS_MAX:
        del owners[next(iter(owners))]
