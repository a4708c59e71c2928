"""One of a node's two tasks, greedy or random (Figs. 1, 3, 5): its neighbours, and whom to take or to part from.

Both tasks are this class with state of their own. Nothing here sends: `links.py` does, as told.

Invariant: `cover` counts, need by need, the neighbours that cover it.
"""

from collections.abc import Mapping

from msgspec import Struct

from gossamer.core.draws import draw, largest
from gossamer.core.ids import Peer
from gossamer.parts.needs import Needs
from gossamer.parts.wants import Chain, Wants
from gossamer.protocols.spidercast import rules
from gossamer.protocols.spidercast.params import Params


class Neighbour(Struct):
    """The other end of a link, as it last told of itself."""

    wants: Wants
    degree: int
    target: int
    covered: tuple[int, ...]
    "Which of our needs it covers, by position."
    since_us: int = 0
    asked: bool = False
    "It was asked to disconnect, and refused: it would again."

    def tells(self, degree: int, target: int) -> None:
        self.asked = self.asked and not rules.may_ask_again(degree, self.degree)
        self.degree, self.target = degree, target


class Task:
    """`turn` is the round's number, or as many rounds as would have fit into the time."""

    def __init__(self, number: int, params: Params, coverage: int) -> None:
        self.number = number
        self.params = params
        self.coverage = coverage
        "K"
        self.needs: tuple[Chain, ...] = ()
        self.index = Needs(())
        "The same."
        self.cover: list[int] = []
        self.neighbours: dict[Peer, Neighbour] = {}
        self.target = 0
        "L"
        self.introduced: dict[Peer, Wants] = {}
        "Candidates others named, in the order they were first named."
        self.quarantine: dict[Peer, int] = {}
        "Whom not to ask, and until which turn."
        self.attempts = self.seek_due = 0
        self.left_over = False
        "K began anew, and neighbours are there that were taken before."

    # -- where it stands ----------------------------------------------------------------------------------------

    @property
    def by_coverage(self) -> bool:
        return self.params.selection == "coverage"

    @property
    def by_likeness(self) -> bool:
        """Whether whoever shares nothing with this node is no neighbour for it."""
        return self.by_coverage or (self.params.selection == "similarity" and self.number == rules.GREEDY)

    @property
    def degree(self) -> int:
        return len(self.neighbours)

    @property
    def limit(self) -> int:
        """L^max; where links are not chosen by coverage, as many as are wished for."""
        return rules.limit_of(self.coverage, len(self.needs) if self.by_coverage else 1)  # type: ignore[no-any-return]

    @property
    def under(self) -> int:
        """Needs that are not covered well enough; links that are missing."""
        if self.by_coverage:
            return sum(count < self.coverage for count in self.cover)
        return max(0, self.coverage - self.degree)

    def under_without(self, peer: Peer) -> int:
        """The same if a neighbour were gone."""
        if self.by_coverage:
            return self.under + sum(self.cover[i] == self.coverage for i in self.neighbours[peer].covered)
        return max(0, self.coverage - self.degree + 1)

    def uncovered(self) -> list[Chain]:
        """Needs to find somebody for; where there is no room left but Margin, those that nobody covers at all."""
        least = min(1, self.coverage) if self.insists and self.degree >= self.limit else self.coverage
        return [need for need, count in zip(self.needs, self.cover) if count < least]

    @property
    def insists(self) -> bool:
        return self.params.insist and self.by_coverage

    def needs_margin(self) -> bool:
        """Whether all links are taken, and some need has none of them."""
        return self.insists and self.degree >= self.limit and self.has_room() and bool(self.uncovered())

    def is_vital(self, peer: Peer) -> bool:
        """Whether a neighbour is the only one to cover something. There are never more of these than L^max."""
        covered = self.neighbours[peer].covered
        return self.insists and self.coverage > 0 and any(self.cover[i] == 1 for i in covered)

    # -- neighbours ---------------------------------------------------------------------------------------------

    def need(self, needs: tuple[Chain, ...]) -> None:
        """Other topics are to be covered from now on."""
        self.needs, self.index = needs, Needs(needs)
        self.cover = [0] * len(needs)
        for neighbour in self.neighbours.values():
            self._count(neighbour)

    def _count(self, neighbour: Neighbour) -> None:
        neighbour.covered = tuple(self.index.covered(neighbour.wants))
        for i in neighbour.covered:
            self.cover[i] += 1

    def _uncount(self, neighbour: Neighbour) -> None:
        for i in neighbour.covered:
            self.cover[i] -= 1

    def has_room(self) -> bool:
        """Where K is 0 nobody is looked for, but as many as Margin are welcome."""
        return rules.has_room(self.degree, self.limit, self.params.margin)  # type: ignore[no-any-return]

    def has_room_for(self, wants: Wants) -> bool:
        """The last place is for whoever covers what nobody does."""
        reserved = self.needs_margin() and not rules.has_room(self.degree + 1, self.limit, self.params.margin)
        return self.has_room() and (not reserved or self.gain(wants, self.sought()) > 0)

    def add(self, peer: Peer, wants: Wants, degree: int, target: int, now_us: int) -> None:
        neighbour = Neighbour(wants, degree, target, (), now_us)
        self.neighbours[peer] = neighbour
        self._count(neighbour)

    def grow(self) -> None:
        """L, after a neighbour was added."""
        self.target = rules.raised(self.target, self.degree, self.limit, self.params.margin)

    def remove(self, peer: Peer) -> None:
        self._uncount(self.neighbours.pop(peer))

    def rethink(self, peer: Peer, wants: Wants) -> None:
        """A neighbour wants something else now."""
        neighbour = self.neighbours[peer]
        self._uncount(neighbour)
        neighbour.wants = wants
        self._count(neighbour)

    # -- whom to ask --------------------------------------------------------------------------------------------

    def introduce(self, peer: Peer, wants: Wants) -> None:
        self.introduced[peer] = wants
        if len(self.introduced) > rules.INTRODUCED_MAX:
            del self.introduced[next(iter(self.introduced))]

    def shun(self, peer: Peer, turn: int) -> None:
        """Not to be asked to connect for a while."""
        self.quarantine[peer] = turn + self.params.quarantine

    def release(self, turn: int) -> None:
        """Whoever waited long enough may be asked again."""
        self.quarantine = {peer: until for peer, until in self.quarantine.items() if turn < until}

    def sought(self) -> Needs:
        """What candidates are compared by."""
        return Needs(self.uncovered()) if self.by_coverage else self.index

    def gain(self, wants: Wants, sought: Needs) -> int:
        """What a candidate is worth; nothing: it is never asked, or an uncoverable topic would drive us to L^max."""
        return len(sought.covered(wants)) if self.by_likeness else 1

    def candidate(self, entries: Mapping[Peer, Wants], key: int) -> Peer | None:
        """Whom to ask to be a neighbour: one of those others named, else of the view the one that gains most (greedy)
        or any that gains (random). Whoever waits in quarantine is passed over."""
        sought = self.sought()
        named = [peer for peer, wants in self.introduced.items() if self.free(peer) and self.gain(wants, sought) > 0]
        if named:
            return largest(key, named)
        best: list[Peer] = []
        most = 1
        for peer, wants in entries.items():
            if not self.free(peer):
                continue
            gain = self.gain(wants, sought)
            if gain > most and self.number == rules.GREEDY:
                best, most = [peer], gain
            elif gain >= most:
                best.append(peer)
        return largest(key, best) if best else None

    def free(self, peer: Peer) -> bool:
        return peer not in self.neighbours and peer not in self.quarantine

    def seek_anew(self) -> None:
        """This node wants something else: homes are asked at once, and a K_r that was found for other topics is found
        anew. What others want, who may change it every moment, is no reason to."""
        self.attempts = self.seek_due = 0
        if self.params.adaptive and self.number == rules.RANDOM and self.coverage > 0:
            self.coverage = self.target = 0
            self.left_over = True

    def unknown(self, entries: Mapping[Peer, Wants]) -> list[Chain]:
        """Needs that are not covered well enough, and that nobody wants of whom this node knows."""
        sought = Needs(self.uncovered() if self.by_coverage else ())
        found: set[int] = set()
        for known in (self.introduced, entries):
            for peer, wants in known.items() if sought else ():
                if peer not in self.neighbours:
                    found.update(sought.covered(wants))
        return [need for at, need in enumerate(sought.chains) if at not in found]

    # -- whom to part from --------------------------------------------------------------------------------------

    def surplus(self, key: int) -> Peer | None:
        """The neighbour that is missed least, of those that can do with one less (Fig. 3, DISCONNECTCANDIDATE); None:
        there is none, or it would be missed."""
        if self.insists and self.number == rules.RANDOM and self.degree <= self.limit:
            return None
        beyond = rules.BEYOND[self.params.parting]
        able = [
            peer
            for peer, link in self.neighbours.items()
            if rules.can_spare(link.degree, link.target, beyond) and not link.asked and not self.is_vital(peer)
        ]
        if not able:
            return None
        missed = {peer: self.under_without(peer) for peer in able}
        fewest = min(missed.values())
        if not rules.asks_to_part(self.degree, self.limit, fewest):
            return None
        return largest(key, [peer for peer in able if missed[peer] == fewest])

    def better(self, asker: Peer, wants: Wants, key: int) -> Peer | None:
        """Whom to send an asker on to: of the neighbours that have room, the one that shares most with it."""
        able = {
            peer: neighbour.wants.shared(wants.chains)
            for peer, neighbour in self.neighbours.items()
            if peer != asker and rules.has_room(neighbour.degree, neighbour.target, self.params.margin)
        }
        return max(able, key=lambda peer: (able[peer], draw(key, peer)), default=None)
