"""The spool beside a plain Python model of it, through any order of calls, restarts and crashes."""

import asyncio
import shutil
from collections.abc import Coroutine
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from gossamer.core.events import Event
from gossamer.live.spool import Kept, Outgoing, Spool
from gossamer.live.spool.progress import Progress, Save
from gossamer.live.spool.subscriptions import SubscriptionRow
from live.spool.spooling import DAY_US, Clock, durable, kept, named, outgoing, read_all, saved
from wire.test_pack import packed

T = TypeVar("T")

TOPICS = (".", ".a", ".a.b", ".ab", ".c")
Sequences = st.integers(0, 60)
Names = st.sampled_from(["billing", "audit"])


class Model(RuleBasedStateMachine):
    """Retention by age only, of whole hours; every rule but the crash leaves both sides settled."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.folder = Path(mkdtemp(prefix="gossamer-model-"))
        self.life = 0
        self.clock = Clock()
        self.published: dict[int, tuple[str, str | None, int]] = {}
        self.waiting: list[int] = []
        self.more: dict[int, int] = {}
        "How many follow a publication that was accepted in a pack."
        self.places: dict[int, Kept] = {}
        self.floor = self.last = 0
        self.subscriptions: dict[str, SubscriptionRow] = {}
        self.records: dict[int, bytes] = {}
        self.incarnation = 0

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    @initialize()
    def open(self) -> None:
        self.spool = self.run(Spool.open(self.folder / str(self.life), now_us=self.clock, keep_s=3600))
        assert self.spool.incarnation > self.incarnation
        self.incarnation = self.spool.incarnation
        self.tidy()

    def tidy(self) -> None:
        """A spool looks for what is old when it is opened, and when time has passed."""
        self.run(self.spool.tidy())
        self.prune()

    @rule(
        wanted=st.lists(Sequences, unique=True, max_size=70),
        topic=st.sampled_from(TOPICS),
        key=st.none() | st.sampled_from("xyz"),
    )
    def accept(self, wanted: list[int], topic: str, key: str | None) -> None:
        new = [n for n in wanted if n not in self.published]
        self.run(settled(self.spool.accept([outgoing(n, topic, key) for n in new])))
        self.published |= dict.fromkeys(new, (topic, key, self.clock.now_us))
        self.waiting += new

    @rule(count=st.integers(2, 64))
    def accept_pack(self, count: int) -> None:
        first = 5000 + 64 * len(self.more)
        pack = packed([Event(named(first + i), ".a") for i in range(count)])
        self.run(settled(self.spool.accept([Outgoing(named(first), ".a", pack)])))
        self.published[first] = (".a", None, self.clock.now_us)
        self.more[first] = count - 1
        self.waiting.append(first)

    @rule(ids=st.lists(Sequences | st.sampled_from([5000, 5064]), max_size=70))
    def done(self, ids: list[int]) -> None:
        self.soon(lambda: self.spool.done([named(n) for n in ids]))
        self.waiting = [n for n in self.waiting if n not in ids]

    @rule(batches=st.lists(st.lists(st.tuples(Sequences, st.sampled_from(TOPICS)), max_size=70), max_size=3))
    def keep(self, batches: list[list[tuple[int, str]]]) -> None:
        there = {each.id for each in self.places.values()}
        for batch in batches:
            items = [kept(1000 + n, topic, at_us=self.clock.now_us) for n, topic in batch]
            first: list[int] = []
            self.soon(lambda items=items, first=first: first.append(self.spool.keep(items)))  # type: ignore[misc]
            assert first == [self.last + 1]
            for item in items:
                self.last += 1
                if item.id not in there:
                    there.add(item.id)
                    self.places[self.last] = item

    @rule(name=Names, acked=st.integers(0, 50), more=st.integers(0, 9))
    def advance(self, name: str, acked: int, more: int) -> None:
        row = self.subscriptions.get(name) or self.run(self.spool.subscriptions.open(durable(name, ".none")))
        progress = Progress(acked, ((acked + 2, acked + 2 + more),), acked + more)
        self.run(saved(self.spool, row.key, Save(1, progress)))
        self.subscriptions[name] = row._replace(progress=progress)

    @rule(name=Names)
    def forget(self, name: str) -> None:
        assert self.run(self.spool.subscriptions.delete(("a", name))) == (name in self.subscriptions)
        self.subscriptions.pop(name, None)

    @rule(peer=st.integers(0, 5), data=st.binary(max_size=9))
    def remember(self, peer: int, data: bytes) -> None:
        self.soon(lambda: self.spool.remember(peer, data))
        self.records.pop(peer, None)
        self.records[peer] = data

    @rule(hours=st.integers(0, 2))
    def time_passes(self, hours: int) -> None:
        self.tidy()
        self.clock.now_us += hours * DAY_US // 24 + 1
        self.tidy()

    def prune(self) -> None:
        old = self.clock.now_us - 3600 * 1_000_000
        fresh = min((place for place, each in self.places.items() if each.at_us >= old), default=None)
        if self.places and fresh is None:
            self.floor = max(self.places)
        elif fresh is not None and min(self.places) < fresh:
            self.floor = fresh - 1
        self.places = {place: each for place, each in self.places.items() if place > self.floor}
        for n in list(self.published):  # in the order of acceptance, up to the first that waits
            if n in self.waiting or self.published[n][2] >= old:
                break
            del self.published[n]

    @rule()
    def reopen(self) -> None:
        self.run(self.spool.close())
        self.open()
        assert self.spool.last_place == self.last

    @rule()
    def crash(self) -> None:
        """What another process would find of a killed one: the files as they are, without a close."""
        folder, self.life = self.folder / str(self.life), self.life + 1
        shutil.copytree(folder, self.folder / str(self.life))
        self.run(self.spool.close())
        self.open()
        assert self.spool.last_place > self.last
        self.last = self.spool.last_place

    @precondition(lambda self: self.places)
    @rule(topics=st.lists(st.sampled_from(TOPICS), min_size=1, max_size=3), limit=st.integers(1, 50), data=st.data())
    def read(self, topics: list[str], limit: int, data: st.DataObject) -> None:
        after = data.draw(st.integers(0, self.last))
        items, lost = self.run(read_all(self.spool, topics, after, limit, 64 * 30))
        expected = {
            place: each
            for place, each in self.places.items()
            if place > after and any(t == "." or f"{each.topic}.".startswith(f"{t}.") for t in topics)
        }
        assert {each.place: each.sealed for each in items} == {n: each.sealed for n, each in expected.items()}
        assert [each.place for each in items] == sorted(expected)
        assert [(each.first, each.last) for each in lost] == ([(after + 1, self.floor)] if after < self.floor else [])

    @rule(topic=st.sampled_from(TOPICS), key=st.sampled_from("xyz"))
    def keyed(self, topic: str, key: str) -> None:
        first = next((n for n, (t, k, _) in self.published.items() if (t, k) == (topic, key)), None)
        assert self.run(self.spool.keyed(topic, key)) == (None if first is None else named(first))

    @invariant()
    def agree(self) -> None:
        if not hasattr(self, "spool"):
            return
        assert [each.id.sequence for each in self.run(self.spool.outbox(10_000))] == self.waiting
        rows = {row.name: row for row in self.run(self.spool.subscriptions.all())}
        assert rows == self.subscriptions
        assert self.run(self.spool.remembered()) == list(self.records.items())
        assert (self.spool.first_place, self.spool.last_place) == (self.floor + 1, self.last)
        met = {each.id for each in self.places.values()} | {
            named(n + i) for n in self.published for i in range(1 + self.more.get(n, 0))
        }
        assert set(self.run(self.spool.seen(100_000))) == met
        assert (self.spool.lost, self.spool.trouble) == (0, None)

    def soon(self, call: Any) -> None:
        """A call that returns at once, on the loop."""

        async def calling() -> None:
            call()

        self.run(calling())

    def teardown(self) -> None:
        if hasattr(self, "spool"):
            self.run(self.spool.close())
        self.loop.close()
        shutil.rmtree(self.folder)


async def settled(future: "asyncio.Future[None]") -> None:
    await future


TestModel = Model.TestCase
TestModel.settings = settings(max_examples=12, stateful_step_count=20)


@pytest.mark.slow
def test_the_spool_agrees_with_its_model_over_many_lives() -> None:
    run_state_machine_as_test(Model, settings=settings(max_examples=300, stateful_step_count=50))  # type: ignore[no-untyped-call]
