"""How a newcomer finds its place: whoever it knows passes it on to the lowest delegates known of it, they do the same,
until its neighbours have it; these send it their views (4.2.1). Where nobody lives there yet, whoever knows that does.
"""

from collections.abc import Iterator

from gossamer.core.draws import distinct, fold
from gossamer.core.ids import Peer
from gossamer.core.layer import Bound
from gossamer.core.stack import Stack
from gossamer.parts.bucket import first_hand
from gossamer.protocols.hpmcast.addresses import Address, branch
from gossamer.protocols.hpmcast.comparing import EXPECTED_US, Comparing
from gossamer.protocols.hpmcast.judging import is_sound
from gossamer.protocols.hpmcast.messages import LEVELS_MAX, PlaceRequest, SubsystemRow
from gossamer.protocols.hpmcast.tables import ViewTables
from gossamer.protocols.hpmcast.watching import NeighbourWatch

ASKED = 2
"Peers a newcomer asks at a time."
DETOURS = 3
"Requests in vain after which whoever is asked answers itself: those it would send on to may be dead."
GREETED_MAX = 256
"Strangers that are not greeted again for a while."
SEEDS_MAX = 64
"Peers to begin with that are remembered."
VISITORS_MAX = 16
"Newcomers that are."
MISSED_MAX = 64
"Delegates of subsystems that were forgotten."


class Joining:
    """One participant's: as a newcomer, and for others."""

    def __init__(self, node: Stack, tables: ViewTables, watch: NeighbourWatch, comparing: Comparing) -> None:
        self.node, self.tables, self.watch, self.comparing = node, tables, watch, comparing
        self.seeds: dict[Peer, None] = {}
        "Peers this node began with."
        self.visitors: dict[Peer, None] = {}
        "Those who looked for a place here: whoever was first has nobody else to turn to."
        self.missed: dict[Peer, None] = {}
        "Those who stood for subsystems nobody heard of any more: there may be some behind a rift in the network."
        self.greeted: dict[Peer, int] = {}
        "Until when each is not greeted again."
        self.tries = 0

    def bounds(self) -> Iterator[Bound]:
        yield "peers to begin with", len(self.seeds), SEEDS_MAX
        yield "visitors", len(self.visitors), VISITORS_MAX
        yield "peers missed", len(self.missed), MISSED_MAX
        yield "peers greeted", len(self.greeted), GREETED_MAX

    def know(self, contacts: tuple[Peer, ...]) -> None:
        for peer in contacts:
            if peer != self.node.me:
                self.seeds.pop(peer, None)
                self.seeds[peer] = None
        while len(self.seeds) > SEEDS_MAX:
            del self.seeds[next(iter(self.seeds))]

    def ask(self) -> None:
        """Asks some of those this node began with for a place."""
        known = [*self.seeds]
        for i in distinct(self.comparing.fresh_key(), len(known), ASKED):
            self.request(known[i])
        self.tries += 1

    def greet(self, peer: Peer) -> None:
        """Somebody who should know us, and perhaps does not, or whom we lost."""
        now_us = self.node.now_us
        if peer != self.node.me and self.greeted.get(peer, -1) < now_us:
            self.greeted.pop(peer, None)
            self.greeted[peer] = now_us + EXPECTED_US
            if len(self.greeted) > GREETED_MAX:
                del self.greeted[next(iter(self.greeted))]
            self.request(peer)

    def request(self, peer: Peer) -> None:
        self.comparing.open_until_us = self.node.now_us + EXPECTED_US
        self.node.out.send([peer], PlaceRequest(self.tables.own.row, self.tries))

    def on_join(self, peer: Peer, join: PlaceRequest) -> None:
        row, tables = join.row, self.tables
        who, address = row.author, row.about
        if who == self.node.me or not self.comparing.heeds(peer, first_hand(who, peer)):
            return
        if who != peer and not self.comparing.heeds(peer, ("passed on by", peer)):
            return  # whoever makes up newcomers would have us write to them all
        away = self.comparing.distance_to(address)
        if away > tables.levels or not is_sound(row, tables, self.node.now_us) or not row.count:
            self.node.out.note("reject", peer=peer, detail="bad row")
            return
        if who == peer:
            self.watch.lives_at(who, address, self.node.now_us)
        if away == 1:
            self.comparing.hear_row(peer, row, self.node.now_us)
            if who == peer:
                self.watch.heard(who, self.node.now_us)
        elif told := self.lowest(address, away, join, peer):
            self.node.out.send(told, PlaceRequest(row, join.tries, join.hops + 1))
            return
        self.visitors[who] = None
        if len(self.visitors) > VISITORS_MAX:
            del self.visitors[next(iter(self.visitors))]
        self.comparing.tell(who, [known for known in tables.shared(away) if self.comparing.is_told(known)])

    def miss(self, row: SubsystemRow) -> None:
        """A subsystem was forgotten, without a farewell."""
        if row.count:
            for seat in row.delegates:
                self.missed.pop(seat.peer, None)
                self.missed[seat.peer] = None
        while len(self.missed) > MISSED_MAX:
            del self.missed[next(iter(self.missed))]

    def far(self, key: int) -> list[Peer]:
        """One of the peers that were known once, and are in no view, if there are any. Each way of having known them
        has its turn, or the many that died would hide the few that did not."""
        known = self.tables.peers()
        kinds: list[list[Peer]] = [
            [peer for peer in kind if peer not in known and peer != self.node.me]
            for kind in (self.seeds, self.visitors, self.watch.lost, self.missed)
        ]
        kinds = [kind for kind in kinds if kind]
        drawn = [kinds[i] for i in distinct(key, len(kinds), 1)]
        return [kind[i] for kind in drawn for i in distinct(fold(key, 1), len(kind), 1)]

    def lowest(self, address: Address, away: int, join: PlaceRequest, peer: Peer) -> list[Peer]:
        """The lowest delegates known of an address, if there is a point in asking them."""
        if join.tries >= DETOURS or join.hops >= min(2 * self.tables.levels, LEVELS_MAX):
            return []
        below = branch(address, away - 1)
        line = next((known for known in self.tables.lines(away) if known.row.about == below), None)
        standing = () if line is None else line.peers
        return [each for each in standing if each not in (peer, join.row.author, self.node.me)]
