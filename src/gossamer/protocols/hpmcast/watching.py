"""Whether the neighbours on level 1 are there: by what is heard of them, and where nothing is, by asking (6.1.3)."""

from gossamer.core.ids import Peer
from gossamer.parts.liveness import Unanswered
from gossamer.protocols.hpmcast.addresses import Address
from gossamer.protocols.hpmcast.tables import ViewTables

HEARSAY = 4
"""A neighbour is asked after so many times `suspect_us` at the latest, whatever others say they heard of it; in a group
of more than HEARSAY² as much later, so that everybody asks about HEARSAY neighbours in that time."""
GROUP_BITS = 4
"In groups of 16 and more, news of all takes longer, and as much longer nobody is asked: as the logarithm of the size."
NEVER_US = -(1 << 62)
LOST_MAX = 256
"Neighbours given up that are remembered, so that old news does not bring them back."


class NeighbourWatch:
    """One participant's."""

    def __init__(self, tables: ViewTables) -> None:
        self.tables = tables
        self.unanswered = Unanswered()
        self.touched_us = 0
        "When anybody was last heard, neighbour or not."
        self.direct_us: dict[Peer, int] = {}
        "When each was last heard by ourselves."
        self.lost: dict[Peer, tuple[int, int]] = {}
        "Those given up: the stamp of their row, and when."

    def heard(self, peer: Peer, now_us: int) -> None:
        """A peer itself said something, a neighbour perhaps."""
        self.touched_us = now_us
        known = self.tables.members.get(peer)
        if known is not None and known.row.count:
            known.heard_us = max(known.heard_us, now_us)
            self.direct_us[peer] = now_us
            self.unanswered.heard(peer)

    def is_in_touch(self, now_us: int) -> bool:
        """Whether anybody was heard since the silent would have been asked."""
        return now_us - self.touched_us <= self.tables.upkeep.suspect_us

    def doubt(self, peer: Peer) -> None:
        """There is a reason to ask."""
        if peer in self.tables.members:
            self.direct_us[peer] = NEVER_US

    def silent(self, now_us: int) -> list[Peer]:
        """Who is to be asked now; asked again those that did not answer."""
        size, suspect_us = len(self.tables.members), self.tables.upkeep.suspect_us
        hearsay_us = max(HEARSAY, size // HEARSAY) * suspect_us
        suspect_us = suspect_us * max(GROUP_BITS, size.bit_length()) // GROUP_BITS
        asked = [
            peer
            for peer, known in self.tables.members.items()
            if known.row.count
            and (
                peer in self.unanswered.asks
                or now_us - known.heard_us > suspect_us
                or now_us - self.direct_us.get(peer, 0) > hearsay_us
            )
        ]
        self.unanswered.asked(asked)
        return asked

    def is_sure(self, peer: Peer) -> bool:
        """Whether there is no doubt about a neighbour: others are told of it."""
        return bool(self.unanswered.sure([peer]))

    def give_up(self, now_us: int) -> None:
        """Those asked in vain too often leave the view."""
        for peer in self.unanswered.lost(self.tables.upkeep.asks):
            self.lose(peer, now_us)

    def lose(self, peer: Peer, now_us: int) -> None:
        known = self.tables.members.get(peer)
        self.forget(peer)
        if known is not None:
            self.tables.drop(known.row)
            self.lost.pop(peer, None)
            self.lost[peer] = known.row.stamp, now_us
        if len(self.lost) > LOST_MAX:
            del self.lost[next(iter(self.lost))]

    def lives_at(self, peer: Peer, address: Address, now_us: int) -> None:
        """A peer says where it lives: a neighbour that moved is one no longer."""
        known = self.tables.members.get(peer)
        if known is not None and known.row.count and known.row.about != address:
            self.lose(peer, now_us)

    def is_back(self, peer: Peer, stamp: int, heard_us: int) -> bool:
        """Whether news of a neighbour is later than its end, if there was one: another row, or a sign of life."""
        lost = self.lost.get(peer)
        return lost is None or stamp > lost[0] or heard_us > lost[1]

    def begin(self, peer: Peer, now_us: int) -> None:
        """The neighbour is in the view."""
        self.lost.pop(peer, None)
        self.direct_us.setdefault(peer, now_us)

    def forget(self, peer: Peer) -> None:
        """Nothing is asked of it any more."""
        self.unanswered.heard(peer)
        self.direct_us.pop(peer, None)
