"""A super-topic table: members of one topic above a community, and how they change (MERGE of 001, Figs 5 and 6)."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from gossamer.core.ids import Peer
from gossamer.core.topics import Topic
from gossamer.parts.liveness import Unanswered
from gossamer.parts.owners import crowd, surplus

NOBODY: Mapping[Peer, int] = MappingProxyType({})
UNUSED = -1
"No probe carries this nonce."


class Table:
    """Whoever failed is forgotten: found again, it is as good as anybody new."""

    def __init__(self, topic: Topic) -> None:
        self.topic = topic
        self.most = 0
        "How many entries it may have."
        self.entries: list[Peer] = []
        self.confirmed: dict[Peer, None] = {}
        "Entries that answered since they came."
        self.unanswered = Unanswered()
        self.nonce = UNUSED
        self.checking = False
        self.checked_us: int | None = None
        self.asked: dict[Peer, bool] = {}
        "Entries asked for others, whose answers did not come yet, and whether one is to take the place of another."
        self.next: dict[Peer, Peer] = {}
        "Who takes the place of which entry once it has answered: what is proven never gives way to a mere claim."
        self.whole = False
        "Whether an entry that was asked for others knew none: they are all here, or nearly."
        self.exchanges = 0
        "How often its entries are still to be exchanged, since somebody else found them: or all would link to few."

    def sure(self) -> list[Peer]:
        """Entries that answered, and did not just fail to: whom this node may name to others."""
        return self.unanswered.sure(peer for peer in self.entries if peer in self.confirmed)

    def unmet(self) -> list[Peer]:
        """Entries that were never asked whether they are there."""
        return [peer for peer in self.entries if peer not in self.confirmed and peer not in self.unanswered.asks]

    def merge(self, peers: Sequence[Peer], owners: Mapping[Peer, int] = NOBODY) -> bool:
        """Takes in whoever there is room for. Entries give way only where one owner has too many of them.

        True: there are new ones."""
        before = len(self.entries), self.entries[-1:]
        for peer in [peer for peer in dict.fromkeys(peers) if peer not in self.entries]:
            same = crowd(peer, self.entries, owners)
            if same or len(self.entries) >= self.most:
                out = None if same else surplus(peer, self.entries, owners)
                if out is None:
                    continue
                self.remove(out)
            self.entries.append(peer)
        changed = (len(self.entries), self.entries[-1:]) != before
        self.whole = self.whole and not changed
        return changed

    def remove(self, peer: Peer) -> None:
        self.whole = False
        self.entries.remove(peer)
        self.confirmed.pop(peer, None)
        self.unanswered.heard(peer)

    def trim(self, most: int) -> None:
        """So many from now on: those not confirmed go first. `links` may be lowered while running."""
        self.most = most
        ranked = sorted(self.entries, key=lambda peer: peer not in self.confirmed)
        for peer in ranked[most:]:
            self.remove(peer)

    def heard(self, peer: Peer) -> bool:
        """An entry answered. True: for the first time."""
        self.unanswered.heard(peer)
        first = peer not in self.confirmed
        self.confirmed[peer] = None
        return first

    def replaced(self, new: Peer) -> bool:
        """Somebody answered who was to take the place of an entry: now it has it, if that one is still there."""
        old = self.next.pop(new, None)
        if old not in self.entries or new in self.entries:
            return False
        self.entries[self.entries.index(old)] = new
        self.confirmed.pop(old, None)
        self.unanswered.heard(old)
        return True

    def judge(self, probes: int) -> list[Peer]:
        """Whoever was probed so many times in vain has failed, and goes. Says who."""
        lost = [peer for peer in self.unanswered.lost(probes) if peer in self.entries]
        for peer in lost:
            self.remove(peer)
        return lost
