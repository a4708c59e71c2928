"""Whether the neighbours on level 1 are there: by what is heard of them, and where nothing is, by asking (6.1.3)."""

from gossamer.core.ids import Peer
from gossamer.parts.liveness import Unanswered
from gossamer.protocols.hpmcast.tables import Tables

HEARSAY = 4
"A neighbour is asked after so many times `suspect_us` at the latest, whatever others say they heard of it."
LOST_MAX = 256
"Neighbours given up that are remembered, so that old news does not bring them back."


class Watch:
    """One participant's."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.unanswered = Unanswered()
        self.direct_us: dict[Peer, int] = {}
        "When each was last heard by ourselves."
        self.lost: dict[Peer, tuple[int, int]] = {}
        "Those given up: the stamp of their row, and when."

    def heard(self, peer: Peer, now_us: int) -> None:
        """The neighbour itself said something."""
        known = self.tables.members.get(peer)
        if known is not None and known.row.count:
            known.heard_us = max(known.heard_us, now_us)
            self.direct_us[peer] = now_us
            self.unanswered.heard(peer)

    def doubt(self, peer: Peer) -> None:
        """There is a reason to ask."""
        if peer in self.tables.members:
            self.direct_us[peer] = -HEARSAY * self.tables.upkeep.suspect_us

    def silent(self, now_us: int) -> list[Peer]:
        """Who is to be asked now; asked again those that did not answer."""
        suspect_us = self.tables.upkeep.suspect_us
        asked = [
            peer
            for peer, known in self.tables.members.items()
            if known.row.count
            and (
                peer in self.unanswered.asks
                or now_us - known.heard_us > suspect_us
                or now_us - self.direct_us.get(peer, 0) > HEARSAY * suspect_us
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
            known = self.tables.members.get(peer)
            self.unanswered.heard(peer)
            self.direct_us.pop(peer, None)
            if known is not None:
                self.tables.drop(known.row)
                self.lost.pop(peer, None)
                self.lost[peer] = known.row.stamp, now_us
        while len(self.lost) > LOST_MAX:
            del self.lost[next(iter(self.lost))]

    def is_back(self, peer: Peer, stamp: int, heard_us: int) -> bool:
        """Whether news of a neighbour is later than its end, if there was one: another row, or a sign of life."""
        lost = self.lost.get(peer)
        return lost is None or stamp > lost[0] or heard_us > lost[1]

    def pardon(self, peer: Peer) -> None:
        """Somebody heard of it since it was given up."""
        self.lost.pop(peer, None)

    def begin(self, peer: Peer, now_us: int) -> None:
        """The neighbour is in the view."""
        self.lost.pop(peer, None)
        self.direct_us.setdefault(peer, now_us)

    def forget(self, peer: Peer) -> None:
        """The neighbour left in good order."""
        self.unanswered.heard(peer)
        self.direct_us.pop(peer, None)
