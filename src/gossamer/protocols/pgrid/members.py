"""Members drawn from the overlay: each community's table is as large as one event needs, and uniformly random.

It is drawn anew now and then, the more often the more its community changes. Whoever is new tells those it drew, and
takes the place of somebody in the table of each: so it is in as many tables as anybody else, at once.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from gossamer.core.draws import SAMPLE, distinct, draw, fold
from gossamer.core.ids import Peer
from gossamer.core.layer import Bound, Handler, Layer
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.parts.bucket import Buckets
from gossamer.parts.size import is_other_size
from gossamer.protocols.pgrid.layer import PGrid
from gossamer.protocols.pgrid.lookup import Lookup
from gossamer.protocols.pgrid.messages import MEMBERS_MAX, Gone, Hello
from gossamer.protocols.pgrid.params import Params

COMINGS_PER_S, COMINGS_BURST = 1, 5
"How often one peer may say that it is new in a community: each time it takes somebody's place."
LEFT_MAX = 256
"Peers of each community of whom it is remembered that they are no members."

Entries: TypeAlias = Callable[[Topic, int], int]
"How many members a table has, given the topic and the size of its community."


class Refresh(Struct, frozen=True):
    """Timer: a table is due. Stale once another one was set."""

    topic: Topic
    generation: int


class MemberTable:
    """One community's."""

    def __init__(self, generation: int, every_us: int) -> None:
        self.generation, self.every_us = generation, every_us
        self.peers: dict[Peer, None] = {}
        self.left: dict[Peer, int] = {}
        "Who said that it is no member, and when: what it said before is passed on for a while."
        self.size = 1
        self.ready = False
        self.changed = False
        "Whether somebody came or went since it was drawn."


class DrawnMembers(Layer):
    """Has the role of members."""

    def __init__(self, node: Stack, grid: PGrid, entries: Entries, params: Params) -> None:
        super().__init__(node)
        self.grid, self.entries, self.params = grid, entries, params
        self.tables: dict[Topic, MemberTable] = {}
        self.comings = Buckets(COMINGS_PER_S, COMINGS_BURST)
        self.count = 0

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {Hello: self.on_hello, Gone: self.on_gone, Refresh: self.on_refresh}

    def bounds(self) -> Iterator[Bound]:
        for topic, table in self.tables.items():
            yield f"members of {topic}", len(table.peers), MEMBERS_MAX
            yield f"peers that are no members of {topic}", len(table.left), LEFT_MAX

    def lives_by(self, topic: Topic | None) -> Iterator[Struct]:
        if topic is not None and (table := self.tables.get(topic)) is not None:
            yield Refresh(topic, table.generation)

    # -- what other layers ask --------------------------------------------------------------------------------------

    def about(self, topic: Topic) -> Sequence[Peer]:
        table = self.tables.get(topic)
        return [*table.peers] if table else []

    def sure(self, topic: Topic) -> Sequence[Peer]:
        return self.about(topic)

    def sample(self, topic: Topic, k: int, key: int) -> list[Peer]:
        known = self.about(topic)
        return [*known] if k >= len(known) else [known[i] for i in distinct(key, len(known), k)]

    def size(self, topic: Topic) -> int:
        table = self.tables.get(topic)
        return max(table.size, 1 + len(table.peers)) if table else 1

    def ready(self, topic: Topic) -> bool:
        table = self.tables.get(topic)
        return table is not None and table.ready

    def named(self, topic: Topic) -> Sequence[Peer]:
        return self.about(topic)

    # -- life -------------------------------------------------------------------------------------------------------

    def started(self, contacts: Sequence[Peer]) -> None:
        """There are others now: who is alone looks again."""
        for topic, table in self.tables.items():
            if contacts and not table.peers:
                self.refresh(topic, table)

    def joined(self, topic: Topic) -> None:
        table = self.tables[topic] = MemberTable(0, self.params.settle_every_us)  # others may be here any moment
        self.refresh(topic, table)

    def left(self, topic: Topic) -> None:
        if table := self.tables.pop(topic, None):
            self.out.send([*table.peers], Gone(topic))

    def leaving(self) -> None:
        for topic in tuple(self.tables):
            self.left(topic)

    def peer_down(self, peer: Peer) -> None:
        for topic in tuple(self.tables):
            self.drop(topic, peer)

    def strayed(self, peer: Peer, topic: Topic) -> None:
        for each in self.node.interest.communities(topic):
            self.on_gone(peer, Gone(each))

    # -- drawing ----------------------------------------------------------------------------------------------------

    def refresh(self, topic: Topic, table: MemberTable) -> None:
        """Draws the table anew, and sets the time for the next."""
        self.count += 1
        table.generation = self.count
        self.out.timer(table.every_us, Refresh(topic, table.generation))
        count = 1 + max(self.params.answers, self.entries(topic, self.size(topic)))  # one of them may be ourselves
        self.grid.members([topic], count, self.on_drawn)

    def on_refresh(self, timer: Refresh) -> None:
        table = self.tables.get(timer.topic)
        if table is None or table.generation != timer.generation:
            return
        quiet = not table.changed
        most_us = self.params.refresh_max_us if quiet and table.peers else self.params.refresh_us
        table.every_us, table.changed = min(2 * table.every_us, most_us), False
        self.refresh(timer.topic, table)

    def on_drawn(self, topic: Topic, lookup: Lookup) -> None:
        table = self.tables.get(topic)
        if table is None or lookup.total is None:
            return
        drawn = [said.member for said in lookup.found if said.stamp > table.left.get(said.member, -1)]
        total = lookup.total - (len(lookup.found) - len(drawn))
        size = max(1, total + (self.node.me not in drawn and total <= len(drawn)))
        most = min(MEMBERS_MAX, self.entries(topic, size))
        others = [peer for peer in dict.fromkeys(drawn) if peer != self.node.me]
        table.changed = table.changed or is_other_size(size, table.size)
        first, table.size = not table.peers, size
        if len(others) < min(most, size - 1) and len(drawn) < total and not table.ready:
            self.grid.members([topic], 1 + most, self.on_drawn)  # larger than thought
        if others:
            table.peers = dict.fromkeys(others[:most])
        if first and table.peers:
            self.out.send([*table.peers], Hello(topic))
        if not table.ready:
            table.ready = True
            self.node.is_ready(topic)  # the last act of a step: who waited for it may leave the community at once

    # -- others come and go -----------------------------------------------------------------------------------------

    def on_hello(self, peer: Peer, hello: Hello) -> None:
        table = self.tables.get(hello.topic)
        if not self.comings.take((peer, hello.topic), self.node.now_us):
            self.out.note("reject", peer=peer, topic=hello.topic, detail="too many comings and goings")
            return
        if table is None:
            self.out.send([peer], Gone(hello.topic))
            return
        table.changed = True
        table.left.pop(peer, None)
        if peer not in table.peers and peer != self.node.me:
            table.size += 1
            if len(table.peers) >= min(MEMBERS_MAX, max(1, self.entries(hello.topic, table.size))):
                known = [*table.peers]
                key = self.node.key(SAMPLE, fold(self.node.now_us, peer))
                del table.peers[known[draw(key, 0) % len(known)]]
            table.peers[peer] = None

    def on_gone(self, peer: Peer, gone: Gone) -> None:
        table = self.tables.get(gone.topic)
        if table is None:
            return
        self.drop(gone.topic, peer)
        table.left.pop(peer, None)
        table.left[peer] = self.node.now_us
        if len(table.left) > LEFT_MAX:
            del table.left[next(iter(table.left))]

    def drop(self, topic: Topic, peer: Peer) -> None:
        table = self.tables.get(topic)
        if table is not None and peer in table.peers:
            del table.peers[peer]
            table.changed = True
            if not table.peers or len(table.peers) * 2 < self.entries(topic, table.size):
                table.every_us = self.params.refresh_us
                self.refresh(topic, table)
