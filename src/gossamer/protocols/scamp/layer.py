"""Membership that keeps views of about (c + 1) ln N members, with nobody knowing N or everybody (SCAMP).

Invariant: a view never holds this node, never more than `view_max` peers, and nobody past its lease; whoever is
held learns so (`Kept`, then every `Beat`), hence a node that hears no beat knows that it is in nobody's view.
Joining, renewing and coming back from isolation are one act: ask the search for a contact, tell it, be accepted.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from gossamer.core.draws import JOIN, TICK, chance, distinct, draw, fold
from gossamer.core.ids import Peer
from gossamer.core.stack import Handler, Layer, Stack
from gossamer.core.topics import Topic
from gossamer.protocols.scamp import rules
from gossamer.protocols.scamp.headcount import Headcount
from gossamer.protocols.scamp.messages import Accept, Beat, Forward, Gone, Here, Join, Kept
from gossamer.protocols.scamp.params import Params
from gossamer.protocols.scamp.view import Held, View

GREET_EVERY = 8
"One beat in so many is answered with a greeting too, so that news reaches members that joined before it."


class Finder(Protocol):
    """The part of the search this layer uses."""

    knows: list[Callable[[Topic], Sequence[Peer]]]
    found: list[Callable[[Topic, Sequence[Peer]], None]]

    def ask(self, wanted: Sequence[Topic]) -> None: ...


class Patience(Struct, frozen=True):
    """Timer: nobody answered in time. Stale once somebody did."""

    topic: Topic
    generation: int


class Renew(Struct, frozen=True):
    """Timer: our subscription's lease nears its end. Stale once another subscription is under way."""

    topic: Topic
    generation: int


class Tick(Struct, frozen=True):
    """Timer: beats are due. Stale after the community was left."""

    topic: Topic
    life: int


class Scamp(Layer):
    """The members of each community this node is in."""

    def __init__(self, node: Stack, search: Finder, params: Params) -> None:
        self.search = search
        self.params = params
        self.tuned_params: dict[Topic, Params] = {}
        self.greets: list[Callable[[Peer, Topic], None]] = []
        "Called when a membership message goes to a peer, so that others may send something along."
        self.views: dict[Topic, View] = {}
        self.count = 0
        super().__init__(node)
        self.headcount = Headcount(node, members=self, params=self.params_of)
        search.knows.append(self.named)
        search.found.append(self.on_found)

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {
            Join: self.on_join,
            Accept: self.on_accept,
            Forward: self.on_forward,
            Kept: self.on_kept,
            Gone: self.on_gone,
            Beat: self.on_beat,
            Here: self.on_here,
            Patience: self.on_patience,
            Renew: self.on_renew,
            Tick: self.on_tick,
        }

    # -- what other layers ask ----------------------------------------------------------------------------------

    def about(self, topic: Topic) -> Sequence[Peer]:
        """Everybody known: the view, and those whose view this node is in. Both directions carry events, so a
        newcomer, whose own view is still short, reaches as many as later members do."""
        view = self.views.get(topic)
        return view.known() if view else []

    def sample(self, topic: Topic, k: int, key: int) -> list[Peer]:
        known = self.about(topic)
        return [known[i] for i in distinct(key, len(known), k)]

    def size(self, topic: Topic) -> int:
        """The census, but never less than the members known: a community just joined, or just grown, would
        otherwise be taken for the one counted an epoch ago, and nobody be told."""
        return max(self.headcount.size(topic), 1 + len(self.about(topic)))

    def ready(self, topic: Topic) -> bool:  # type: ignore[override]
        view = self.views.get(topic)
        return view is not None and view.ready

    def named(self, topic: Topic) -> list[Peer]:
        """Members to name to those who search, in ever another order: not the same few should serve all newcomers."""
        known = self.about(topic)
        key = self.fresh_key(JOIN)
        return sorted(known, key=lambda peer: draw(key, peer))

    # -- life -----------------------------------------------------------------------------------------------------

    def params_of(self, topic: Topic) -> Params:
        return self.tuned_params.get(topic, self.params)

    def tuned(self, topic: Topic, params: Struct) -> None:
        if isinstance(params, Params):
            self.tuned_params[topic] = params

    def joined(self, topic: Topic) -> None:
        params = self.params_of(topic)
        life = self.fresh()
        view = self.views[topic] = View(life, self.node.now_us, params.patience_us, params.first_lease_us)
        start = chance(self.fresh_key(TICK), 0)
        self.out.timer(1 + round(start * params.beat_every_us), Tick(topic, life))
        self.seek(topic, view)

    def left(self, topic: Topic) -> None:
        view = self.views.pop(topic, None)
        if view is None:
            return
        for holder, heir in rules.farewell([*view.holders], [*view.held], self.params_of(topic).extra_copies):
            self.out.send([holder], Gone(topic, heir))
        self.out.send([peer for peer in view.held if peer not in view.holders], Gone(topic))
        self.tuned_params.pop(topic, None)

    def leaving(self) -> None:
        for topic in tuple(self.views):
            self.left(topic)

    def peer_down(self, peer: Peer) -> None:
        for view in self.views.values():
            view.drop(peer)

    # -- subscribing ----------------------------------------------------------------------------------------------

    def seek(self, topic: Topic, view: View) -> None:
        """Begins a subscription: first somebody must name a contact."""
        view.phase = "asking"
        self.wait(topic, view, view.patience_us)
        view.number = fold(self.node.now_us, view.generation)
        self.search.ask([topic])

    def wait(self, topic: Topic, view: View, patience_us: int) -> None:
        view.generation = self.fresh()
        self.out.timer(patience_us, Patience(topic, view.generation))

    def on_found(self, topic: Topic, peers: Sequence[Peer]) -> None:
        view = self.views.get(topic)
        if view is None or view.phase != "asking" or not peers:
            return
        known = view.known()
        strangers = [peer for peer in peers if peer not in known]  # may be of an island we should grow together with
        self.subscribe(topic, view, strangers or peers)

    def subscribe(self, topic: Topic, view: View, contacts: Sequence[Peer]) -> None:
        params = self.params_of(topic)
        contact = self.one_of(contacts)
        view.phase = "joining"
        self.wait(topic, view, params.patience_us)
        copies = rules.renewal_copies(self.size(topic), params.extra_copies) if view.holders else None
        me = self.node.me
        self.out.send([contact], Join(topic, me, view.number, params.indirection, view.lease_us, copies))

    def on_patience(self, timer: Patience) -> None:
        view = self.views.get(timer.topic)
        if view is None or view.generation != timer.generation:
            return
        if view.phase == "asking" and (known := view.known()):
            self.subscribe(timer.topic, view, known)
            return
        params = self.params_of(timer.topic)
        view.tries += 1
        if view.tries >= params.tries:
            view.patience_us = min(2 * view.patience_us, params.patience_max_us)
        self.seek(timer.topic, view)
        if view.tries >= params.tries:
            self.take_place(timer.topic, view)  # alone, as far as anybody can tell

    def on_accept(self, peer: Peer, accept: Accept) -> None:
        view = self.views.get(accept.topic)
        if view is None or view.phase != "joining" or view.number != accept.number or peer == self.node.me:
            return
        params = self.params_of(accept.topic)
        view.phase = "settled"
        view.generation = self.fresh()
        view.tries, view.patience_us, view.beaten_us = 0, params.patience_us, self.node.now_us
        early = 0.7 + 0.2 * chance(self.fresh_key(TICK), 0)
        self.out.timer(round(view.lease_us * early), Renew(accept.topic, view.generation))
        view.lease_us = min(2 * view.lease_us, params.lease_us)
        if len(view.held) < rules.renewal_copies(self.size(accept.topic), params.extra_copies):
            self.hold(accept.topic, view, peer, 0, params.lease_us)
        self.take_place(accept.topic, view)

    def take_place(self, topic: Topic, view: View) -> None:
        if not view.ready:
            view.ready = True
            self.node.is_ready(topic)  # last: who waited for this may leave the community again at once

    def on_renew(self, timer: Renew) -> None:
        view = self.views.get(timer.topic)
        if view is not None and view.generation == timer.generation:
            self.seek(timer.topic, view)

    # -- others' subscriptions ------------------------------------------------------------------------------------

    def on_join(self, peer: Peer, join: Join) -> None:
        view = self.member(peer, join.topic)
        if view is None or join.who == self.node.me:
            return
        params = self.params_of(join.topic)
        around = [other for other in view.known() if other != join.who]
        if rules.steps_back(chance(self.fresh_key(JOIN), 0), join.degree, len(around)):
            self.out.send([peer], replace(join, walk=max(0, join.walk - 1), degree=0))
            return
        if join.walk > 0 and around:
            walk = min(join.walk, params.indirection) - 1
            self.out.send([self.one_of(around)], replace(join, walk=walk, degree=len(around)))
            return
        others = view.others(join.who)
        self.out.send([join.who], Accept(join.topic, join.number))
        self.greet(join.who, join.topic)
        lease_us = min(join.lease_us, params.lease_us)
        if others:
            copies = len(others) + params.extra_copies if join.copies is None else min(join.copies, params.view_max)
            told = [others[i] for i in distinct(self.fresh_key(JOIN), len(others), copies)]
            told += [self.one_of(others) for _ in range(copies - len(told))]
            self.out.send(told, Forward(join.topic, join.who, join.number, params.forwards_max, lease_us))
        else:
            self.hold(join.topic, view, join.who, join.number, lease_us)

    def on_forward(self, peer: Peer, forward: Forward) -> None:
        view = self.member(peer, forward.topic)
        if view is None:
            return
        params = self.params_of(forward.topic)
        held = view.held.get(forward.who)
        others = view.others(forward.who)
        here = forward.who == self.node.me or (held is not None and held.number == forward.number)
        last = forward.hops <= 1 or not others
        stays = held is not None or last or rules.keeps(chance(self.fresh_key(JOIN), 0), len(view.held))
        if stays and not here and (held is not None or len(view.held) < params.view_max):
            lease_us = min(forward.lease_us, params.lease_us)
            self.hold(forward.topic, view, forward.who, forward.number, lease_us)
        elif not last:
            hops = min(forward.hops, params.forwards_max) - 1
            self.out.send([self.one_of(others)], replace(forward, hops=hops))

    def hold(self, topic: Topic, view: View, peer: Peer, number: int, lease_us: int) -> None:
        """Puts a peer into the view, or extends its stay there, and tells it."""
        now_us = self.node.now_us
        view.held[peer] = Held(number, now_us + lease_us, now_us)
        self.out.send([peer], Kept(topic))
        self.greet(peer, topic)

    def on_kept(self, peer: Peer, kept: Kept) -> None:
        if view := self.member(peer, kept.topic):
            view.holds_us(peer, self.node.now_us, self.params_of(kept.topic).view_max)

    def on_gone(self, peer: Peer, gone: Gone) -> None:
        view = self.views.get(gone.topic)
        if view is None:
            return
        was_held = peer in view.held
        view.drop(peer)
        heir = gone.instead
        if was_held and heir is not None and heir != self.node.me and heir not in view.held:
            self.hold(gone.topic, view, heir, 0, self.params_of(gone.topic).lease_us)

    # -- beats ----------------------------------------------------------------------------------------------------

    def on_tick(self, timer: Tick) -> None:
        view = self.views.get(timer.topic)
        if view is None or view.life != timer.life:
            return
        params = self.params_of(timer.topic)
        now_us = self.node.now_us
        self.out.timer(params.beat_every_us, timer)
        view.expire(now_us, params.beats_missed * params.beat_every_us)
        self.out.send(view.held, Beat(timer.topic))
        isolated = now_us - view.beaten_us >= params.isolated_us
        if view.phase == "settled" and (isolated or not view.held):
            view.lease_us = params.first_lease_us
            self.seek(timer.topic, view)

    def on_beat(self, peer: Peer, beat: Beat) -> None:
        view = self.member(peer, beat.topic)
        if view is None:
            return
        view.beaten_us = self.node.now_us
        view.holds_us(peer, self.node.now_us, self.params_of(beat.topic).view_max)
        view.heard(peer, self.node.now_us)
        self.out.send([peer], Here(beat.topic))
        if chance(self.fresh_key(TICK), 0) * GREET_EVERY < 1:
            self.greet(peer, beat.topic)

    def on_here(self, peer: Peer, here: Here) -> None:
        if view := self.views.get(here.topic):
            view.heard(peer, self.node.now_us)

    # -- small things ---------------------------------------------------------------------------------------------

    def member(self, peer: Peer, topic: Topic) -> View | None:
        """Our view of a community, or word to the peer that we are not in it: it should not hold us there."""
        view = self.views.get(topic)
        if view is None:
            self.out.send([peer], Gone(topic))
        return view

    def greet(self, peer: Peer, topic: Topic) -> None:
        for greet in self.greets:
            greet(peer, topic)

    def fresh(self) -> int:
        self.count += 1
        return self.count

    def fresh_key(self, why: int) -> int:
        """A key no other draw of this node has."""
        return self.node.key(why, fold(self.node.now_us, self.fresh()))

    def one_of(self, peers: Sequence[Peer]) -> Peer:
        return peers[distinct(self.fresh_key(JOIN), len(peers), 1)[0]]
