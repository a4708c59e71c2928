"""How views live: turn by turn they are compared with those of others, and what changed here is told.

Every turn a participant picks a level on which it stands, and some participants of it. So nobody above the lowest level
is talked to by more participants than there are in that view; everybody else learns of them from its neighbours.
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from gossamer.core.draws import chance, distinct, fold
from gossamer.core.ids import Peer
from gossamer.core.interest import Change
from gossamer.core.layer import Bound, Handler, Layer
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.protocols.hpmcast.addresses import Address
from gossamer.protocols.hpmcast.asked import Asked
from gossamer.protocols.hpmcast.comparing import EXPECTED_MAX, Comparing
from gossamer.protocols.hpmcast.joining import Joining
from gossamer.protocols.hpmcast.messages import SEATS_MAX, LaterRows, Ping, PlaceRequest, Pong, RowDigest, SubsystemRow
from gossamer.protocols.hpmcast.tables import LINES_MAX, KnownRow, ViewTables
from gossamer.protocols.hpmcast.upkeep import Upkeep
from gossamer.protocols.hpmcast.wanting import Interest
from gossamer.protocols.hpmcast.watching import LOST_MAX, NeighbourWatch

HURRIED = 6
"Turns that come faster after a change."
FAR_EVERY = 8
"One turn in so many, somebody from far back is greeted too, or parts of a network would stay apart."
FAR_TOGETHER = 2
"Greetings of all participants together in one turn's time: where there are many, each greets as rarely."
SETTLED = 3
"Turns after which a delegate corrects what outsiders are told of its subsystem, though nothing changed for itself."
FAREWELLS_MAX = SEATS_MAX
"Neighbours a leaving participant tells; these tell the others."


class CompareTurn(Struct, frozen=True):
    """Timer: time to compare views. Stale after a change that was in a hurry."""

    number: int


class Membership(Layer):
    """One participant's part in keeping the views; these are what the spread asks."""

    def __init__(self, node: Stack, tables: ViewTables) -> None:
        super().__init__(node)
        self.tables = tables
        self.levels = tables.levels
        self.asked = Asked(node.interest)
        self.watch = NeighbourWatch(tables)
        self.comparing = Comparing(node, tables, self.watch, self)
        self.joining = Joining(node, tables, self.watch, self.comparing)
        self.turns = self.hurried = self.due_us = 0
        self.level = 1
        "On which views are compared next."
        self.begun = self.placed = self.gone = False
        self.waited: dict[int, int] = {}
        "For how many turns outsiders have been told something else of our subsystem on a level."
        self.seen: dict[int, KnownRow] = {}
        "How we knew our own subsystem, on each level, when we last looked."

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {
            RowDigest: self.comparing.on_digest,
            LaterRows: self.on_tell,
            PlaceRequest: self.joining.on_join,
            Ping: self.on_ping,
            Pong: self.on_pong,
            CompareTurn: self.on_turn,
        }

    def bounds(self) -> Iterator[Bound]:
        yield from self.joining.bounds()
        yield "peers whose rows are heard", len(self.comparing.expected), EXPECTED_MAX
        yield "neighbours given up", len(self.watch.lost), LOST_MAX
        for level in range(1, self.levels + 1):
            yield f"rows on level {level}", sum(1 for _ in self.tables.told(level)), LINES_MAX

    def lives_by(self, topic: Topic | None) -> Iterator[Struct]:
        if topic is None and self.begun and not self.gone:
            yield CompareTurn(self.turns)

    # -- views ----------------------------------------------------------------------------------------------------

    def lines(self, level: int) -> Sequence[KnownRow]:
        return self.tables.lines(level)

    def ready(self) -> bool:
        return self.placed

    # -- life -----------------------------------------------------------------------------------------------------

    def started(self, contacts: Sequence[Peer]) -> None:
        self.joining.know(tuple(contacts))
        if not self.begun:
            self.begun = True
            self.say()
        if not self.joining.seeds:
            self.find_place()
        self.publish()
        self.hurry()

    def interest_changed(self, change: Change) -> None:
        """Said at the next turn, which comes at once: so many that come together are said together."""
        self.asked.changed(change)
        if self.begun:
            self.hurry()

    def tuned(self, topic: Topic, params: Struct) -> None:
        if isinstance(params, Upkeep):
            self.tables.upkeep = params
            self.tables.changed(1)
            if self.begun:
                self.say_again()

    def say_again(self) -> None:
        """All rows of ours, anew: others may hold them with a seal that counts no more."""
        tables, now_us = self.tables, self.node.now_us
        tables.say(self.interest(), max(1, now_us, tables.own.row.stamp + 1))
        for level in range(2, self.levels + 1):
            told = tables.find(tables.summary(level).row.about, self.node.me)
            if tables.stands(level) and told is not None and told.row.author == self.node.me:
                tables.publish(level, now_us)
        self.hurry()

    def say(self) -> None:
        """What this participant wants, in a row that is later than all before."""
        row = self.tables.own.row
        said = (row.interest, row.delegates[0].weight)
        if not row.stamp or said != (self.interest(), self.tables.upkeep.capacity):
            self.tables.say(self.interest(), max(1, self.node.now_us, row.stamp + 1))
            self.hurry()

    def interest(self) -> Interest:
        return self.asked.said(self.tables.upkeep.interest_size, self.node.now_us, calm=self.hurried == 0)

    def find_place(self) -> None:
        if not self.placed:
            self.placed = True
            self.node.ready_for_all()

    def peer_down(self, peer: Peer) -> None:
        self.watch.doubt(peer)

    def leaving(self) -> None:
        """The neighbours are told; where there are none, those of the lowest level on which there are some."""
        self.gone = True
        for level in range(1, self.levels + 1):
            others = [peer for peer, _ in self.others_on(level)]
            if others:
                own = self.tables.own.row if level == 1 else self.tables.summary(level).row
                told = self.tables.find(own.about, self.node.me)
                stamp = max(1, self.node.now_us, 0 if told is None else told.row.stamp + 1)
                gone = SubsystemRow(own.about, self.node.me, stamp, self.tables.own.row.delegates, (), 0)
                self.out.send(others[:FAREWELLS_MAX], LaterRows((gone,)))
                return

    # -- turns ----------------------------------------------------------------------------------------------------

    def hurry(self) -> None:
        """Compares views at once, and for a while more often."""
        if self.hurried == 0 and not self.gone:
            self.due_us = self.node.now_us
            self.next_turn(1)
        self.hurried = HURRIED

    def next_turn(self, after_us: int) -> None:
        self.turns += 1
        self.out.timer(max(1, after_us), CompareTurn(self.turns))

    def on_turn(self, timer: CompareTurn) -> None:
        if timer.number != self.turns or self.gone:
            return
        now_us, upkeep = self.node.now_us, self.tables.upkeep
        self.expire()
        self.say()
        self.publish()
        silent = self.watch.silent(now_us)
        for peer in silent:
            self.out.send([peer], Ping(self.tables.members[peer].row.about))
        if not self.placed:
            self.ask_for_place()
        if now_us >= self.due_us:
            self.compare(self.partners())
            self.next_due()
        self.next_turn(min(self.due_us - now_us, upkeep.hurry_every_us) if silent else self.due_us - now_us)

    def next_due(self) -> None:
        """When views are compared again, and on which level."""
        upkeep, key = self.tables.upkeep, self.comparing.fresh_key()
        self.hurried = max(0, self.hurried - 1)
        pause_us = upkeep.gossip_every_us if self.placed and not self.hurried else upkeep.hurry_every_us
        self.due_us = self.node.now_us + round(pause_us * (0.9 + 0.2 * chance(key, 0)))
        standing = [level for level in range(1, self.levels + 1) if self.tables.stands(level)]
        peopled = [level for level in standing if any(self.others_on(level))] or [1]
        self.level = peopled[distinct(fold(key, 1), len(peopled), 1)[0]]
        self.look_back(fold(key, 2))

    def ask_for_place(self) -> None:
        if self.joining.tries < self.tables.upkeep.tries:
            self.joining.ask()
        else:
            self.find_place()  # nobody answers: the first one, or cut off

    def others_on(self, level: int) -> Iterator[tuple[Peer, Address]]:
        for known in self.tables.lines(level):
            for seat in known.row.delegates:
                if seat.peer != self.node.me:
                    yield seat.peer, seat.address

    def partners(self) -> dict[Peer, Address]:
        """Some participants of the level."""
        there = [*self.others_on(self.level)]
        drawn = distinct(self.comparing.fresh_key(), len(there), self.tables.upkeep.gossip_fanout)
        return dict(there[i] for i in drawn)

    def look_back(self, key: int) -> None:
        """Now and then somebody from far back is greeted; always where there is nobody else."""
        known = sum(line.row.count for line in self.lines(self.levels))
        often = known == 1 or chance(key, 0) * max(FAR_EVERY, known // FAR_TOGETHER) < 1
        if self.placed and often:
            for peer in self.joining.far(fold(key, 1)):
                self.joining.greet(peer)

    def compare(self, peers: Mapping[Peer, Address]) -> None:
        for peer, address in peers.items():
            self.comparing.expect(peer)
            self.out.send([peer], self.comparing.digest(self.comparing.distance_to(address)))

    def ride(self, level: int, peers: Sequence[Peer]) -> None:
        """An event goes to these: what is to be compared on that level soon rides along."""
        upkeep = self.tables.upkeep
        if level == self.level and self.placed and self.due_us - self.node.now_us <= upkeep.gossip_every_us // 2:
            there = dict(self.others_on(level))
            told = [peer for peer in peers if peer in there]
            drawn = distinct(self.comparing.fresh_key(), len(told), upkeep.gossip_fanout)
            self.compare({told[i]: there[told[i]] for i in drawn})
            self.next_due()

    def expire(self) -> None:
        """Above level 1 whoever nobody heard of is forgotten without a question; on level 1, who did not answer."""
        tables, now_us = self.tables, self.node.now_us
        self.watch.give_up(now_us)
        for known in [*tables.members.values(), *tables.others.values()]:
            row = known.row
            old = now_us - known.heard_us > tables.upkeep.forget_on(tables.level_of(row.about))
            passive = len(row.about) < self.levels or not row.count
            if old and passive and not tables.is_mine(row):
                tables.drop(row)
                self.joining.miss(row)

    def publish(self) -> None:
        """As a delegate, tells outsiders what changed in our subsystems; what others say wrongly, after a while."""
        if not self.placed:
            return
        for level in range(2, self.levels + 1):
            made = self.tables.summary(level)
            news = self.seen.get(level) is not made
            self.seen[level] = made
            if not self.tables.differs(level):
                self.waited.pop(level, None)
            elif self.may_contradict(level, news):
                self.waited.pop(level, None)
                self.tables.publish(level, self.node.now_us)
                self.hurry()

    def may_contradict(self, level: int, news: bool) -> bool:
        """Others were told of delegates that are strangers to us: they are asked first, for they may know of many that
        we do not. And who hears from nobody may be the one that is cut off."""
        strangers = self.tables.strangers(level)
        for peer in strangers:
            self.joining.greet(peer)
        if strangers and not self.watch.is_in_touch(self.node.now_us):
            self.waited.pop(level, None)
            return False
        if news and strangers:
            self.hurry()
        self.waited[level] = self.waited.get(level, 0) + 1
        return (news and not strangers) or self.waited[level] >= SETTLED

    # -- what is heard --------------------------------------------------------------------------------------------

    def met(self, author: Peer) -> None:
        self.joining.greet(author)

    def learned(self, row: SubsystemRow) -> None:
        """Among neighbours news travels fast."""
        if len(row.about) == self.levels:
            self.hurry()

    def on_tell(self, peer: Peer, tell: LaterRows) -> None:
        self.comparing.on_tell(peer, tell)
        if not self.placed and any(row.count for row in tell.rows):
            self.find_place()
            self.hurry()
            self.out.send([peer], self.comparing.digest(1))  # now it learns of us

    def on_ping(self, peer: Peer, ping: Ping) -> None:
        if self.comparing.heeds(peer, peer):
            here = ping.address in ((), self.tables.address)
            if here:
                self.out.send([peer], Pong())
            if not here or peer not in self.tables.members:
                self.joining.greet(peer)  # it should know us, and where we live
            self.watch.heard(peer, self.node.now_us)

    def on_pong(self, peer: Peer, pong: Pong) -> None:
        self.watch.heard(peer, self.node.now_us)
