"""This node's own registrations: one for each community it is in, kept in the overlay as long as it is."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct

from gossamer.core.draws import DIVIDE, chance, fold
from gossamer.core.ids import Peer
from gossamer.core.layer import Bound, Handler, Layer
from gossamer.core.machine import SECOND_US
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.protocols.pgrid.asking import Lookups
from gossamer.protocols.pgrid.lookup import Lookup
from gossamer.protocols.pgrid.messages import GIVEN_MAX, Give, Registration, Took
from gossamer.protocols.pgrid.params import Params
from gossamer.protocols.pgrid.places import members_of, place_of
from gossamer.protocols.pgrid.reconciling import Reconciling
from gossamer.protocols.pgrid.store import id_of
from gossamer.protocols.pgrid.trie import peers

AT_ONCE = 64
"Registrations under way; the others wait."
HOLDERS = 2
"Peers that a registration is given to; they give it to the others."
LOOK_AGAIN = 4
"""A registration is looked up anew once in so many renewals: those who took it so far may hold it no more, whatever
they say."""
AGAIN = 4
"A registration that nobody took is tried again after so many times the patience."


class RegisterOn(Struct, frozen=True):
    """Timer: registrations are due, or were not taken. Stale once another one was set."""

    generation: int


class Own:
    """One of ours."""

    def __init__(self, said: Registration, due_us: int) -> None:
        self.said = said
        self.due_us = due_us
        "When it is to be told (again)."
        self.holders: tuple[Peer, ...] = ()
        "Who took it the last time."
        self.told: tuple[Peer, ...] | None = None
        "Whom it was given to since it was last looked up, whether they took it or not; None: it was not, so far."
        self.renewals = 0


class Registering(Layer):
    def __init__(
        self, node: Stack, asking: Lookups, reconciling: Reconciling, params: Params, spell: Callable[[Topic], str]
    ) -> None:
        super().__init__(node)
        self.asking, self.reconciling, self.params, self.spell = asking, reconciling, params, spell
        self.own: dict[int, Own] = {}
        self.topics: dict[Topic, int] = {}
        self.generation = 0
        self.due_us: int | None = None
        self.stamp = 0

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {Took: self.on_took, RegisterOn: self.on_register_on}

    def bounds(self) -> Iterator[Bound]:
        yield "registrations of our own", len(self.own), len(self.node.interest.mine())

    def lives_by(self, topic: Topic | None) -> Iterator[Struct]:
        if topic is None and self.own:
            yield RegisterOn(self.generation)

    # -- communities ------------------------------------------------------------------------------------------------

    def joined(self, topic: Topic) -> None:
        name, me = self.spell(topic), self.node.me
        place = place_of(me, members_of(topic, self.spell))
        number = id_of(name, me)
        self.topics[topic] = number
        self.own[number] = Own(Registration(name, place, me, self.next_stamp()), self.node.now_us)
        self.register()

    def left(self, topic: Topic) -> None:
        if (gone := self.ended(topic)) is not None:  # those who were told may have gone on since: who holds it now?
            self.asking.look_up([(gone.place, gone.name, 0)], lambda lookup: self.give(holders_of(lookup), [gone]))

    def ended(self, topic: Topic) -> Registration | None:
        """Whoever may hold it is told. This node keeps the word, too: it passes it on to where it belongs."""
        own = self.own.pop(self.topics.pop(topic, 0), None)
        if own is None or own.told is None:
            return None
        gone = self.renewed(own.said, gone=True)
        nearer = self.reconciling.trie.towards(gone.place)
        if nearer is None:
            self.reconciling.keep(gone)
        else:
            self.reconciling.store.take(gone, self.node.now_us)
        others = [peer for peer in dict.fromkeys((*own.holders, *own.told)) if peer != self.node.me]
        self.give(others or peers(nearer or ())[:HOLDERS], [gone])
        return gone

    def leaving(self) -> None:
        for topic in tuple(self.topics):
            self.ended(topic)

    def started(self, contacts: Sequence[Peer]) -> None:
        """There are others now: what only this node itself holds belongs to them, too."""
        for own in self.own.values():
            if contacts and not own.holders:
                own.due_us = self.node.now_us
        self.register()

    def moved(self) -> None:
        """This node holds another leaf now, or others hold what it held for them: those of its own that it held itself
        are registered anew."""
        for own in self.own.values():
            if self.node.me in own.holders and not self.reconciling.trie.holds(own.said.place):
                own.holders, own.due_us = (), self.node.now_us
                self.reconciling.store.drop(id_of(own.said.name, own.said.member))
        self.register()

    def next_stamp(self) -> int:
        self.stamp = max(self.stamp + 1, self.node.now_us)
        return self.stamp

    def renewed(self, said: Registration, gone: bool = False) -> Registration:
        return Registration(said.name, said.place, said.member, self.next_stamp(), gone)

    # -- telling ----------------------------------------------------------------------------------------------------

    def register(self) -> None:
        """Tells what is due: to those who took it before, or to whoever is found."""
        now_us = self.node.now_us
        due = [number for number, own in self.own.items() if own.due_us <= now_us][:AT_ONCE]
        known: dict[tuple[Peer, ...], list[Registration]] = {}
        sought = []
        for number in due:
            own = self.own[number]
            own.due_us = now_us + AGAIN * self.params.patience_us
            own.renewals += 1
            if own.holders and own.renewals % LOOK_AGAIN:
                own.said = self.renewed(own.said)
                known.setdefault(own.holders, []).append(own.said)
                own.told = tuple(dict.fromkeys((*own.holders, *(own.told or ()))))[: 2 * HOLDERS]
                own.holders = ()  # if they do not take it, others are looked for
            else:
                sought.append((own.said.place, own.said.name, 0))
        for holders, said in known.items():
            self.give(holders, said)
        self.wait()
        self.asking.look_up(sought, self.on_found)

    def wait(self) -> None:
        """Until the next one is due."""
        if not self.own:
            return
        due_us = max(self.node.now_us + SECOND_US // 100, min(own.due_us for own in self.own.values()))
        if self.due_us is None or due_us < self.due_us or self.due_us <= self.node.now_us:
            self.due_us = due_us
            self.generation += 1
            self.out.timer(due_us - self.node.now_us, RegisterOn(self.generation))

    def on_register_on(self, timer: RegisterOn) -> None:
        if timer.generation == self.generation:
            self.due_us = None
            self.register()

    def on_found(self, lookup: Lookup) -> None:
        own = self.own.get(id_of(lookup.name, self.node.me))
        if own is None:
            return
        own.said = self.renewed(own.said)
        if lookup.total is not None:
            self.keep(own.said)
        own.told = tuple(peer for peer in holders_of(lookup) if peer != self.node.me)
        self.give(own.told, [own.said])

    def give(self, holders: Sequence[Peer], said: Sequence[Registration]) -> None:
        if self.node.me in holders:
            for each in said:
                self.keep(each)
        others = [peer for peer in holders if peer != self.node.me]
        for start in range(0, len(said), GIVEN_MAX):
            some = tuple(said[start : start + GIVEN_MAX])
            self.out.send(others[:1], Give(some, (0,) * len(some), spread=True))
            self.out.send(others[1:], Give(some, (0,) * len(some)))  # lest the first one keeps it to itself

    def keep(self, said: Registration) -> None:
        """If it belongs here, this node is who takes it."""
        if not self.reconciling.trie.holds(said.place):
            return
        self.reconciling.keep(said)
        own = self.own.get(id_of(said.name, said.member))
        if own is not None:
            self.took(own, (self.node.me,))

    def on_took(self, peer: Peer, took: Took) -> None:
        for number in took.ids:
            own = self.own.get(number)
            if own is not None and own.told is not None and peer in own.told:  # others were given nothing
                self.took(own, (peer, *(each for each in own.holders if each != peer))[:HOLDERS])
        self.wait()

    def took(self, own: Own, holders: Sequence[Peer]) -> None:
        own.holders = tuple(holders)
        jitter = 0.75 + chance(self.node.key(DIVIDE, fold(own.said.stamp, 1)), 0) / 2
        own.due_us = own.said.stamp + round(self.params.lease_us / 2 * jitter)  # its age counts, whoever takes it late


def holders_of(lookup: Lookup) -> tuple[Peer, ...]:
    return tuple(dict.fromkeys(seat.peer for seat in lookup.holders))[:HOLDERS]
