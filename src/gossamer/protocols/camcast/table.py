"""A super-topic table: what it holds, and how it changes (MERGE of 001, Figs 5 and 6)."""

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
    """Contacts above one community, towards one of its super-topics."""

    def __init__(self, above: Topic, instead_of: Topic | None = None) -> None:
        self.above = above
        self.instead_of = instead_of
        "The empty super-topic this table stands in for, if it does."
        self.found: Topic | None = None
        self.entries: list[Peer] = []
        self.failed: dict[Peer, None] = {}
        self.wanted: list[Topic] = []  # the search's present scope; empty: no search under way
        self.generation = 0
        self.wait_us = 0
        self.nonce = UNUSED
        self.checking = False
        self.unchecked = 0
        "Times the table was looked after since its entries were last probed."
        self.unanswered = Unanswered()
        self.confirmed: dict[Peer, None] = {}  # entries that answered since they came
        self.news = False
        "Whether an entry was confirmed that the community was not told of yet."

    def live(self) -> list[Peer]:
        return [peer for peer in self.entries if peer not in self.failed]

    def sure(self) -> list[Peer]:
        """Live entries that answered, and did not just fail to: whom this node may name to others."""
        return self.unanswered.sure(peer for peer in self.live() if peer in self.confirmed)

    def merge(self, found: Topic, peers: Sequence[Peer], most: int, owners: Mapping[Peer, int] = NOBODY) -> bool:
        """Keeps live entries, replaces failed ones, never exceeds `most`; a nearer topic replaces everything.

        Live entries give way only where one owner has too many of them."""
        before = (self.found, tuple(self.entries))
        if found != self.found:
            self.found, self.entries, self.failed, self.confirmed = found, [], {}, {}
            self.nonce, self.checking = UNUSED, False
        self.trim(most)
        fresh = [peer for peer in dict.fromkeys(peers) if peer not in self.entries]
        for peer in fresh:
            same = crowd(peer, self.entries, owners)
            if same or len(self.entries) >= most:
                out = next((old for old in same or self.entries if old in self.failed), None)
                if out is None and not same:
                    out = surplus(peer, self.entries, owners)
                if out is None:
                    continue
                self.remove(out)
            self.entries.append(peer)
        return (self.found, tuple(self.entries)) != before

    def remove(self, peer: Peer) -> None:
        self.entries.remove(peer)
        self.failed.pop(peer, None)
        self.confirmed.pop(peer, None)

    def trim(self, most: int) -> None:
        """Drops what exceeds `most`, failed entries first: `links` may be lowered while running."""
        if len(self.entries) > most:
            for peer in [*self.live(), *(peer for peer in self.entries if peer in self.failed)][most:]:
                self.remove(peer)

    def heard(self, peer: Peer, here: bool) -> bool:
        """An entry answered; one that is no member any more has failed. True: it had failed, and is live again."""
        self.unanswered.heard(peer)
        if not here:
            self.failed[peer] = None
            return False
        self.news = self.news or peer not in self.confirmed
        self.confirmed[peer] = None
        had_failed = peer in self.failed
        self.failed.pop(peer, None)
        return had_failed

    def judge(self, probes: int) -> list[Peer]:
        """Live entries probed so many times in vain have failed; who came since the probes went out is not judged.

        Says who failed."""
        lost = self.unanswered.lost(probes)
        newly_failed = [peer for peer in self.live() if peer in lost]
        self.failed.update(dict.fromkeys(newly_failed))
        return newly_failed
