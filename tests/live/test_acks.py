"""Acknowledged means on my disk: what publishers are told of their events, how, and when."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from gossamer.core.ids import EventId
from gossamer.core.machine import Given, Run, Unkept
from gossamer.live.arriving.acks import AckQueue
from gossamer.live.arriving.bodies import Bodies
from gossamer.live.arriving.receipts import Receipts
from gossamer.live.links.control import How
from gossamer.live.node import Node
from gossamer.live.spool import Commit
from gossamer.live.spool.items import Kept
from gossamer.live.spool.jobs import Keep
from gossamer.testing import Network
from live.spool.spooling import ask, held_up, kept, named
from live.test_hpmcast import place
from live.watching import payloads, until


def test_an_event_is_acknowledged_from_its_commit_and_not_before() -> None:
    kept_ids: set[EventId] = set()
    queue = AckQueue("disk", kept_ids.__contains__)
    queue.arrived([named(1), named(2)])
    queue.keeping([named(1), named(2), named(3)])
    queue.decide()
    queue.arrived([named(4), named(5)])
    queue.keeping([named(4), named(5)])
    queue.decide()
    assert queue.take() == {}
    queue.committed([named(1), named(2), named(3)])
    assert queue.take() == {"disk": [named(1), named(2)]}, "the third did not come straight from its publisher"
    queue.committed([named(4), named(5)])
    assert queue.take() == {"disk": [named(4), named(5)]}
    assert queue.take() == {}, "once"


def test_a_copy_of_what_is_there_already_is_acknowledged_at_once_and_of_what_is_under_way_from_its_commit() -> None:
    kept_ids = {named(1)}
    queue = AckQueue("memory", kept_ids.__contains__)
    queue.keeping([named(1)])
    queue.decide()
    queue.keeping([named(2)])
    queue.decide()
    queue.committed([named(1)])
    queue.arrived([named(1), named(2)])
    queue.decide()
    assert queue.take() == {"memory": [named(1)]}
    queue.committed([named(2)])
    assert queue.take() == {"memory": [named(2)]}


def test_what_nobody_here_wants_is_said_not_to_be_kept_however_often_it_comes() -> None:
    kept_ids: set[EventId] = set()
    queue = AckQueue("disk", kept_ids.__contains__)
    for _ in range(2):
        queue.arrived([named(1)])
        queue.decide()
        assert queue.take() == {"not": [named(1)]}


def test_what_could_not_be_kept_is_not_acknowledged_until_another_copy_is() -> None:
    kept_ids: set[EventId] = set()
    queue = AckQueue("disk", kept_ids.__contains__)
    queue.arrived([named(1)])
    queue.keeping([named(1)])
    queue.decide()
    queue.failed([named(1)])
    assert queue.take() == {}
    queue.keeping([named(1)])  # found again elsewhere
    queue.committed([named(1)])
    kept_ids.add(named(1))
    assert queue.take() == {}, "its publisher did not ask this time"
    queue.arrived([named(1)])
    queue.decide()
    assert queue.take() == {"disk": [named(1)]}, "it does now"


Ids = st.lists(st.integers(1, 12), max_size=5, unique=True)


class Model(RuleBasedStateMachine):
    """Copies come from publishers and others, in any order of commits and failures."""

    def __init__(self) -> None:
        super().__init__()
        self.on_disk: set[EventId] = set()
        self.queue = AckQueue("disk", lambda event_id: event_id in self.on_disk)
        self.jobs: list[list[EventId]] = []
        self.unwanted: set[EventId] = set()
        self.owed: set[EventId] = set()
        "Came straight, and will be answered."

    @rule(straight=Ids, others=Ids, wants=st.booleans())
    def a_turn(self, straight: list[int], others: list[int], wants: bool) -> None:
        met = {*self.underway(), *self.on_disk, *self.unwanted}
        came = [named(n) for n in straight]
        news = [*dict.fromkeys(named(n) for n in (*straight, *others) if named(n) not in met)]
        self.queue.arrived(came)
        if wants and news:
            self.queue.keeping(news)
            self.jobs.append(news)
        else:
            self.unwanted |= {*news}
        if came:
            self.queue.decide()
        self.owed |= {*came} & self.underway()
        self.told(on_disk={*came} & self.on_disk, unwanted={*came} & self.unwanted)

    def underway(self) -> set[EventId]:
        return {each for job in self.jobs for each in job}

    @precondition(lambda self: self.jobs)
    @rule(fails=st.booleans(), empty=st.integers(1, 12))
    def the_disk_answers(self, fails: bool, empty: int) -> None:
        done = self.jobs.pop(0)
        if fails:
            self.queue.failed(done)
            self.told(set(), set())
        else:
            self.on_disk |= {*done} - {named(empty)}
            self.queue.committed(done, {named(empty)})
            self.told({*done} & self.owed - {named(empty)}, set())
        self.owed -= {*done}

    def told(self, on_disk: set[EventId], unwanted: set[EventId]) -> None:
        told = self.queue.take()
        assert sorted(told.get("disk", [])) == sorted(on_disk)
        assert sorted(told.get("not", [])) == sorted(unwanted)
        assert not {*told.get("disk", [])} - self.on_disk, "never what is not on the disk"

    @invariant()
    def nothing_is_remembered_beyond_its_time(self) -> None:
        assert self.queue.underway() == self.underway()
        assert self.queue.waiting <= self.owed
        assert self.queue.whole <= {job[0] for job in self.jobs} & self.owed


TestModel = Model.TestCase


# -- with a loop --------------------------------------------------------------------------------------------------


def run_of(event: Kept, ordinal: int) -> Run:
    return Run(event.topic, event.id.publisher, event.id.incarnation, ordinal, ordinal)


class Hearing:
    """Stands for the spool and everybody who is told."""

    on_disk = True

    def __init__(self) -> None:
        self.fed: list[Given] = []
        self.told: list[tuple[How, list[EventId]]] = []
        self.turns: list[Any] = []

    def hear(self, hearer: Any) -> None:
        self.hearer = hearer

    def end_turn(self) -> None:
        for turn in self.turns:
            turn()

    def receipts(self, bodies: Bodies) -> Receipts:
        driver: Any = SimpleNamespace(
            feed=self.fed.append,
            tick=self.end_turn,
            machine=SimpleNamespace(was_kept=lambda event_id: False),
            loop=asyncio.get_running_loop(),
        )
        links: Any = SimpleNamespace(acknowledge=lambda how, ids: self.told.append((how, [*ids])))
        return Receipts(self, bodies, driver, links)  # type: ignore[arg-type]


def test_whoever_could_not_keep_an_event_is_news_to_it_again() -> None:
    async def scenario() -> None:
        heard, bodies = Hearing(), Bodies()
        receipts = heard.receipts(bodies)
        bodies.add(named(1), b"leaf", b"body")
        heard.turns += [lambda: receipts.keeping([named(1)]), lambda: receipts.keeping([named(2)])]
        receipts.arrived([named(1), named(2)])
        await asyncio.sleep(0)
        assert heard.told == []
        heard.hearer(Commit([Keep(2, [kept(2)], 1)], [Keep(1, [kept(1)._replace(ordinal=9)], 1)]))
        assert (heard.told, heard.fed) == ([("disk", [named(2)])], [Unkept((named(1),), (run_of(kept(1), 9),))])
        assert bodies.leaf(named(1)) is None, "its next copy is looked at"

    asyncio.run(scenario())


def test_an_event_whose_bytes_were_not_at_hand_is_not_acknowledged() -> None:
    async def scenario() -> None:
        heard = Hearing()
        receipts = heard.receipts(Bodies())
        heard.turns.append(lambda: receipts.keeping([named(1), named(2)]))
        receipts.arrived([named(1), named(2)])
        await asyncio.sleep(0)
        heard.hearer(Commit([Keep(1, [kept(1)._replace(sealed=b"", ordinal=9), kept(2)._replace(ordinal=10)], 1)]))
        assert (heard.told, heard.fed) == ([("disk", [named(2)])], [Unkept((named(1),), (run_of(kept(1), 9),))])

    asyncio.run(scenario())


# -- between nodes -------------------------------------------------------------------------------------------------


def disk(folder: Path, name: str) -> dict[str, Any]:
    return {"folder": str(folder / name)}


async def linked(publisher: Node, *others: Node) -> None:
    """Every other has been told of, so that what is published goes to all of them."""
    members = publisher.station.machine.members
    assert members is not None
    await until(lambda: {*members.about(".x")} >= {each.station.me for each in others})


def test_a_publisher_keeps_what_its_member_has_not_committed(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            member = await network.node("member", spool=disk(tmp_path, "member"), subscribe=[".x"])
            publisher = await network.node("publisher", timeouts={"ack_s": 600.0})
            async with member.subscribe(".x") as inbox:
                assert await publisher.joined(".x") or True
                await publisher.publish(".x", b"first")
                assert await payloads(inbox, 1) == [b"first"]
                assert await publisher.handed_over(60)
                assert member.station.spool is not None
                go_on = held_up(member.station.spool)
                event_id = await publisher.publish(".x", b"second")
                assert await payloads(inbox, 1) == [b"second"], "a reader without a name has it"
                assert event_id in publisher.station.handover.unacked
                assert not await publisher.handed_over(0.05)
                go_on()
                done = await publisher.handed_over(60)
                assert (bool(done), done.on_disk, done.in_memory, done.waiting) == (True, 1, 0, 0)

    asyncio.run(scenario())


def test_members_without_a_disk_count_only_where_nobody_has_one(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            on_disk = await network.node("disk", spool=disk(tmp_path, "disk"), subscribe=[".x"])
            in_memory = [await network.node(f"memory-{n}", subscribe=[".x"]) for n in range(3)]
            publisher = await network.node("publisher", publish=[".x"], timeouts={"ack_s": 600.0})
            await linked(publisher, on_disk, *in_memory)
            assert on_disk.station.spool is not None
            go_on = held_up(on_disk.station.spool)
            event_id = await publisher.publish(".x", b"x")
            handover = publisher.station.handover
            await until(lambda: len(handover.unacked[event_id].answers) == 3)
            assert {*handover.unacked[event_id].answers.values()} == {"memory"}
            assert not await publisher.handed_over(0.05)
            go_on()
            done = await publisher.handed_over(60)
            assert (done.on_disk, done.in_memory) == (1, 3)

    asyncio.run(scenario())


def test_those_who_only_publish_are_no_members_that_have_an_event() -> None:
    async def scenario() -> None:
        async with Network() as network:
            sensors = [await network.node(f"sensor-{n}", publish=[".x"]) for n in range(4)]
            await linked(sensors[0], *sensors[1:])
            event_id = await sensors[0].publish(".x", b"x")
            handover = sensors[0].station.handover
            await until(lambda: len(handover.unacked[event_id].answers) == 3)
            waiting = await sensors[0].handed_over(0.05)
            assert (bool(waiting), waiting.waiting, waiting.in_memory) == (False, 1, 0)
            reader = await network.node("reader")
            async with reader.subscribe(".x") as inbox:
                assert await payloads(inbox, 1) == [b"x"], "offered again when somebody comes"
                assert (await sensors[0].handed_over(60)).in_memory == 1

    asyncio.run(scenario())


def test_a_member_with_a_full_disk_acknowledges_nothing_and_has_it_once_there_is_room(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            member = await network.node("member", spool=disk(tmp_path, "member"), subscribe=[".x"])
            publisher = await network.node("publisher", publish=[".x"], timeouts={"ack_s": 0.1})
            spool = member.station.spool
            assert spool is not None
            await linked(publisher, member)
            async with member.subscribe(".x") as plain, member.subscribe(".x", name="billing") as log:
                [(pages,)] = await ask(spool, "PRAGMA page_count")
                await ask(spool, f"PRAGMA max_page_count = {pages}")
                await asyncio.gather(*[publisher.publish(".x", b"%d" % n + bytes(20_000)) for n in range(5)])
                await until(lambda: spool.lost >= 5)
                assert len(await payloads(plain, 5)) == 5
                assert not await publisher.handed_over(0.05)
                await ask(spool, "PRAGMA max_page_count = 1000000")
                assert (await publisher.handed_over(60)).on_disk == 1
                assert len({*await payloads(log, 5)}) == 5
                assert not plain.at_hand(), "a reader without a name is not given it twice"
                assert not log.at_hand()
                assert len(await spool.held()) == 1

    asyncio.run(scenario())


@pytest.mark.parametrize("spread", ["dispatch", "hpmcast", "spidercast"])
def test_hand_over_completes_on_every_spread(spread: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            settings = [place(n) if spread == "hpmcast" else {"spread": spread} for n in range(4)]
            nodes = [await network.node(f"n{n}", spool=disk(tmp_path, f"n{n}"), **settings[n]) for n in range(3)]
            publisher = await network.node("publisher", timeouts={"ack_s": 0.3}, **settings[3])
            async with nodes[2].subscribe(".x", name="log") as inbox:
                await asyncio.gather(*[publisher.publish(".x", b"%d" % n) for n in range(10)])
                assert len(await payloads(inbox, 10)) == 10
                assert (await publisher.handed_over(60)).on_disk >= 1

    asyncio.run(scenario())


def test_a_named_subscription_is_offered_only_what_is_committed(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("node", spool=disk(tmp_path, "node"))
            spool = node.station.spool
            assert spool is not None
            async with node.subscribe(".x") as plain, node.subscribe(".x", name="log") as log:
                await node.publish(".x", b"0")
                assert await payloads(log, 1) == await payloads(plain, 1)
                go_on: list[Any] = []
                publishing: Any = node.publish(".x", b"1")
                publishing.add_done_callback(lambda _: go_on.append(held_up(spool)))
                assert await payloads(plain, 1) == [b"1"]
                assert not log.at_hand()
                go_on[0]()
                assert await payloads(log, 1) == [b"1"]

    asyncio.run(scenario())
