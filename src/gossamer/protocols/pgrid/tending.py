"""A peer's place in the trie: how it comes to one, keeps in touch, and goes on when a leaf grows too large.

Invariant: whoever is known was named or spoke; whoever does not answer is forgotten. Every decision to move is a
peer's own: it draws a half in proportion to what is in both, so the peers divide as the load does.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from gossamer.core.draws import DIVIDE, chance, distinct, draw, fold
from gossamer.core.ids import Peer
from gossamer.core.layer import Bound, Handler, Layer
from gossamer.core.stack import Stack
from gossamer.parts.bucket import Buckets
from gossamer.protocols.pgrid import rules
from gossamer.protocols.pgrid.asking import Lookups
from gossamer.protocols.pgrid.lookup import Lookup
from gossamer.protocols.pgrid.messages import LeafSeat, Meet
from gossamer.protocols.pgrid.params import Params
from gossamer.protocols.pgrid.places import Bits, across, common
from gossamer.protocols.pgrid.reconciling import Reconciling, lease_us
from gossamer.protocols.pgrid.registering import Registering
from gossamer.protocols.pgrid.store import Store
from gossamer.protocols.pgrid.trie import FURTHER, HERE, Trie, some

TOLD_MAX = 16
"Peers told at once that this one has moved; the others hear of it by and by."
SEATS = 8
"Peers named in a meeting."
LOST_MAX = 32
"Peers given up, and those to begin with, that are tried again now and then: parts of a network find together."
LOOK_ABOUT = 4
"A peer looks for a place where it is needed more once in so many rounds."
ENOUGH = 3
"With so many times `replicas_min` peers at a leaf, others are met in their turn and not at once."
MEETINGS_PER_S, MEETINGS_BURST = 20, 200
"Meetings of one peer that are heard."


class Tend(Struct, frozen=True):
    """Timer: it is time to look after one's place. Stale once another one was set."""

    generation: int


class Tending(Layer):
    def __init__(
        self,
        node: Stack,
        trie: Trie,
        store: Store,
        reconciling: Reconciling,
        asking: Lookups,
        registering: Registering,
        params: Params,
    ) -> None:
        super().__init__(node)
        self.registering = registering
        self.trie, self.store, self.reconciling, self.params = trie, store, reconciling, params
        self.asking = asking
        self.unanswered = asking.unanswered
        self.lost: dict[Peer, None] = {}
        "Peers to begin with, and those given up."
        self.heard = Buckets(MEETINGS_PER_S, MEETINGS_BURST)
        self.generation = 0
        self.every_us = params.settle_every_us
        self.rounds = 0
        self.draws = 0
        self.seeking = False

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {Meet: self.on_meet, Tend: self.on_tend}

    def bounds(self) -> Iterator[Bound]:
        for level, table in self.trie.tables():
            yield f"peers known of level {level}", len(table), self.trie.room(level)
        yield "peers to try again", len(self.lost), LOST_MAX
        yield "itself among those it knows", int(self.node.me in self.trie.level_of), 0

    def lives_by(self, topic: str | None) -> Iterator[Struct]:
        if topic is None and self.generation:
            yield Tend(self.generation)

    def fresh(self) -> int:
        """A key for the next draw."""
        self.draws += 1
        return self.node.key(DIVIDE, fold(self.node.now_us, self.draws))

    # -- life -------------------------------------------------------------------------------------------------------

    def started(self, contacts: Sequence[Peer]) -> None:
        for peer in contacts:
            self.remember(peer)
        self.meet([peer for peer in contacts if peer != self.node.me])
        self.soon()

    def leaving(self) -> None:
        self.generation = 0

    def peer_down(self, peer: Peer) -> None:
        self.give_up(peer)

    def give_up(self, peer: Peer) -> None:
        self.unanswered.heard(peer)
        if self.trie.forget(peer):
            self.remember(peer)

    def remember(self, peer: Peer) -> None:
        self.lost.pop(peer, None)
        if peer != self.node.me:
            self.lost[peer] = None
        if len(self.lost) > LOST_MAX:
            del self.lost[next(iter(self.lost))]

    def soon(self) -> None:
        """Something changed: rounds follow each other quickly until nothing does."""
        if self.generation == 0 or self.every_us > self.params.settle_every_us:
            self.every_us = self.params.settle_every_us
            self.next_round()

    def next_round(self) -> None:
        self.generation += 1
        jitter = 0.75 + chance(self.fresh(), 0) / 2
        self.out.timer(max(1, round(self.every_us * jitter)), Tend(self.generation))

    # -- rounds -----------------------------------------------------------------------------------------------------

    def on_tend(self, timer: Tend) -> None:
        if timer.generation != self.generation:
            return
        self.rounds += 1
        self.every_us = min(2 * self.every_us, self.params.keep_every_us)
        self.next_round()
        self.store.expire(self.node.now_us, lambda said: lease_us(said, self.params))
        for peer in self.unanswered.lost(self.params.asks):
            self.give_up(peer)
        self.divide()
        self.registering.moved()
        self.reconciling.hand_over()
        self.meet(self.in_turn())
        if self.trie.is_left:
            self.find_place()
        elif self.rounds % LOOK_ABOUT == 0:
            self.look_about()

    def in_turn(self) -> list[Peer]:
        """Whom to ask for a sign of life: on every level who was not heard of for longest, one that was only named,
        whoever was about to go on, or owes an answer, and one of those who are lost. Others are named all the time: if
        they came first, who was heard of long ago would never be asked again, and be named where it is no more."""
        asked = dict.fromkeys(self.unanswered.silent(self.trie.level_of))
        for _, table in self.trie.tables():
            asked.update(dict.fromkeys(peer for peer, known in table.items() if self.trie.is_behind(known.path)))
            heard = {peer: known.heard_us for peer, known in table.items() if known.heard_us is not None}
            if heard:
                asked[min(heard, key=lambda peer: (heard[peer], peer))] = None
            if len(heard) < len(table):
                asked[min(peer for peer in table if peer not in heard)] = None
        gone = [peer for peer in self.lost if peer not in self.trie.level_of]
        if gone and (self.rounds % LOOK_ABOUT == 0 or not asked):
            asked[gone[draw(self.fresh(), 0) % len(gone)]] = None
        return [*asked]

    # -- meeting ----------------------------------------------------------------------------------------------------

    def meet(self, peers: Iterable[Peer], answer: bool = True) -> None:
        for peer in [each for each in peers if each != self.node.me]:
            known = self.trie.get(peer)
            if answer and known is not None:
                self.unanswered.asked([peer])
            self.say(peer, self.trie.path if known is None else known.path, answer)

    def say(self, peer: Peer, path: Bits, answer: bool) -> None:
        """`path`: where the other one is, as far as is known."""
        trie = self.trie
        seats = trie.useful_to(path, peer, SEATS, self.fresh())
        meet = Meet(
            trie.path,
            self.store.load(trie.path),
            trie.replicas,
            self.reconciling.total(),
            common(trie.path, path),
            self.below(path),
            tuple(seat for seat in seats if self.unanswered.sure([seat.peer])),
            answer,
        )
        self.out.send([peer], meet)

    def below(self, path: Bits) -> int:
        """Registrations on our side of the level at which our path parts from another one."""
        mine = self.trie.path
        level = common(mine, path)
        if level == len(mine):
            return self.store.load(across(path, level)) if level < len(path) else self.store.load(mine)
        return self.store.load(mine) + sum(self.trie.count(each) for each in self.trie.levels if each > level)

    def on_meet(self, peer: Peer, meet: Meet) -> None:
        if not self.heard.take(peer, self.node.now_us):
            self.out.note("reject", peer=peer, detail="too many meetings")
            return
        self.unanswered.heard(peer)
        self.lost.pop(peer, None)
        before = self.trie.get(peer)
        moved = before is None or before.path != meet.path
        path = self.trie.path
        below = meet.below if meet.level == common(path, meet.path) else None
        self.trie.heard(peer, meet.path, below, self.node.now_us, self.fresh())
        if meet.answer:
            self.say(peer, meet.path, answer=False)
        elif meet.path == path and meet.total != self.reconciling.total():
            self.reconciling.compare(peer)
        self.hear_of(meet.seats)
        if moved and self.trie.level(meet.path) in (HERE, FURTHER):
            self.soon()
        if moved and self.trie.level(meet.path) == FURTHER:
            self.follow(meet.path)

    def hear_of(self, seats: Sequence[LeafSeat]) -> None:
        """Others were named. Those who hold the same, or know it better, are met at once, a few at a time."""
        new = [seat for seat in seats if self.trie.named(seat)]
        enough = self.trie.replicas >= ENOUGH * self.params.replicas_min
        near = [seat for seat in new if self.trie.level(seat.path) in ((FURTHER,) if enough else (HERE, FURTHER))]
        self.meet([seat.peer for seat in some(near, self.fresh(), 2)])

    # -- moving -----------------------------------------------------------------------------------------------------

    def move(self, path: Bits) -> None:
        """Holds another leaf from now on, and tells those who held the old one with us."""
        fellows = [*self.trie.fellows]
        self.trie.move(path)
        told = [fellows[i] for i in distinct(self.fresh(), len(fellows), TOLD_MAX)]
        self.meet(told, answer=False)
        self.registering.moved()
        self.soon()

    def divide(self) -> None:
        """Where a leaf is full, each of its peers takes a half of it: where what they hold first differs, they part."""
        trie, params = self.trie, self.params
        replicas = trie.replicas + trie.ahead  # some may have divided it already
        if trie.is_left or not rules.is_full(len(self.store), params.load_max, replicas, params.replicas_min):
            return
        own = [place for place in self.store.places() if place.startswith(trie.path)]
        places = own if len(own) > params.load_max else self.settled_places()
        level = rules.parting(places)
        if level is None or len(places) <= params.load_max:
            return
        half = places[0][: level + 1]
        mine = sum(place.startswith(half) for place in places)
        others = len(places) - mine
        takes = chance(self.fresh(), 0) < rules.share(mine, others, replicas, params.replicas_min)
        chosen = half if takes else across(half, level)
        if not trie.path.startswith(chosen):
            self.move(chosen)

    def settled_places(self) -> list[Bits]:
        """What belongs to this leaf, and what it holds for empty halves beside it; not what is on its way elsewhere."""
        return [place for place in self.store.places() if self.trie.holds(place)]

    def follow(self, path: Bits) -> None:
        """Somebody who held the same leaf went on, by its own word. If this peer finds the leaf full too, it goes on by
        a draw of its own. Otherwise others must say the same: then one that holds much follows, and a newcomer looks
        for where it is needed."""
        if not self.trie.is_left:
            self.divide()
        elif 2 * len(self.store) >= self.params.load_max:
            self.move(rules.descend(self.trie.path, path, self.store.load, self.fresh()))

    # -- where it is needed -----------------------------------------------------------------------------------------

    def find_place(self) -> None:
        """Some went on, and this peer knows too little to follow: it goes where some registration is, whichever. So
        peers come to leaves as registrations do."""
        if not self.seeking:
            self.seeking = True
            self.asking.look_up([("", "", 1)], self.on_place)

    def look_about(self) -> None:
        """Whether it is needed more elsewhere: where some registration is."""
        if not self.seeking and (len(self.store) == 0 or self.trie.replicas > self.params.replicas_min):
            self.seeking = True
            self.asking.look_up([("", "", 1)], self.on_place)

    def on_place(self, lookup: Lookup) -> None:
        if lookup.found:
            self.asking.look_up([(lookup.found[0].place, "", 0)], self.on_leaf)
            return
        self.seeking = False
        if self.trie.is_left:  # nothing is registered anywhere
            known = [*self.trie.further.values()]
            self.move(known[draw(self.fresh(), 0) % len(known)].path)

    def on_leaf(self, lookup: Lookup) -> None:
        self.seeking = False
        if not lookup.holders:
            return
        trie, path = self.trie, lookup.holders[0].path
        needed = trie.is_left or rules.is_better(
            self.store.load(trie.path),
            trie.replicas,
            lookup.load,
            lookup.replicas,
            self.params.replicas_min,
        )
        if needed and path != trie.path:
            for seat in lookup.holders:
                trie.named(seat)
            self.move(path)
            self.meet([seat.peer for seat in lookup.holders])
