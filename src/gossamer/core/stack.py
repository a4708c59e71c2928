"""The node: layers that share one outbox, and the roles they have for each other.

Layers are plain objects that call each other; only the stack is a machine. Each protocol's `node.py` builds the layers
of a node and gives each its role with `use`: all the wiring there is stands there.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from msgspec import Struct

from gossamer.core import machine, shortcuts
from gossamer.core.door import Door
from gossamer.core.draws import fold
from gossamer.core.events import Attribute, Carried
from gossamer.core.ids import EventId, Peer
from gossamer.core.interest import NO_CHANGE, Change, Interest
from gossamer.core.layer import Handler, Layer
from gossamer.core.machine import Effect, Given, Message
from gossamer.core.messages import Carrier, Claim, Said
from gossamer.core.outbox import Outbox
from gossamer.core.patterns import Pattern
from gossamer.core.publications import LookForIdle, Publications
from gossamer.core.roles import Contacts, Links, Members, Memory, Outside, Recover, Spread
from gossamer.core.topics import Hierarchy, Topic

OWNERS_MAX = 20_000
"Peers whose owner is remembered."


class Stack:
    """A node. See `core/machine.py` for the contract it keeps."""

    layers: Sequence[Layer]
    hearers: dict[type[Struct], Handler]
    members: Members | None
    contacts: Contacts | None
    links: Links | None
    spread: Spread
    outside: Outside | None
    recover: Recover | None

    def __init__(
        self, me: Peer, seed: int, hierarchy: Hierarchy, seen: Memory, interest: Interest | None = None
    ) -> None:
        self.me = me
        self.seed = seed
        self.now_us = 0
        self.hierarchy = hierarchy
        self.interest = interest or Interest(hierarchy)
        self.out = Outbox()
        self.era = 0
        "Goes up whenever something but an event happened (see `core/shortcuts.py`)."
        self.door = Door(self, seen)
        self.publications = Publications(self)
        self.owners: dict[Peer, int] = {}

    # -- composition --------------------------------------------------------------------------------------------

    def use(
        self,
        *layers: Layer | None,
        members: Members | None,
        contacts: Contacts | None,
        links: Links | None,
        spread: Spread,
        outside: Outside | None,
        recover: Recover | None,
    ) -> None:
        """The layers this node is made of, in the order in which they are told of things, and who has which role. A
        role that nobody has is said to be None."""
        self.hearers = {LookForIdle: self.publications.on_look_for_idle}
        self.layers = [part for layer in layers if layer is not None for part in parts_of(layer)]
        for layer in self.layers:
            for heard, handler in layer.hears().items():
                if heard in self.hearers:
                    raise TypeError(f"{heard.__name__} is heard by two layers: give each its own messages")
                self.hearers[heard] = handler
        for role in (members, contacts, links, spread, outside, recover):
            if isinstance(role, Layer) and role not in self.layers:
                raise TypeError(f"{type(role).__name__} has a role, and is none of the layers: name it among them")
        self.members, self.contacts, self.links = members, contacts, links
        self.spread, self.outside, self.recover = spread, outside, recover

    def tell(self, say: Callable[[Layer], None]) -> None:
        """Every layer hears of it, in the order in which they are used: an overlay says so when its links change. Where
        each step passes (here, in the door) this is a plain loop: a closure costs also when it is not made."""
        for layer in self.layers:
            say(layer)

    # -- what is asked from outside -----------------------------------------------------------------------------

    def knows(self, event_id: EventId) -> bool:
        return event_id in self.door.seen

    def knows_any(self, event_ids: Sequence[EventId]) -> bool:
        return self.door.seen.has_any(event_ids)

    def lacks(self, event_id: EventId) -> bool:
        return event_id in self.door.unkept

    def was_kept(self, event_id: EventId) -> bool:
        return event_id in self.door.seen and not self.door.only_passed(event_id) and not self.lacks(event_id)

    def patterns(self, topic: Topic, attributes: Mapping[str, Attribute]) -> tuple[int, ...]:
        return () if self.recover is None else self.recover.patterns(topic, attributes)

    @property
    def waiting(self) -> int:
        return len(self.publications.pending)

    def claims(self, message: Message, sender: Peer) -> tuple[Claim, ...]:
        """Whom this message makes a member of what, if it is believed."""
        return message.claims(sender, self) if isinstance(message, Said) else ()

    @property
    def community(self) -> Topic:
        return self.interest.community

    def meant(self, spelled: str) -> Topic | None:
        return next((topic for layer in self.layers if (topic := layer.meant(spelled)) is not None), None)

    def wanted(self, packed: bytes) -> Sequence[Topic]:
        return [topic for layer in self.layers for topic in layer.wanted_topics(packed)]

    # -- what layers ask ----------------------------------------------------------------------------------------

    def key(self, why: int, word: int) -> int:
        """This node's draws for one reason and one event (or any other word)."""
        return fold(fold(reason(self.seed, why), word), self.me)  # type: ignore[no-any-return]

    def accept(self, carried: Carried, via: Peer) -> Carried | None:
        """The one door for events, spread or recovered. What is new of them and should be carried on."""
        return self.door.accept(carried, via)

    def is_ready(self, topic: Topic) -> None:
        """This node has found its place, or members to hand events to: what waited for that goes out."""
        self.era += 1
        self.publications.go_on(topic)

    def ready_for_all(self) -> None:
        """The same, where one place serves all topics."""
        for topic in self.publications.topics():
            self.is_ready(topic)

    # -- steps --------------------------------------------------------------------------------------------------

    def step(self, given: Given, now_us: int) -> list[Effect]:
        self.now_us = now_us
        kind = type(given)
        if kind is machine.Received:
            self._heard(given.peer, given.message)  # type: ignore[union-attr]
        elif kind is machine.Publish:
            self.publications.publish((given.event, *given.more), given.join)  # type: ignore[union-attr]
        elif kind is machine.Known:
            for layer in self.layers:
                layer.repeated(given.peer, given.events)  # type: ignore[union-attr,arg-type]
        elif kind is machine.Logged:  # neither does what becomes of them
            for layer in self.layers:
                layer.logged(given.runs, given.former)  # type: ignore[union-attr]
        else:
            self._told(given)
            self.era += 1
        return self.out.take()

    def _heard(self, peer: Peer, message: Any) -> None:
        hearer = self.hearers.get(type(message))
        if hearer is None:
            self.out.note("reject", peer=peer, detail="unknown message")
        elif isinstance(message, Carrier):  # events change no view or table
            if message.carried.more and not message.packs:
                shortcuts.one_by_one(message, peer, hearer)
            else:
                hearer(peer, message)
        else:
            hearer(peer, message)
            self.era += 1

    def _told(self, given: Given) -> None:
        match given:
            case machine.Fired(timer):
                self.hearers[type(timer)](timer)
            case machine.Subscribe(topic, where, since_us):
                if self.refusal([topic]) is not None:
                    self.out.note("reject", topic=topic, detail="too many topics")
                    return
                pattern = Pattern(topic, where)
                for layer in self.layers:
                    layer.reads(pattern, since_us or self.now_us)
                self._change(self.interest.subscribe(pattern))
                self.out.note("subscribe", topic=topic, detail=where or None)
            case machine.Unsubscribe(topic, where):
                self._change(self.interest.unsubscribe(Pattern(topic, where)))
                self.out.note("unsubscribe", topic=topic, detail=where or None)
            case machine.StartPublishing(topic):
                self.publications.start(topic)
            case machine.StopPublishing(topic):
                self.publications.stop(topic)
            case machine.Started(contacts, memory):
                for event_id in memory:
                    self.door.seen.add(event_id)
                for layer in self.layers:
                    layer.started(contacts)
                self.out.note("start")
                if self.spread.relays:
                    self.out.note("relay")  # said beforehand: what it carries for others then surprises nobody
            case machine.Contacted(contacts):
                for layer in self.layers:
                    layer.started(contacts)
            case machine.Tune(topic, params):
                for layer in self.layers:
                    layer.tuned(topic, params)
            case machine.Introduced(peer, owner):
                remember_owner(self.owners, peer, owner)
                for layer in self.layers:
                    layer.introduced(peer)
            case machine.Fetched(peer, events):
                for layer in self.layers:
                    layer.fetched(peer, events)
            case machine.Unkept(unkept, runs):
                self.door.forget(unkept)
                for layer in self.layers:
                    layer.unkept(runs)
            case machine.Pruned(runs):
                self.publications.pruned(runs)
                for layer in self.layers:
                    layer.pruned(runs)
            case machine.FromLog():
                for layer in self.layers:
                    layer.from_log(given)
            case machine.PeerDown(peer):
                for layer in self.layers:
                    layer.peer_down(peer)
            case machine.Leave():
                self.publications.drop_all()
                for layer in self.layers:
                    layer.leaving()
                self.out.note("stop")

    # -- interest -----------------------------------------------------------------------------------------------

    def change_publishing(self, topic: Topic, on: bool) -> None:
        """Joins a topic's community to publish there, or is no longer in it for that. Where it would be one too many,
        events are handed to members from outside."""
        if not on:
            self._change(self.interest.stop_publishing(topic))
        elif self.refusal([topic]) is None:
            self._change(self.interest.start_publishing(topic))

    def _change(self, change: Change) -> None:
        if change is NO_CHANGE:
            return
        self.era += 1
        for topic in change.joined:
            for layer in self.layers:
                layer.joined(topic)
        for topic in change.left:
            for layer in self.layers:
                layer.left(topic)
        for layer in self.layers:
            layer.interest_changed(change)

    def refusal(self, topics: Sequence[Topic], gone: Sequence[Topic] = ()) -> str | None:
        """Why this node cannot take part in these topics too, once its user reads those no more; None: it can."""
        interest = self.interest
        fresh = [topic for topic in topics if not interest.takes_part(topic)]
        left = [topic for topic in gone if topic in interest.subscribed and topic not in interest.publishing]
        for layer in self.layers if fresh else ():
            why = layer.refuses(fresh, left)
            if why is not None:
                return why
        return None


@lru_cache(maxsize=1024)
def reason(seed: int, why: int) -> int:
    """The key of all draws for one reason: all nodes of a simulation have it in common."""
    return fold(seed, why)  # type: ignore[no-any-return]


def parts_of(layer: Layer) -> list[Layer]:
    """A layer, after those it is made of."""
    if not layer.within:
        return [layer]
    return [*(part for inner in layer.within for part in parts_of(inner)), layer]


def remember_owner(owners: dict[Peer, int], peer: Peer, owner: int) -> None:
    """Keeps who runs a peer; the one told longest ago falls out when there are too many."""
    owners.pop(peer, None)
    owners[peer] = owner
    if len(owners) > OWNERS_MAX:
        del owners[next(iter(owners))]
