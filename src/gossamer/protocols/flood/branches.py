"""One topic's neighbours at one node: those who get events at once, and those who are only told which there are."""

from collections.abc import Sequence

from gossamer.core.ids import Peer
from gossamer.core.machine import SECOND_US

GUESTS_MAX = 64
"Peers in a topic's tree besides those the membership knows."
STAY_US = 10 * SECOND_US
"How often a guest is asked whether it still has us for a neighbour. Two questions in vain, and it is forgotten."
AWAY_US = 3 * SECOND_US
"How long somebody who said it does not take part is left alone, whatever the membership still says."
SHAPED_US = 2 * SECOND_US
"For how long a publisher with a greater number does not shape the tree."


class Branches:
    """Whoever is not lazy is eager, so that whoever is new is eager.

    Views need not be mutual: somebody may know us whom we do not know. It is a *guest* for as long as it says so, and
    treated like all others: a tree whose links carry events one way only would be good for one publisher."""

    def __init__(self) -> None:
        self.era = -1
        self.around: tuple[Peer, ...] = ()
        "Neighbours as of that era: those of the membership, and guests."
        self.members: dict[Peer, None] = {}
        "Those of the membership."
        self.lazy: dict[Peer, int] = {}
        "Since when; for those we pruned ourselves, when we last said so."
        self.guests: dict[Peer, int] = {}
        "When each last said that it has us for a neighbour."
        self.asked: dict[Peer, int] = {}
        "When we asked somebody, a guest or not, whether it has us for a neighbour."
        self.away: dict[Peer, int] = {}
        "Until when each is left alone."
        self.turned_us = -STAY_US
        "When a shorter way was last taken."
        self.shaper: Peer | None = None
        self.shaped_us = 0

    def settle(self, era: int, members: Sequence[Peer], now_us: int) -> None:
        """Takes over what the membership says now, and forgets whoever is gone."""
        self.era = era
        self.away = {peer: until for peer, until in self.away.items() if until > now_us}
        self.asked = {peer: when for peer, when in self.asked.items() if now_us - when < STAY_US}
        self.members = known = dict.fromkeys(peer for peer in members if peer not in self.away)
        self.guests = {
            peer: heard for peer, heard in self.guests.items() if peer not in known and now_us - heard < 2 * STAY_US
        }
        self.around = (*known, *self.guests)
        self.lazy = {peer: since for peer, since in self.lazy.items() if peer in known or peer in self.guests}

    def welcome(self, peer: Peer, now_us: int) -> None:
        """Somebody says that it has us for a neighbour."""
        self.away.pop(peer, None)
        self.asked.pop(peer, None)
        if peer in self.guests or (peer not in self.around and len(self.guests) < GUESTS_MAX):
            self.guests[peer] = now_us
            if peer not in self.around:
                self.around = (*self.around, peer)

    def shapes(self, publisher: Peer, now_us: int) -> bool:
        """Whether copies of this publisher's events that come too often make links lazy. Where several publish at the
        same time each would prune what the others need, and the tree would never come to rest: of those whose events
        came lately, the smallest number decides."""
        return self.shaper is None or publisher <= self.shaper or now_us - self.shaped_us > SHAPED_US

    def heard_of(self, publisher: Peer, now_us: int) -> None:
        """An event of this publisher is news."""
        if self.shapes(publisher, now_us):
            self.shaper, self.shaped_us = publisher, now_us

    def is_strange(self, peer: Peer, now_us: int) -> bool:
        """Whether a peer is to be asked whether it has us for a neighbour; notes that it is."""
        if peer in self.around or peer in self.asked or len(self.asked) >= GUESTS_MAX:
            return False
        self.asked[peer] = now_us
        return True

    def forget(self, peer: Peer) -> None:
        for table in (self.lazy, self.guests, self.asked):
            table.pop(peer, None)
        self.members.pop(peer, None)
        self.around = tuple(other for other in self.around if other != peer)

    def leave_alone(self, peer: Peer, now_us: int) -> None:
        """It does not take part, whatever the membership says."""
        if peer in self.around:
            self.away[peer] = now_us + AWAY_US
        self.forget(peer)

    def silent(self, now_us: int) -> list[Peer]:
        """Guests to be asked again; notes that they are."""
        found = [p for p, heard in self.guests.items() if now_us - heard >= STAY_US and p not in self.asked]
        self.asked.update(dict.fromkeys(found, now_us))
        return found

    def eager(self) -> list[Peer]:
        return [peer for peer in self.around if peer not in self.lazy]

    def listeners(self) -> list[Peer]:
        """Those who are told which events there are."""
        return [peer for peer in self.around if peer in self.lazy]
