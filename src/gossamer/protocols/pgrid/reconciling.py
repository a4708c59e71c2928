"""Those who hold one leaf hold the same: they compare sums, then lists, and give each other what is lacking.

What a peer holds that belongs elsewhere, because it moved or others did, it lists for somebody nearer, and lets it go
once that one has it.
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from gossamer.core.ids import Peer
from gossamer.core.layer import Bound, Handler, Layer
from gossamer.core.machine import SECOND_US
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.parts.bucket import Buckets
from gossamer.protocols.pgrid.messages import (
    GIVEN_MAX,
    MARKS_MAX,
    SUMS_MAX,
    CompareLeaf,
    Give,
    ListHeld,
    Registration,
    Took,
    WantListed,
)
from gossamer.protocols.pgrid.params import Params
from gossamer.protocols.pgrid.store import OF_ONE_MAX, STORED_MAX, Store, id_of, part_of
from gossamer.protocols.pgrid.trie import Trie

IN_A_SUM = 64
"Registrations behind one sum, about."
CLOCKS_APART_US = 300 * SECOND_US
"So far clocks may differ."
GIVEN_PER_S, GIVEN_BURST = 500, 20_000
"Registrations of one peer that are looked at, and those it is given because it asks."
COMPARED_PER_S, COMPARED_BURST = 10, 200
"Sums and lists of one peer that are compared with what is here."


def lease_us(said: Registration, params: Params) -> int:
    """How long it is kept. That somebody has left is remembered for as long as what it said before could be given
    again."""
    return params.lease_us + (2 * CLOCKS_APART_US if said.gone else 0)


class HandOver(Struct, frozen=True):
    """Timer: something here belongs elsewhere."""


class Reconciling(Layer):
    def __init__(self, node: Stack, trie: Trie, store: Store, params: Params) -> None:
        super().__init__(node)
        self.trie, self.store, self.params = trie, store, params
        self.given = Buckets(GIVEN_PER_S, GIVEN_BURST)
        self.wanted = Buckets(GIVEN_PER_S, GIVEN_BURST)
        self.compared = Buckets(COMPARED_PER_S, COMPARED_BURST)
        self.handing_over = False
        "Whether that is due soon."
        self.listed: dict[int, Peer] = {}
        "Whom what belongs elsewhere was listed for."
        self._own: tuple[int, ...] = ()
        self._total = 0
        self._as_of: tuple[object, ...] = ()

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {
            CompareLeaf: self.on_compare,
            ListHeld: self.on_listing,
            WantListed: self.on_want,
            Give: self.on_give,
            HandOver: self.on_hand_over,
        }

    def bounds(self) -> Iterator[Bound]:
        yield "registrations", len(self.store), STORED_MAX
        yield "registrations of one member", max(self.store.of.values(), default=0), OF_ONE_MAX

    def lives_by(self, topic: Topic | None) -> Iterator[Struct]:
        if topic is None and self.handing_over:
            yield HandOver()

    # -- the same leaf --------------------------------------------------------------------------------------------

    def own(self) -> tuple[int, ...]:
        """What belongs to this leaf, and to the empty halves beside it. Asked often, and seldom changed."""
        as_of = (self.store.version, *self.trie.shape())
        if as_of != self._as_of:
            self._as_of = as_of
            self._own = tuple(number for number, held in self.store.held.items() if self.trie.holds(held.said.place))
            self._total = self.store.sums(self._own, 1)[0]
        return self._own

    def total(self) -> int:
        """Of all that: who holds the same has the same."""
        self.own()
        return self._total

    def compare(self, peer: Peer) -> None:
        """Somebody who holds the same leaf does not hold the same."""
        parts = 1
        while parts < SUMS_MAX and parts * IN_A_SUM < len(self.store):
            parts *= 2
        self.out.send([peer], CompareLeaf(self.trie.path, tuple(self.store.sums(self.own(), parts))))

    def on_compare(self, peer: Peer, compare: CompareLeaf) -> None:
        if compare.path != self.trie.path or not compare.sums or not self.hears_out(peer):
            return
        parts = len(compare.sums)
        mine = self.store.sums(self.own(), parts)
        differ = [part for part, (one, other) in enumerate(zip(mine, compare.sums, strict=True)) if one != other]
        held: dict[int, list[tuple[int, int]]] = {part: [] for part in differ}
        for mark in self.store.marks(self.own(), parts, differ):
            held[part_of(mark[0], parts)].append(mark)
        marks: list[tuple[int, int]] = []
        told: list[int] = []
        for part, more in held.items():  # what does not fit is compared the next time
            if len(marks) + len(more) > MARKS_MAX and told:
                break
            marks += more[:MARKS_MAX]
            told.append(part)
        if told:
            self.out.send([peer], ListHeld(tuple(marks), tuple(told), parts))

    def on_listing(self, peer: Peer, listing: ListHeld) -> None:
        if not self.hears_out(peer):
            return
        wanted = tuple(number for number, stamp in listing.marks if self.store.is_news(number, stamp))
        if not listing.parts:
            self.out.send([peer], WantListed(wanted, tuple(number for number, _ in listing.marks)))
            return
        theirs = dict(listing.marks)
        mine = self.store.marks(self.own(), max(1, listing.of), listing.parts)
        lacking = [number for number, stamp in mine if theirs.get(number, -1) < stamp]
        self.answer(peer, lacking[:MARKS_MAX])  # the others when sums are compared the next time
        if wanted:
            self.out.send([peer], WantListed(wanted))

    def on_want(self, peer: Peer, want: WantListed) -> None:
        wanted = dict.fromkeys(want.ids)  # each once, however often it is named
        if not self.hears_out(peer) or not self.answer(peer, [*wanted]):
            return
        if wanted and want.listed:
            self.pass_on_soon()  # once it is there, it is let go here
        for number in want.listed:
            held = self.store.held.get(number)
            theirs = held is not None and not self.trie.holds(held.said.place) and self.listed.get(number) == peer
            if theirs and number not in wanted:
                self.store.drop(number)

    def hears_out(self, peer: Peer) -> bool:
        """Whether what a peer says of what it holds is looked at: that takes longer than it took to say."""
        if self.compared.take(peer, self.node.now_us):
            return True
        self.out.note("reject", peer=peer, detail="too many comparisons")
        return False

    def answer(self, peer: Peer, numbers: Sequence[int]) -> bool:
        """Gives a peer what it asked for, or does not have."""
        if self.wanted.take(peer, self.node.now_us, len(numbers)):
            self.give([peer], numbers)
            return True
        self.out.note("reject", peer=peer, detail="too many registrations asked for")
        return False

    # -- giving ---------------------------------------------------------------------------------------------------

    def give(self, peers: Sequence[Peer], numbers: Sequence[int]) -> None:
        held = [self.store.held[number] for number in numbers if number in self.store.held]
        for start in range(0, len(held), GIVEN_MAX):
            some = held[start : start + GIVEN_MAX]
            ages = tuple(max(0, self.node.now_us - each.since_us) // 1000 for each in some)
            self.out.send(peers, Give(tuple(each.said for each in some), ages))

    def keep(self, said: Registration) -> None:
        """One of our own belongs here: those who hold the same hear of it at once."""
        if self.store.take(said, self.node.now_us):
            self.give([*self.trie.fellows], [id_of(said.name, said.member)])

    def on_give(self, peer: Peer, give: Give) -> None:
        if not self.given.take(peer, self.node.now_us, len(give.registrations)):
            self.out.note("reject", peer=peer, detail="too many registrations")
            return
        own = []
        for said, age_ms in zip(give.registrations, give.ages_ms):
            since_us = self.made_at(said, age_ms * 1000)
            if since_us is None:
                continue
            here, news = self.trie.holds(said.place), self.store.take(said, since_us)
            if said.member == peer and here and self.store.has(said):  # else it is passed on to where it belongs
                own.append(id_of(said.name, said.member))
            if news and not here:
                self.pass_on_soon()
        if own:
            self.out.send([peer], Took(tuple(own)))
        if give.spread:  # first hand: those who hold the same hear of it at once; somebody else may have told us before
            self.give([*self.trie.fellows], own)

    def made_at(self, said: Registration, age_us: int) -> int | None:
        """When it was made, by our clock. Its age is the word of who gives it, so its stamp counts too, which is
        sealed: what was said long ago makes nobody a member again. None: its lease is over, and it would go round for
        ever among those who have not noticed yet; or its member's clock is far ahead, and it would outrank what that
        one says later."""
        now_us = self.node.now_us
        since_us = min(now_us - age_us, said.stamp + CLOCKS_APART_US)
        early = said.stamp > now_us + CLOCKS_APART_US
        return None if early or since_us <= now_us - lease_us(said, self.params) else since_us

    def hand_over(self) -> None:
        """What belongs elsewhere is listed for who is nearer."""
        self.listed.clear()
        astray: dict[Peer, list[tuple[int, int]]] = {}
        for number in self.astray():
            held = self.store.held[number]
            if nearer := self.trie.towards(held.said.place):
                self.listed[number] = nearer[0].peer
                astray.setdefault(nearer[0].peer, []).append((number, held.said.stamp))
        for peer, marks in astray.items():
            self.out.send([peer], ListHeld(tuple(marks[:MARKS_MAX])))

    def astray(self) -> list[int]:
        here = dict.fromkeys(self.own())
        return [number for number in self.store.held if number not in here]

    def pass_on_soon(self) -> None:
        """It may have a long way to go from peer to peer: were each to wait for its next round, all would hold much
        that is not theirs."""
        if not self.handing_over:
            self.handing_over = True
            self.out.timer(self.params.settle_every_us, HandOver())

    def on_hand_over(self, timer: HandOver) -> None:
        self.handing_over = False
        self.hand_over()
