"""What came into the log, for durable subscriptions: in the order of the places, and once it is committed.

The loop still has what it delivered when the commit comes back, so nobody need read it from the disk.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from gossamer.core.topics import Hierarchy, Topic, remember
from gossamer.live.reading.deliveries import Delivery
from gossamer.live.reading.feed import DurableFeed
from gossamer.live.spool.items import places
from gossamer.live.spool.jobs import Commit, Keep, without_body
from gossamer.live.spool.spool import Spool
from gossamer.live.spool.subscriptions import Key

Held: TypeAlias = Sequence[tuple[Topic, list[Delivery]]]
"Events by topic that are being committed."


class CommittedLog:
    """Between deliveries and commits on one side, and subscriptions on the other."""

    def __init__(self, spool: Spool, hierarchy: Hierarchy, feeds: Mapping[Key, DurableFeed]) -> None:
        self.hierarchy, self.feeds = hierarchy, feeds
        self._concerned: dict[Topic, list[DurableFeed]] = {}
        self._settled = spool.last_place
        self._early: dict[int, int] = {}
        "What could not even be queued, from a first to a last place: those before it are not committed yet."
        self._held: dict[int, list[tuple[Topic, list[Delivery]]]] = {}
        "What was delivered and is being committed, by the first place of what is kept together."
        spool.hear(self.heard)

    def settled(self) -> int:
        """Every place up to here is committed, or stays empty."""
        return self._settled

    def forget_topics(self) -> None:
        """A subscription came, or went."""
        self._concerned.clear()

    def concerned(self, topic: Topic) -> list[DurableFeed]:
        """Those that are told of events of a topic."""
        known = self._concerned.get(topic)
        if known is None:
            found = [feed for feed in self.feeds.values() if self.hierarchy.includes(feed.topic, topic)]
            known = remember(self._concerned, topic, found)
        return known

    def delivered(self, topic: Topic, items: list[Delivery], first: int) -> None:
        """Events that will be committed with all from this first place on."""
        self._held.setdefault(first, []).append((topic, items))

    def heard(self, commit: Commit) -> None:
        """Places settle in their order, whatever became of their events."""
        kept = {job.first for job in commit.kept}
        for job in sorted((*commit.kept, *commit.failed), key=lambda job: job.first):
            held, last = self._held.pop(job.first, ()), job.first + places(job.kept) - 1
            if job.first > self._settled + 1:
                self._early[job.first] = last
            else:
                self._pass(last, with_bodies(job, held) if job.first in kept else ())
            while last := self._early.pop(self._settled + 1, 0):
                self._pass(last, ())

    def _pass(self, last: int, held: Held) -> None:
        before, self._settled = self._settled, max(self._settled, last)
        for feed in self.feeds.values():
            includes = self.hierarchy.includes
            items = [item for topic, some in held if includes(feed.topic, topic) for item in some]
            if items or feed.sub.readers:
                feed.committed(items, before, last)


def with_bodies(job: Keep, held: Held) -> Held:
    """What really stands in the log: the bytes of some were no longer at hand, and they will be fetched again."""
    if not (bare := without_body([job])):
        return held
    return [(topic, [item for item in items if item.id not in bare]) for topic, items in held]
