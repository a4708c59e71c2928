"""A tree for each topic that grows out of flooding, over any Members, and mends itself (Leitão, Pereira, Rodrigues,
*Epidemic Broadcast Trees*, 2007).

At first every link is eager: events are pushed over it. Whoever gets an event a second time says so, and that link is
lazy from then on, both ways: it carries ids, gathered for a moment. What is left of the eager links reaches everybody
and has no circle, for the first copy of an event came to each node over exactly one of them. A node that hears of an
event it does not get asks for it, and the link it asks over is eager again: that mends the tree when links, nodes or
messages are lost.
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from gossamer.core.events import Carried
from gossamer.core.ids import EventId, Peer
from gossamer.core.layer import Bound, Handler
from gossamer.core.patterns import Pattern
from gossamer.core.roles import Members
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.parts.awaited import AWAITED_MAX, Awaited
from gossamer.parts.bucket import Buckets
from gossamer.protocols.flood.branches import GUESTS_MAX, Branches
from gossamer.protocols.flood.layer import Flood
from gossamer.protocols.flood.messages import IDS_MAX, Graft, Have, Near, Part, Pass, Prune
from gossamer.protocols.flood.params import Params
from gossamer.protocols.flood.telling import KeptEvent, LazyTelling, Recent

TOPICS_MAX = 1000
"Topics whose tree is remembered; the others are flooded anew."
WORDS_PER_S, WORDS_BURST = 50, 100
"Answers to one peer other than events."
GRAFTS_PER_S = 1000
"Events (of up to 4 KiB; larger ones count more) one peer is sent because it asks, twice as many at once."
FREE_BYTES = 4096


class TellLazily(Struct, frozen=True):
    """Timer: what was gathered is told."""


class Look(Struct, frozen=True):
    """Timer: something that others have may be late."""


class BroadcastTree(Flood):
    """The flood's layer on nodes that have `tree` on."""

    def __init__(self, node: Stack, members: Members, params: Params) -> None:
        super().__init__(node, members)
        self.params = params
        self.branches: dict[Topic, Branches] = {}
        self.recent = Recent(params.remembered)
        self.telling: dict[Topic, LazyTelling] = {}
        self.awaited: Awaited[Topic] = Awaited()
        self.tell_set = self.look_set = False
        self.words = Buckets(WORDS_PER_S, WORDS_BURST)
        self.grafts = Buckets(GRAFTS_PER_S, 2 * GRAFTS_PER_S)

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {
            Pass: self.on_pass,
            Have: self.on_have,
            Graft: self.on_graft,
            Prune: self.on_prune,
            Near: self.on_near,
            Part: self.on_part,
            TellLazily: self.on_tell,
            Look: self.on_look,
        }

    def bounds(self) -> Iterator[Bound]:
        yield "trees", len(self.branches), TOPICS_MAX
        yield "events remembered", len(self.recent.kept), self.params.remembered
        yield "events awaited", len(self.awaited), AWAITED_MAX
        for topic, branch in self.branches.items():
            yield f"guests of {topic}", len(branch.guests), GUESTS_MAX
        for topic, telling in self.telling.items():
            yield f"events to tell of on {topic}", len(telling), IDS_MAX

    def lives_by(self, topic: Topic | None) -> Iterator[Struct]:
        if topic is None and self.telling:
            yield TellLazily()
        if topic is None and len(self.awaited):
            yield Look()

    # -- neighbours -------------------------------------------------------------------------------------------

    def branch(self, topic: Topic) -> Branches:
        """A topic's neighbours as of now. Only events make new ones: words about made-up topics must not."""
        branch = self.branches.pop(topic) if topic in self.branches else Branches()
        self.branches[topic] = branch
        if len(self.branches) > TOPICS_MAX:
            del self.branches[next(iter(self.branches))]  # the one used longest ago
        if branch.era != self.node.era:
            me, now_us = self.node.me, self.node.now_us
            branch.settle(self.node.era, [peer for peer in self.members.about(topic) if peer != me], now_us)
            self.out.send(branch.silent(now_us), Near(topic, asks=True))
        return branch

    def grown(self, topic: Topic) -> Branches | None:
        return self.branch(topic) if topic in self.branches else None

    def meet(self, topic: Topic, peer: Peer) -> None:
        """Somebody speaks to us of a topic: it takes part, and has us for a neighbour, or had."""
        branch = self.grown(topic)
        if branch is not None:
            branch.away.pop(peer, None)
            if branch.is_strange(peer, self.node.now_us):
                self.answer(peer, Near(topic, asks=True))

    def on_near(self, peer: Peer, near: Near) -> None:
        if not self.takes_part(near.topic):
            self.answer(peer, Part(near.topic))
        elif near.asks:
            if peer in self.members.about(near.topic):
                self.answer(peer, Near(near.topic))
        elif (branch := self.grown(near.topic)) is not None:
            branch.welcome(peer, self.node.now_us)

    def towards(self, pattern: Pattern) -> Sequence[Peer]:
        branch = self.branches.get(pattern.topic)
        return [*dict.fromkeys([*super().towards(pattern), *(() if branch is None else branch.guests)])]

    def link_up(self, peer: Peer) -> None:
        for branch in self.branches.values():
            branch.lazy.pop(peer, None)
            branch.away.pop(peer, None)

    def wants_changed(self, peer: Peer) -> None:
        for branch in self.branches.values():
            branch.away.pop(peer, None)

    def link_down(self, peer: Peer) -> None:
        for branch in self.branches.values():
            branch.forget(peer)

    def peer_down(self, peer: Peer) -> None:
        self.link_down(peer)

    def left(self, topic: Topic) -> None:
        """Whoever still counts on us is told, before it sends what nobody here wants."""
        for each in [each for each in self.branches if not self.takes_part(each)]:
            self.out.send(self.branches.pop(each).around, Part(each))

    def leaving(self) -> None:
        for topic, branch in self.branches.items():
            self.out.send(branch.around, Part(topic))
        self.branches = {}

    def takes_part(self, topic: Topic) -> bool:
        return bool(self.node.interest.communities(topic))

    # -- events -----------------------------------------------------------------------------------------------

    def on_pass(self, peer: Peer, message: Pass) -> None:
        carried = message.carried
        if self.node.accept(carried, via=peer):
            self.carry_on(carried, via=peer)
        elif self.takes_part(carried.event.topic):
            self.repeated(peer, (carried.event.id,))
        else:
            self.answer(peer, Part(carried.event.topic))

    def carry_on(self, carried: Carried, via: Peer) -> None:
        event, me = carried.event, self.node.me
        branch = self.branch(event.topic)
        self.recent.put(carried, via)
        self.awaited.found(event.id)
        branch.heard_of(event.id.publisher, self.node.now_us)
        if via == me:
            if not branch.eager():
                branch.lazy.clear()  # cut off from the tree: all who know us may hang us on it again
        else:
            self.keep(branch, event.topic, via)
        had_by = (via, event.id.publisher)
        self.out.send([peer for peer in branch.eager() if peer not in had_by], Pass(carried.hop()))
        if branch.lazy:
            self.gather(event.topic, event.id, carried.hops, had_by)

    def keep(self, branch: Branches, topic: Topic, via: Peer) -> None:
        """The first copy came over this link: it is eager, unless we said otherwise while the copy was under way."""
        if self.node.now_us - branch.lazy.get(via, -self.params.patience_us) >= self.params.patience_us:
            branch.lazy.pop(via, None)
        self.meet(topic, via)

    def repeated(self, peer: Peer, events: Sequence[EventId]) -> None:
        """Copies too many: their link is lazy from now on, as long as the one the first copy came over stays eager."""
        now_us = self.node.now_us
        for event_id in events:
            kept = self.recent.get(event_id)
            if kept is None or kept.via in (peer, self.node.me):
                continue
            branch = self.branch(kept.carried.event.topic)
            if kept.via not in branch.lazy and branch.shapes(event_id.publisher, now_us):
                self.prune(kept.carried.event.topic, peer)

    def prune(self, topic: Topic, peer: Peer) -> None:
        branch, now_us = self.branch(topic), self.node.now_us
        said_us = branch.lazy.get(peer)
        if said_us is not None and now_us - said_us < self.params.patience_us:
            return  # its copies under way crossed our word
        if peer in branch.around:
            branch.lazy[peer] = now_us
        self.answer(peer, Prune(topic))

    def on_prune(self, peer: Peer, prune: Prune) -> None:
        branch = self.grown(prune.topic)
        if branch is not None and self.takes_part(prune.topic):
            self.meet(prune.topic, peer)
            if peer in branch.around:
                branch.lazy[peer] = branch.lazy.get(peer, self.node.now_us - self.params.patience_us)

    def on_part(self, peer: Peer, part: Part) -> None:
        branch = self.grown(part.topic)
        if branch is not None:
            branch.leave_alone(peer, self.node.now_us)

    # -- what lazy links carry --------------------------------------------------------------------------------

    def gather(self, topic: Topic, event_id: EventId, hops: int, had_by: Sequence[Peer]) -> None:
        telling = self.telling.setdefault(topic, LazyTelling())
        telling.add(event_id, hops, had_by)
        if len(telling) >= IDS_MAX:
            self.tell(topic)
        elif not self.tell_set:
            self.tell_set = True
            self.out.timer(self.params.linger_us, TellLazily())

    def on_tell(self, timer: TellLazily) -> None:
        self.tell_set = False
        for topic in [*self.telling]:
            self.tell(topic)

    def tell(self, topic: Topic) -> None:
        telling = self.telling.pop(topic)
        if self.takes_part(topic):
            for peers, have in telling.told(topic, self.branch(topic).listeners()):
                self.out.send(peers, have)

    def on_have(self, peer: Peer, have: Have) -> None:
        topic = have.topic
        if not self.takes_part(topic):
            self.answer(peer, Part(topic))
            return
        telling = self.telling.get(topic)
        self.meet(topic, peer)
        for place, event_id in enumerate(have.ids):
            if not self.node.knows(event_id):
                self.awaited.add(event_id, topic, peer, self.node.now_us + self.params.patience_us)
                continue
            if telling is not None:
                telling.has(peer, event_id)
            if self.params.shortcut and place < len(have.hops):
                self.shorten(topic, peer, self.recent.get(event_id), have.hops[place] + 1)
        self.look_later()

    def shorten(self, topic: Topic, peer: Peer, kept: KeptEvent | None, hops: int) -> None:
        """Takes the way over a lazy neighbour instead of the one an event came, if it is that much shorter."""
        if kept is None or kept.via in (peer, self.node.me) or kept.carried.event.topic != topic:
            return
        branch = self.branch(topic)
        calm = self.node.now_us - branch.turned_us >= 2 * self.params.patience_us
        if calm and kept.carried.hops - hops >= self.params.shortcut and peer in branch.lazy:
            branch.turned_us = self.node.now_us
            branch.lazy.pop(peer)
            self.answer(peer, Graft(topic))
            self.prune(topic, kept.via)

    # -- what is missing --------------------------------------------------------------------------------------

    def look_later(self) -> None:
        due_us = self.awaited.next_us()
        if due_us is not None and not self.look_set:
            self.look_set = True
            self.out.timer(max(1, due_us - self.node.now_us), Look())

    def on_look(self, timer: Look) -> None:
        self.look_set = False
        now_us, again_us = self.node.now_us, self.node.now_us + self.params.patience_us
        for peer, topic, ids in self.awaited.ask(now_us, again_us, IDS_MAX, self.is_wanted):
            if topic in self.branches:
                self.branches[topic].lazy.pop(peer, None)
            self.out.send([peer], Graft(topic, ids))
        self.look_later()

    def is_wanted(self, event_id: EventId, topic: Topic) -> bool:
        return not self.node.knows(event_id) and self.takes_part(topic)

    def on_graft(self, peer: Peer, graft: Graft) -> None:
        topic = graft.topic
        if not self.takes_part(topic):
            self.answer(peer, Part(topic))
            return
        self.meet(topic, peer)
        if topic in self.branches:
            self.branches[topic].lazy.pop(peer, None)
        for event_id in dict.fromkeys(graft.ids):
            kept = self.recent.get(event_id)
            if kept is None or kept.carried.event.topic != topic:
                continue
            cost = min(1 + len(kept.carried.event.payload) / FREE_BYTES, self.grafts.burst)
            if not self.grafts.take(peer, self.node.now_us, cost):
                break
            self.out.send([peer], Pass(kept.carried.hop()))
        self.spare(topic, peer, graft.ids)

    def spare(self, topic: Topic, peer: Peer, ids: Sequence[EventId]) -> None:
        """What a peer asked for need not be told to it as well."""
        telling = self.telling.get(topic)
        if telling is not None:
            for event_id in ids:
                telling.has(peer, event_id)

    def answer(self, peer: Peer, word: Struct) -> None:
        if self.words.take(peer, self.node.now_us):
            self.out.send([peer], word)


def flooding(node: Stack, members: Members, params: Params) -> Flood:
    """The spread these parameters ask for."""
    return BroadcastTree(node, members, params) if params.tree else Flood(node, members)
