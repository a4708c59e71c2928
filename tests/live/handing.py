"""A publisher beside a plain model of each of its events by itself: members come and go and acknowledge what they like,
time passes, memory is short, the publisher crashes. Network and spool are stand-ins; the spool answers when told to."""

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from gossamer.core.ids import EventId
from gossamer.core.machine import Publish
from gossamer.live.arriving.bodies import Bodies
from gossamer.live.arriving.permissions import Permissions
from gossamer.live.keys.trust import OpenTrust
from gossamer.live.links.control import How, acked
from gossamer.live.publishing.handover import HandOver
from gossamer.live.publishing.publishing import SEAL_EVERY_S, Publishing
from gossamer.live.publishing.sealing import Sealing
from gossamer.live.running.spread_rules import SpreadRules
from gossamer.live.spool import Outgoing, Waiting
from gossamer.live.watching.failures import Failures
from gossamer.live.watching.metrics import Metrics
from gossamer.live.watching.watched_loop import WatchedLoop
from gossamer.wire.pack import Pack

ME = 1
AGAIN_S = 1.0
FORGET_AFTER_S = 500.0
SHORT = {
    "handover.UNACKED_MAX": 12,
    "handover.AT_ONCE": 5,
    "backlog.AT_ONCE": 5,
    "publishing.BATCH_MAX": 6,
    "handover.BATCH_MAX": 6,
    "sealing.PACK_BYTES_MAX": 2_000,
}
"Little fits anywhere, so that few events do what many would."
LARGE = 1_500

Peers = st.lists(st.integers(2, 6), max_size=4, unique=True)
Spots = st.integers(0, 60)
Hows: st.SearchStrategy[How] = st.sampled_from(["disk", "disk", "memory", "not"])


class Loop(asyncio.SelectorEventLoop):
    """Its time passes when told to."""

    now_s = 1_000.0

    def time(self) -> float:
        return self.now_s


class Outbox:
    """Rows of one or several events. Answers come when told to."""

    outbox_bytes = 0

    def __init__(self) -> None:
        self.rows: dict[EventId, Waiting] = {}
        self.asked: list[tuple[asyncio.Future[list[Waiting]], list[Waiting]]] = []
        self.numbers = 0

    def accept(self, publications: list[Outgoing]) -> "asyncio.Future[None]":
        for each in publications:
            self.numbers += 1
            body = each.sealed.content if isinstance(each.sealed, Pack) else each.sealed
            self.rows[each.id] = Waiting(self.numbers, each.id, each.topic, body, each.more)
        accepted = asyncio.get_running_loop().create_future()
        accepted.set_result(None)
        return accepted

    async def keyed(self, topic: str, key: str) -> EventId | None:
        return None

    def done(self, firsts: list[EventId]) -> None:
        for each in firsts:
            self.rows.pop(each, None)

    async def outbox(self, limit: int, after: int = 0, limit_bytes: int = 0) -> list[Waiting]:
        left = [each for each in self.rows.values() if each.number > after]
        page = [each for i, each in enumerate(left) if sum(1 + one.more for one in left[: i + 1]) <= limit]
        answer: asyncio.Future[list[Waiting]] = asyncio.get_running_loop().create_future()
        self.asked.append((answer, page or left[:1]))
        return await answer


class Plain:
    """What becomes of an event, whatever it was spread with."""

    def __init__(self) -> None:
        self.told: set[int] = set()
        self.asked: set[int] = set()
        self.answers: dict[int, How] = {}

    def tell(self, peers: Sequence[int], again: bool) -> None:
        self.told = self.told if again else {*peers}
        self.asked |= {*peers}

    def hear(self, peer: int, how: How) -> None:
        if peer in self.asked:
            self.answers[peer] = how

    def having(self, how: How) -> set[int]:
        return {peer for peer, its in self.answers.items() if its == how}

    def takers(self) -> set[int]:
        return self.told - self.having("not")

    def is_taken(self, forgetful: set[int]) -> bool:
        """Enough on disk; or nobody is left who could have a disk and did not answer, and all or enough have it."""
        if len(self.having("disk")) >= 3:
            return True
        if not self.takers() or self.told - {*self.answers} - forgetful:
            return False
        return bool(self.having("disk")) or len(self.having("memory")) >= min(3, len(self.takers()))


class Watched(HandOver):
    """The model hears of what it asks itself."""

    model: "Model"

    def has_room(self) -> bool:
        self.model.make_room()
        return super().has_room()


class Fickle(SpreadRules):
    """Whether anybody wants anything, the model says."""

    def __init__(self, model: "Model") -> None:
        self.model = model

    def is_unwanted(self, event_id: EventId) -> bool:
        return self.model.unwanted


class Model(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.short = pytest.MonkeyPatch()
        for name, value in SHORT.items():
            self.short.setattr(f"gossamer.live.publishing.{name}", value)
        self.loop, self.failed = Loop(), Metrics()
        self.raised: list[Any] = []
        self.loop.set_exception_handler(lambda loop, about: self.raised.append(about))
        self.spool = Outbox()
        self.life = 0
        self.members: list[int] = []
        self.apart = self.unwanted = False
        self.published: dict[EventId, int] = {}
        "When, by the clock."
        self.taken: set[EventId] = set()
        "Handed over or given up, at some time."
        self.underway: dict[EventId, Plain] = {}
        self.forgetful: set[int] = set()
        "Members that answered that they have no disk."
        self.run(self._live)

    def run(self, call: Any, *arguments: Any) -> None:
        """On the loop, until nothing more comes of it."""

        async def calling() -> None:
            call(*arguments)
            for _ in range(20):
                await asyncio.sleep(0)

        self.loop.run_until_complete(calling())
        assert (self.raised, self.failed.failures) == ([], 0)
        self.reconcile()

    def now_us(self) -> int:
        return int(self.loop.now_s * 1e6)

    def _live(self) -> None:
        self.life += 1
        driver: Any = SimpleNamespace(
            feed=self.spread,
            closed=False,
            clock=SimpleNamespace(now_us=self.now_us),
            machine=SimpleNamespace(waiting=0, patterns=lambda topic, attributes: ()),
            loop=WatchedLoop(Failures(self.failed)),
        )
        spool: Any = self.spool
        trust, links, rules, bodies = OpenTrust("me"), SimpleNamespace(clogged=lambda: False), Fickle(self), Bodies()
        sealing = Sealing(trust, bodies)
        self.handover = Watched(
            *(ME, driver, bodies, spool, Permissions(trust), rules, sealing),
            again_s=AGAIN_S,
            forget_after_s=FORGET_AFTER_S,
            copies=3,
            settle_s=0.0,
        )
        self.handover.model = self
        self.publishing = Publishing(
            *(ME, self.life, driver, sealing, links, bodies, spool),
            *(self.handover, Metrics(), 1 << 20, 1 << 30, "wait"),
        )
        self.handover.begin_again([*self.spool.rows.values()])

    # -- what the handover does, as the model sees it ------------------------------------------------------------

    def spread(self, given: Publish) -> None:
        """Events go to the members there are, all the same way or each by itself, and with them what waited."""
        self.published |= {event.id: event.published_us for event in (given.event, *given.more)}
        ids = [event.id for event in (given.event, *given.more)]
        for each in ids:
            self.underway[each] = self.underway.pop(each, None) or Plain()
        if self.members:
            waited = [each for each, plain in self.underway.items() if not plain.told and each not in ids]
            for some in [[each] for each in (*ids, *waited)] if self.apart else [ids]:
                self.tell(some, self.members, again=False)

    def tell(self, ids: list[EventId], peers: list[int], again: bool) -> None:
        self.handover.told(ids, tuple(peers), again)
        told = [each for each in ids if each in self.underway]
        for each in told:
            self.underway[each].tell(peers, again)
        self.take(told)

    def take(self, ids: list[EventId]) -> None:
        """Of those that something was heard of."""
        for each in [each for each in ids if self.underway[each].is_taken(self.forgetful)]:
            del self.underway[each]
            self.taken.add(each)

    def make_room(self) -> None:
        """The oldest that nobody was there to take are left to the spool."""
        self.reconcile()
        if len(self.underway) >= SHORT["handover.UNACKED_MAX"]:
            lonely = [each for each, plain in self.underway.items() if not plain.takers()]
            for each in lonely[: SHORT["handover.AT_ONCE"]]:
                del self.underway[each]

    def reconcile(self) -> None:
        """Only what is old, or what nobody wants, is given up."""
        for each in [each for each in self.underway if each not in self.handover.unacked]:
            is_old = self.now_us() - self.published[each] > FORGET_AFTER_S * 1e6
            assert is_old or (self.unwanted and not self.underway[each].told)
            del self.underway[each]
            self.taken.add(each)

    # -- what happens ---------------------------------------------------------------------------------------------

    @rule(
        events=st.lists(
            st.tuples(st.sampled_from([".a", ".a", ".b"]), st.sampled_from([0, 0, LARGE])), min_size=1, max_size=9
        ),
        keyed=st.booleans(),
    )
    def publish(self, events: list[tuple[str, int]], keyed: bool) -> None:
        def publishing() -> None:
            for number, (topic, size) in enumerate(events):
                key = f"{len(self.published)} {number}" if keyed and number % 3 == 1 else None
                self.publishing.publish(topic, bytes(size), {}, key).add_done_callback(lambda _: None)

        self.run(publishing)
        self.pass_time(SEAL_EVERY_S)

    @rule(members=Peers, apart=st.booleans(), unwanted=st.booleans())
    def come_and_go(self, members: list[int], apart: bool, unwanted: bool) -> None:
        self.members, self.apart, self.unwanted = members, apart, unwanted

    @rule(start=Spots, count=st.integers(1, 9), peers=Peers, again=st.booleans())
    def told(self, start: int, count: int, peers: list[int], again: bool) -> None:
        if ids := [*self.published][start : start + count]:
            self.run(self.tell, ids, peers, again)

    @rule(peer=st.integers(2, 6), life=st.integers(1, 4), first=Spots, count=st.integers(0, 11), how=Hows)
    def acked(self, peer: int, life: int, first: int, count: int, how: How) -> None:
        self.ack(peer, [(life, first, first + count)], how)

    @rule(peer=st.integers(2, 6), how=Hows)
    def acked_all_of_it(self, peer: int, how: How = "disk") -> None:
        ids = sorted(each for each, plain in self.underway.items() if peer in plain.asked)
        for start in range(0, len(ids), 6):
            (said,) = acked(ids[start : start + 6], how)
            self.ack(peer, [*said.ranges], how)

    def ack(self, peer: int, spans: list[tuple[int, int, int]], how: How = "disk") -> None:
        if how != "not":
            self.forgetful = self.forgetful | {peer} if how == "memory" else self.forgetful - {peer}
        heard = [
            each
            for each, plain in self.underway.items()
            if peer in plain.asked and any(each.incarnation == life and a <= each.sequence <= b for life, a, b in spans)
        ]
        for each in heard:
            self.underway[each].hear(peer, how)
        self.take(heard)
        self.run(self.handover.acked, peer, tuple(spans), how)

    @rule()
    def spool_answers(self) -> None:
        if self.spool.asked:
            answer, page = self.spool.asked.pop(0)
            self.run(lambda: answer.done() or answer.set_result(page))

    @rule(passed_s=st.sampled_from([AGAIN_S / 2, AGAIN_S, 9 * AGAIN_S, FORGET_AFTER_S]))
    def pass_time(self, passed_s: float) -> None:
        self.loop.now_s += passed_s
        self.run(lambda: None)

    @rule()
    def crash(self) -> None:
        self.handover.close()
        self.handover.driver.closed = True
        self.publishing.waiting.clear()
        self.spool.asked.clear()
        self.underway.clear()
        self.forgetful = set()
        self.run(self._live)

    # -- what holds -----------------------------------------------------------------------------------------------

    @invariant()
    def what_is_under_way_is_counted_as_each_event_would_be(self) -> None:
        assert [*self.handover.unacked] == [*self.underway]
        for each, plain in self.underway.items():
            parcel = self.handover.unacked[each]
            assert ({*parcel.told}, {*parcel.asked}, parcel.answers) == (plain.told, plain.asked, plain.answers)

    @invariant()
    def what_was_published_waits_in_the_spool_until_it_is_taken(self) -> None:
        waiting = {each for row in self.spool.rows.values() for each in row.ids}
        assert self.published.keys() - self.taken <= waiting

    @invariant()
    def whatever_waits_is_under_way_or_will_be(self) -> None:
        handover = self.handover
        if not handover.backlog.left and handover.backlog.task is None:
            assert all(not handover.unacked.keys().isdisjoint(row.ids) for row in self.spool.rows.values())
        else:
            assert handover.unacked or handover.backlog.task is not None

    def teardown(self) -> None:
        """Once members are there to take everything, nothing waits any more."""
        try:
            self.come_and_go([2, 3, 4], apart=False, unwanted=False)
            for _ in range(200):
                if not self.spool.rows:
                    break
                self.pass_time(60.0)
                self.spool_answers()
                for peer in self.members:
                    self.acked_all_of_it(peer)
            assert (self.spool.rows, self.handover.unacked) == ({}, {})
            assert self.published.keys() <= self.taken
        finally:
            self.handover.close()
            self.short.undo()
            self.loop.run_until_complete(asyncio.sleep(0))
            self.loop.close()

    def check(self) -> None:
        self.what_is_under_way_is_counted_as_each_event_would_be()
        self.what_was_published_waits_in_the_spool_until_it_is_taken()
        self.whatever_waits_is_under_way_or_will_be()
