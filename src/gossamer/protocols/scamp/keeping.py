"""The views: what a node does for the subscriptions of others (SCAMP's contact, forwarding and unsubscription rules).

Invariant: a view never holds this node, never more than `view_max` peers, and whoever is held is told so.
"""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from gossamer.core.draws import JOIN, chance, distinct, fold
from gossamer.core.ids import Peer
from gossamer.core.layer import Handler, Layer
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.parts.bucket import Buckets, first_hand
from gossamer.protocols.scamp import rules
from gossamer.protocols.scamp.messages import Accept, Forward, Gone, Join, Kept
from gossamer.protocols.scamp.params import Params
from gossamer.protocols.scamp.view import View, ViewEntry

JOINS_PER_S, JOINS_BURST = 640, 6400
"""Subscriptions of one peer that are heard, each counted as often as it makes copies: 10 a second in a community of
millions, hundreds where there are a few members. So who joins thousands of small ones at once does."""
REJOINS_PER_S, REJOINS_BURST = 10, 50
"The same to one community, however few copies it makes: a walk comes by several times."
FORWARDS_PER_S, FORWARDS_BURST = 100, 1000
"Copies of one peer's subscriptions that are heard. In a small community each copy comes by several times."
RELAYED_PER_S, RELAYED_BURST = 500, 5000
"Both, by who passes them on."
COPIES_MAX = 64
"Copies one subscription makes, however large the contact's view: (c + 1) ln N is 28 for a million members."


class Keeping(Layer):
    """One view per community this node is in."""

    def __init__(self, node: Stack, params: Callable[[Topic], Params]) -> None:
        super().__init__(node)
        self.params = params
        self.views: dict[Topic, View] = {}
        self.count = 0
        self.joins = Buckets(JOINS_PER_S, JOINS_BURST)
        self.rejoins = Buckets(REJOINS_PER_S, REJOINS_BURST)
        self.forwards = Buckets(FORWARDS_PER_S, FORWARDS_BURST)
        self.relayed = Buckets(RELAYED_PER_S, RELAYED_BURST)

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {Join: self.on_join, Forward: self.on_forward, Kept: self.on_kept, Gone: self.on_gone}

    # -- life ---------------------------------------------------------------------------------------------------

    def joined(self, topic: Topic) -> None:
        self.views[topic] = View(self.fresh(), self.node.now_us, self.params(topic))

    def left(self, topic: Topic) -> None:
        view = self.views.pop(topic, None)
        if view is None:
            return
        for holder, heir in rules.farewell([*view.holders], [*view.held], self.params(topic).extra_copies):
            self.out.send([holder], Gone(topic, heir))
        self.out.send([peer for peer in view.held if peer not in view.holders], Gone(topic))

    def leaving(self) -> None:
        for topic in tuple(self.views):
            self.left(topic)

    def peer_down(self, peer: Peer) -> None:
        for view in self.views.values():
            view.drop(peer)

    # -- subscriptions of others --------------------------------------------------------------------------------

    def on_join(self, peer: Peer, join: Join) -> None:
        """Walks the subscription on, or acts on it as its contact."""
        view = self.member(peer, join.topic)
        if view is None or join.who == self.node.me or not self.takes(peer, join, view):
            return
        around = [other for other in view.known() if other != join.who]
        if rules.steps_back(chance(self.fresh_key(JOIN), 0), join.degree, len(around)):
            self.out.send([peer], replace(join, walk=max(0, join.walk - 1), degree=0))
        elif join.walk > 0 and around:
            walk = min(join.walk, self.params(join.topic).indirection) - 1
            self.out.send([self.one_of(around)], replace(join, walk=walk, degree=len(around)))
        else:
            self.out.send([join.who], Accept(join.topic, join.number))
            self.greet(join.who, join.topic)
            self.spread_copies(join, view)

    def spread_copies(self, join: Join, view: View) -> None:
        params = self.params(join.topic)
        lease_us = min(join.lease_us, params.lease_us)
        others = view.others(join.who)
        if not others:
            self.hold(join.topic, view, join.who, join.number, lease_us)
            return
        copies = self.copies(join, view)
        told = [others[i] for i in distinct(self.fresh_key(JOIN), len(others), copies)]
        told += [self.one_of(others) for _ in range(copies - len(told))]
        self.out.send(told, Forward(join.topic, join.who, join.number, params.forwards_max, lease_us))

    def copies(self, join: Join, view: View) -> int:
        """Those a contact makes of a subscription."""
        wished = len(view.others(join.who)) + self.params(join.topic).extra_copies
        return min(COPIES_MAX, wished if join.copies is None else join.copies)

    def on_forward(self, peer: Peer, forward: Forward) -> None:
        """Keeps a copy or passes it on. One that meets an older copy of itself renews that, and is used up."""
        view = self.member(peer, forward.topic)
        if view is None or not self.heard(peer, self.forwards, forward):
            return
        params = self.params(forward.topic)
        held = view.held.get(forward.who)
        others = view.others(forward.who)
        here = forward.who == self.node.me or (held is not None and held.number == forward.number)
        last = forward.hops <= 1 or not others
        stays = held is not None or last or rules.keeps(chance(self.fresh_key(JOIN), 0), len(view.held))
        if stays and not here:
            lease_us = min(forward.lease_us, params.lease_us)
            self.hold(forward.topic, view, forward.who, forward.number, lease_us)
        elif not last:
            hops = min(forward.hops, params.forwards_max) - 1
            self.out.send([self.one_of(others)], replace(forward, hops=hops))

    def hold(self, topic: Topic, view: View, peer: Peer, number: int, lease_us: int) -> None:
        """Puts a peer into the view, or extends its stay there, and tells it. Others speak for it, so nothing they say
        shortens its stay."""
        until_us = self.node.now_us + lease_us
        if (held := view.held.get(peer)) is not None:
            until_us = max(until_us, held.until_us)
        if not view.take(peer, ViewEntry(number, until_us), self.params(topic).view_max, self.node.owners):
            return
        self.out.send([peer], Kept(topic))
        self.greet(peer, topic)

    def on_kept(self, peer: Peer, kept: Kept) -> None:
        if view := self.member(peer, kept.topic):
            view.holds_us(peer, self.params(kept.topic).view_max, self.node.owners)

    def on_gone(self, peer: Peer, gone: Gone) -> None:
        view = self.views.get(gone.topic)
        if view is None:
            return
        was_held = peer in view.held
        view.drop(peer)
        heir = gone.instead
        if was_held and heir is not None and heir != self.node.me and heir not in view.held:
            self.hold(gone.topic, view, heir, 0, self.params(gone.topic).lease_us)

    # -- small things -------------------------------------------------------------------------------------------

    def member(self, peer: Peer, topic: Topic) -> View | None:
        """Our view of a community, or word to the peer that we are not in it: it should not hold us there."""
        view = self.views.get(topic)
        if view is None:
            self.out.send([peer], Gone(topic))
        return view

    def takes(self, peer: Peer, join: Join, view: View) -> bool:
        if self.rejoins.take((first_hand(join.who, peer), join.topic), self.node.now_us):
            return self.heard(peer, self.joins, join, self.copies(join, view))
        self.out.note("reject", peer=peer, topic=join.topic, detail="too many requests")
        return False

    def heard(self, peer: Peer, allowed: Buckets, message: Join | Forward, cost: int = 1) -> bool:
        now_us = self.node.now_us
        if self.relayed.take(peer, now_us) and allowed.take(first_hand(message.who, peer), now_us, max(1, cost)):
            return True
        self.out.note("reject", peer=peer, topic=message.topic, detail="too many requests")
        return False

    def greet(self, peer: Peer, topic: Topic) -> None:
        self.node.tell(lambda layer: layer.greeting(peer, topic))

    def fresh(self) -> int:
        self.count += 1
        return self.count

    def fresh_key(self, why: int) -> int:
        """A key no other draw of this node has; time tells a node's lives apart."""
        return self.node.key(why, fold(self.node.now_us, self.fresh()))

    def one_of(self, peers: Sequence[Peer]) -> Peer:
        return peers[distinct(self.fresh_key(JOIN), len(peers), 1)[0]]
