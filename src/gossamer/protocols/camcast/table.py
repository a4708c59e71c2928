"""A super-topic table: what it holds, and how it changes (MERGE of 001, Figs 5 and 6)."""

from collections.abc import Sequence

from gossamer.core.ids import Peer
from gossamer.core.topics import Topic


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
        self.nonce = 0
        self.checking = False
        self.probed: tuple[Peer, ...] = ()
        self.answered: dict[Peer, None] = {}

    def live(self) -> list[Peer]:
        return [peer for peer in self.entries if peer not in self.failed]

    def merge(self, found: Topic, peers: Sequence[Peer], most: int) -> bool:
        """Keeps live entries, replaces failed ones, never exceeds `most`; a nearer topic replaces everything."""
        before = (self.found, tuple(self.entries))
        if found != self.found:
            self.found, self.entries, self.failed = found, [], {}
        self.trim(most)
        fresh = [peer for peer in dict.fromkeys(peers) if peer not in self.entries]
        for peer in fresh:
            stale = next((old for old in self.entries if old in self.failed), None)
            if stale is not None and len(self.entries) >= most:
                self.entries.remove(stale)
                del self.failed[stale]
            if len(self.entries) < most:
                self.entries.append(peer)
        return (self.found, tuple(self.entries)) != before

    def trim(self, most: int) -> None:
        """Drops what exceeds `most`, failed entries first: `links` may be lowered while running."""
        if len(self.entries) > most:
            kept = [*self.live(), *(peer for peer in self.entries if peer in self.failed)][:most]
            self.entries = kept
            self.failed = {peer: None for peer in self.failed if peer in kept}

    def judge(self) -> list[Peer]:
        """Who was probed and kept silent has failed, who answered has not, who came since is not judged.

        Says who failed only now."""
        silent = [peer for peer in self.entries if peer in self.probed and peer not in self.answered]
        newly_failed = [peer for peer in silent if peer not in self.failed]
        unjudged = [peer for peer in self.failed if peer not in self.probed]
        self.failed = dict.fromkeys([*silent, *unjudged])
        return newly_failed
