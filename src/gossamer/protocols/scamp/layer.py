"""Membership that keeps views of about (c + 1) ln N members, with nobody knowing N or everybody (SCAMP).

Joining, renewing a lease and coming back from isolation are one act: ask the search for a contact, tell it, be
accepted. Whoever is held learns so (`Kept`, then every `Beat`), hence a node that hears no beat is in nobody's view.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence, Sized

from msgspec import Struct

from gossamer.core.draws import JOIN, TICK, chance, distinct, draw, fold
from gossamer.core.ids import Peer
from gossamer.core.layer import Bound, Handler, Layer
from gossamer.core.roles import Contacts
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.protocols.scamp import rules
from gossamer.protocols.scamp.headcount import Headcount
from gossamer.protocols.scamp.keeping import Keeping
from gossamer.protocols.scamp.messages import Accept, Beat, Here, Join
from gossamer.protocols.scamp.params import Params
from gossamer.protocols.scamp.view import View

GREET_EVERY = 8
"One beat in so many is answered with a greeting too, so that news reaches members that joined before it."


class AnswerDue(Struct, frozen=True):
    """Timer: nobody answered in time. Stale once somebody did."""

    topic: Topic
    generation: int


class Renew(Struct, frozen=True):
    """Timer: our subscription's lease nears its end. Stale once another subscription is under way."""

    topic: Topic
    generation: int


class BeatsDue(Struct, frozen=True):
    """Timer: beats are due. Stale after the community was left."""

    topic: Topic
    life: int


class AskAgain(Struct, frozen=True):
    """Timer: whoever has not answered the last beat is asked again. Stale after the community was left."""

    topic: Topic
    life: int
    left: int
    "Times before the next beat, this one included."


class Scamp(Layer):
    """The members of each community this node is in."""

    def __init__(self, node: Stack, contacts: Contacts, params: Callable[[], Params] | Params) -> None:
        super().__init__(node)
        self.contacts = contacts
        self.params = params if callable(params) else lambda: params
        "What the network has; communities may be tuned otherwise."
        self.tuned_params: dict[Topic, Params] = {}
        self.keeping = Keeping(node, self.params_of)
        self.views = self.keeping.views
        self.headcount = Headcount(node, self, self.params_of)
        self.within = (self.keeping, self.headcount)

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {
            Accept: self.on_accept,
            AskAgain: self.on_ask_again,
            Beat: self.on_beat,
            Here: self.on_here,
            AnswerDue: self.on_answer_due,
            Renew: self.on_renew,
            BeatsDue: self.on_beats_due,
        }

    def params_of(self, topic: Topic) -> Params:
        return self.tuned_params.get(topic) or self.params()

    # -- what other layers ask ----------------------------------------------------------------------------------

    def about(self, topic: Topic) -> Sequence[Peer]:
        """Everybody known: the view, and those whose view this node is in. Both directions carry events, so a
        newcomer, whose own view is still short, reaches as many as older members do."""
        view = self.views.get(topic)
        return view.known() if view else []

    def sure(self, topic: Topic) -> Sequence[Peer]:
        """Those of them that gave a sign of life lately."""
        view = self.views.get(topic)
        return view.sure() if view else []

    def sample(self, topic: Topic, k: int, key: int) -> list[Peer]:
        known = self.about(topic)
        return [*known] if k >= len(known) else [known[i] for i in distinct(key, len(known), k)]

    def size(self, topic: Topic) -> int:
        """The census, but never less than the members known: a community just joined or just grown would
        otherwise be taken for the one counted an epoch ago, and nobody be told."""
        return max(self.headcount.size(topic), 1 + len(self.about(topic)))

    def ready(self, topic: Topic) -> bool:
        view = self.views.get(topic)
        return view is not None and view.ready

    def named(self, topic: Topic) -> list[Peer]:
        """Members to name to those who search, in ever another order: the same few should not serve all newcomers."""
        key = self.keeping.fresh_key(JOIN)
        return sorted(self.sure(topic), key=lambda peer: draw(key, peer))

    def bounds(self) -> Iterator[Bound]:
        for topic, view in self.views.items():
            most = self.params_of(topic).view_max
            yield f"members of {topic}", len(view.held), most
            yield f"holders in {topic}", len(view.holders), most

    def lives_by(self, topic: Topic | None) -> Iterator[Struct]:
        if topic is not None and (view := self.views.get(topic)) is not None:
            yield BeatsDue(topic, view.life)
            yield (Renew if view.phase == "settled" else AnswerDue)(topic, view.generation)

    # -- life ---------------------------------------------------------------------------------------------------

    def started(self, contacts: Sequence[Peer]) -> None:
        """There are new contacts: who is alone asks them at once."""
        for topic, view in self.views.items():
            if contacts and view.phase == "asking" and not view.known():
                view.tries, view.patience_us = 0, self.params_of(topic).patience_us
                self.seek(topic, view)

    def joined(self, topic: Topic) -> None:
        view = self.views[topic]
        start = chance(self.keeping.fresh_key(TICK), 0)
        self.out.timer(1 + round(start * self.params_of(topic).beat_every_us), BeatsDue(topic, view.life))
        self.seek(topic, view)

    def left(self, topic: Topic) -> None:
        self.tuned_params.pop(topic, None)

    def tuned(self, topic: Topic, params: Struct) -> None:
        if isinstance(params, Params):
            self.tuned_params[topic] = params

    # -- our own subscription -----------------------------------------------------------------------------------

    def seek(self, topic: Topic, view: View) -> None:
        """Begins a subscription: first somebody must name a contact."""
        view.phase = "asking"
        view.named = {}
        self.wait(topic, view, view.patience_us)
        view.number = fold(self.node.now_us, view.generation) >> 1
        self.contacts.ask([topic], joining=True)

    def wait(self, topic: Topic, view: View, patience_us: int) -> None:
        view.generation = self.keeping.fresh()
        self.out.timer(patience_us, AnswerDue(topic, view.generation))

    def contacts_found(self, topic: Topic, peers: Sequence[Peer]) -> None:
        """A newcomer takes the first contact named; who has company hears all answers first, the far ones too."""
        view = self.views.get(topic)
        if view is None or view.phase != "asking" or not peers:
            return
        view.named.update(dict.fromkeys(peers))
        if not view.known() or len(view.named) > self.params_of(topic).view_max:
            self.subscribe(topic, view)

    def subscribe(self, topic: Topic, view: View) -> None:
        """Tells a contact: a stranger if one was named, for it may be of an island to grow together with."""
        params, known = self.params_of(topic), view.known()
        contacts = [peer for peer in view.named if peer not in known] or [*view.named] or known
        if view.tries and view.named:
            contacts = contacts[:1]  # a member that answers names itself first, so this one was alive just now
        view.phase = "joining"
        self.wait(topic, view, params.patience_us)
        walk = params.indirection >> view.tries  # each step may meet a dead peer: the next attempt takes fewer
        copies = self.renewal_copies(topic) if view.holders else None
        join = Join(topic, self.node.me, view.number, walk, view.lease_us, copies)
        self.out.send([self.keeping.one_of(contacts)], join)

    def renewal_copies(self, topic: Topic) -> int:
        extra = self.params_of(topic).extra_copies
        return rules.renewal_copies(self.size(topic), extra, chance(self.keeping.fresh_key(JOIN), 0))

    def has_few(self, topic: Topic, peers: Sized) -> bool:
        """Whether these are fewer than half as many as a view, or an in-view, should have."""
        return 2 * len(peers) < rules.wanted(self.size(topic), self.params_of(topic).extra_copies)

    def on_answer_due(self, timer: AnswerDue) -> None:
        view = self.views.get(timer.topic)
        if view is None or view.generation != timer.generation:
            return
        if view.phase == "asking" and (view.named or view.known()):
            self.subscribe(timer.topic, view)
            return
        params = self.params_of(timer.topic)
        view.tries += 1
        alone = view.tries >= params.tries * (2 if view.named else 1)
        if alone:
            view.patience_us = min(2 * view.patience_us, params.patience_max_us)
        self.seek(timer.topic, view)
        if alone:
            self.take_place(timer.topic, view)

    def on_accept(self, peer: Peer, accept: Accept) -> None:
        view = self.views.get(accept.topic)
        if view is None or view.phase != "joining" or view.number != accept.number or peer == self.node.me:
            return
        params, now_us = self.params_of(accept.topic), self.node.now_us
        view.phase = "settled"
        view.generation = self.keeping.fresh()
        view.tries, view.patience_us = 0, params.patience_us
        view.settled_us = view.beaten_us = now_us
        after = rules.renewed_after(chance(self.keeping.fresh_key(TICK), 0))
        self.out.timer(round(view.lease_us * after), Renew(accept.topic, view.generation))
        view.lease_us = min(2 * view.lease_us, params.lease_us)
        if self.has_few(accept.topic, view.held):
            self.keeping.hold(accept.topic, view, peer, 0, view.lease_us)
        self.take_place(accept.topic, view)

    def take_place(self, topic: Topic, view: View) -> None:
        if not view.ready:
            view.ready = True
            self.node.is_ready(topic)  # the last act of a step: who waited for it may leave the community at once

    def on_renew(self, timer: Renew) -> None:
        view = self.views.get(timer.topic)
        if view is not None and view.generation == timer.generation:
            self.seek(timer.topic, view)

    # -- beats --------------------------------------------------------------------------------------------------

    def on_beats_due(self, timer: BeatsDue) -> None:
        view = self.views.get(timer.topic)
        if view is None or view.life != timer.life:
            return
        params = self.params_of(timer.topic)
        self.out.timer(params.beat_every_us, timer)
        view.expire(self.node.now_us)
        view.give_up(params.beats_missed * params.asks_per_beat)
        view.forget_holders(params.beats_missed)
        self.beat(timer.topic, view, [*view.held], params.asks_per_beat - 1)
        if view.phase == "settled" and self.lost_touch(timer.topic, view):
            view.lease_us = params.first_lease_us
            self.seek(timer.topic, view)

    def beat(self, topic: Topic, view: View, peers: Sequence[Peer], again: int) -> None:
        """Asks for a sign of life, and those who give none `again` so many times before the next beat."""
        view.unanswered.asked(peers)
        self.out.send(peers, Beat(topic))
        if again and peers:
            params = self.params_of(topic)
            self.out.timer(max(1, params.beat_every_us // params.asks_per_beat), AskAgain(topic, view.life, again))

    def on_ask_again(self, timer: AskAgain) -> None:
        view = self.views.get(timer.topic)
        if view is not None and view.life == timer.life:
            self.beat(timer.topic, view, view.unanswered.silent(view.held), timer.left - 1)

    def lost_touch(self, topic: Topic, view: View) -> bool:
        """Isolated (nobody's beat is heard), holding nobody, or held by fewer than half as many as should be."""
        patience_us = self.params_of(topic).isolated_us
        if not view.held or self.node.now_us - view.beaten_us >= patience_us:
            return True
        return self.node.now_us - view.settled_us >= patience_us and self.has_few(topic, view.holders)

    def on_beat(self, peer: Peer, beat: Beat) -> None:
        view = self.keeping.member(peer, beat.topic)
        if view is None:
            return
        view.beaten_us = self.node.now_us
        view.holds_us(peer, self.params_of(beat.topic).view_max, self.node.owners)
        self.out.send([peer], Here(beat.topic))
        if chance(self.keeping.fresh_key(TICK), 0) * GREET_EVERY < 1:
            self.keeping.greet(peer, beat.topic)

    def on_here(self, peer: Peer, here: Here) -> None:
        if view := self.views.get(here.topic):
            view.unanswered.heard(peer)
