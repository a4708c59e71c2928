"""Nodes as a daemon: what a reload changes, what signals do, what is told of a node's health."""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gossamer.core.errors import Misuse
from gossamer.core.trace import Row
from gossamer.live.config.config import Config
from gossamer.live.config.tables import Limits, SpoolConfig, Timeouts, TraceConfig
from gossamer.live.keys.network import Network as Keys
from gossamer.live.node import Node
from gossamer.live.running.daemon import Daemon, check_distinct, run, serve
from gossamer.live.running.reloading import merged, take_over
from gossamer.protocols.camcast.params import Params as CamcastParams
from gossamer.protocols.recovery.layer import Recovery
from gossamer.protocols.recovery.params import Params as RecoveryParams
from gossamer.protocols.scamp.params import Params as ScampParams
from gossamer.testing import Network
from gossamer.wire.segment import SegmentReader
from live.watching import until

HERE = "127.0.0.1:0"


def alone(test: Callable[[Node], Any], **settings: Any) -> None:
    """Runs a test on a node without company."""

    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("n", **settings)
            if (more := test(node)) is not None:
                await more

    asyncio.run(scenario())


# What a reload changes


def test_new_parameters_hold_for_communities_joined_before_and_after() -> None:
    def test(node: Node) -> None:
        spread = node.station.machine.spread
        node.station.readers.subscriptions.add(".before")
        for electors, copies in ((3.0, 2), (4.0, 1)):
            camcast, scamp = replace(CamcastParams.live(), electors=electors), ScampParams(extra_copies=copies)
            special = replace(camcast, links=7)
            take_over(node, replace(node.config, camcast=camcast, scamp=scamp, topics={".special": special}))
            node.station.readers.subscriptions.add(f".after-{copies}")
            for topic in (".before", f".after-{copies}"):
                assert spread.settings.of(topic) == camcast
                assert spread.members.params_of(topic) == scamp
            assert spread.settings.of(".special") == special

    alone(test)


@pytest.mark.parametrize("spread", ["camcast", "dispatch"])
def test_new_ways_of_recovery_hold_for_all_topics_and_leave_alone_who_does_without(spread: str) -> None:
    def test(node: Node) -> None:
        recover, subscriptions = recovery_of(node), node.station.readers.subscriptions
        subscriptions.add(".careful", recover=False)
        subscriptions.add(".careful")
        subscriptions.add(".careless", recover=False)
        assert node.station.machine.patterns(".careful", {})
        for method in ("push", "none"):
            take_over(node, replace(node.config, recovery=replace(RecoveryParams.live(), method=method)))
            methods = [recover.settings.of(topic).method for topic in (".", ".careful", ".careless", ".later")]
            assert methods == [method, method, "none", method]
        assert not node.station.machine.patterns(".careful", {})

    alone(test, spread=spread)


def recovery_of(node: Node) -> Recovery:
    return next(layer for layer in node.station.machine.layers if isinstance(layer, Recovery))


def test_topics_are_subscribed_and_left() -> None:
    def test(node: Node) -> None:
        take_over(node, replace(node.config, subscribe=(".b", ".c")))
        assert [*node.station.machine.interest.subscribed] == [".b", ".c"]
        assert node.config.subscribe == node.station.config.subscribe == (".b", ".c")

    alone(test, subscribe=(".a", ".b"))


def test_topics_can_be_exchanged_where_there_is_room_for_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.parts.own_wants.WANTS_BYTES_MAX", 3 * 8)

    def test(node: Node) -> None:
        take_over(node, replace(node.config, subscribe=(".d", ".e", ".c")))
        assert [*node.station.machine.interest.subscribed] == [".c", ".d", ".e"]
        with pytest.raises(Misuse, match="4 topics are more than this node can tell others about"):
            take_over(node, replace(node.config, subscribe=(".a", ".b", ".c", ".d")))
        assert [*node.station.machine.interest.subscribed] == [".c", ".d", ".e"]

    alone(test, subscribe=(".a", ".b", ".c"), spread="spidercast")


def test_a_topic_that_clients_read_too_stays_subscribed() -> None:
    async def reading(node: Node) -> None:
        async with node.subscribe(".a"):
            take_over(node, replace(node.config, subscribe=()))
            assert ".a" in node.station.machine.interest.subscribed
        assert ".a" not in node.station.machine.interest.subscribed

    alone(reading, subscribe=(".a",))


def test_limits_and_times_hold_from_now_on() -> None:
    def test(node: Node) -> None:
        limits = Limits(links_max=3, inbox_items=5, event_bytes_max=100, clients_max=2, records_max=9, requests_burst=1)
        take_over(node, replace(node.config, limits=limits, timeouts=Timeouts(dial_s=0.5, idle_s=1.5, ack_s=0.25)))
        station = node.station
        assert (station.connections.links_max, station.readers.limits.items_max, station.book.entries_max) == (3, 5, 9)
        assert (station.connections.dial_s, station.connections.idle_s, station.handover.again_s) == (0.5, 1.5, 0.25)
        assert node.config.limits.clients_max == 2
        assert station.requests.own.burst == 1
        with pytest.raises(Misuse, match="too large"):
            node.publish(".x", b"." * 200)

    alone(test)


def test_new_seeds_are_called_at_once() -> None:
    async def scenario() -> None:
        async with Network() as network:
            one = await network.node("one", subscribe=(".",))
            two = await network.node("two", subscribe=(".",), seeds=())
            assert not two.station.connections.links
            take_over(two, replace(two.config, seeds=(one.address,)))
            await until(lambda: one.trust.name in {link.name for link in two.station.connections.links})

    asyncio.run(scenario())


def test_the_spool_keeps_what_it_is_told_to() -> None:
    async def keeping(node: Node) -> None:
        spool = node.station.spool
        assert spool is not None
        take_over(node, replace(node.config, spool=SpoolConfig(keep_s=1.0, keep_bytes=1000)))
        await spool.tidy()
        assert node.station.handover.forget_after_s == 1.0

    alone(keeping)


def test_traces_begin_in_the_middle_of_a_life_with_what_the_node_takes_part_in(tmp_path: Path) -> None:
    def test(node: Node) -> None:
        assert node.station.recorder is not None
        assert not node.station.recorder.writer.seq
        take_over(node, replace(node.config, trace=replace(node.config.trace, level="full")))
        assert node.station.recorder.writer.seq
        assert node.station.recorder.full
        take_over(node, replace(node.config, trace=replace(node.config.trace, level="deliveries")))
        assert not node.station.recorder.full

    alone(test, subscribe=(".a",), trace=TraceConfig(folder=tmp_path, level="off"))
    segments = map(SegmentReader, sorted(tmp_path.iterdir()))
    rows: list[Row] = [row for segment in segments for record in segment for row in record]
    assert [(row.kind, row.topic) for row in rows[:2]] == [("start", None), ("subscribe", ".a")]
    assert rows[-1].kind == "stop"


def test_what_needs_a_restart_is_named_again_and_again(caplog: pytest.LogCaptureFixture) -> None:
    def test(node: Node) -> None:
        new = replace(node.config, network="other", subscribe=(".a",), spool=SpoolConfig(folder=Path("spool")))
        with caplog.at_level(logging.INFO, "gossamer.node"):
            for _ in range(2):
                caplog.clear()
                take_over(node, new)
                told = [each.message for each in caplog.records if "restart it" in each.message]
                assert [message.split()[1] for message in told] == ["network", "spool.folder"]
        assert (node.config.network, node.config.subscribe) == ("default", (".a",))

    alone(test)


def test_a_reload_that_the_grant_does_not_cover_changes_nothing(tmp_path: Path) -> None:
    Keys.init(tmp_path / "net").grant("n", [".a"], [".a"])

    async def scenario() -> None:
        config = Config(keys=tmp_path / "net" / "nodes" / "n", bind=HERE, subscribe=(".a",))
        async with Node(config) as node:
            with pytest.raises(Misuse, match=r"does not let it subscribe to \.b"):
                take_over(node, replace(config, subscribe=(".a", ".b"), limits=Limits(links_max=3)))
            assert node.config == config
            assert node.station.connections.links_max == config.limits.links_max

    asyncio.run(scenario())


def test_changed_fields_are_put_into_the_old_tables() -> None:
    old = Config(name="n", spool=SpoolConfig(folder=Path("spool")))
    new = merged(old, {"spool.keep_s": 5.0, "spool.keep_bytes": 7, "subscribe": (".a",)})
    assert new == replace(old, spool=SpoolConfig(folder=Path("spool"), keep_s=5.0, keep_bytes=7), subscribe=(".a",))


# Life


def daemon(name: str = "n", **settings: Any) -> Daemon:
    return Daemon(lambda: Config(name=name, bind=HERE, timeouts=Timeouts(leave_s=0.3), **settings))


def test_a_signal_ends_what_another_reloads() -> None:
    subscribe = [".a"]
    node = Daemon(lambda: Config(name="n", bind=HERE, subscribe=tuple(subscribe)))
    reloaded: list[str] = []

    def ready() -> None:
        subscribe.append(".b")
        os.kill(os.getpid(), signal.SIGHUP)
        asyncio.get_running_loop().create_task(stop())

    async def stop() -> None:
        await until(lambda: ".b" in node.node.station.machine.interest.subscribed)
        reloaded.extend(node.node.config.subscribe)
        os.kill(os.getpid(), signal.SIGTERM)

    run(serve([node], ready))
    assert reloaded == [".a", ".b"]
    assert node.node.state == "closed"


def test_a_signal_during_the_start_ends_the_start() -> None:
    async def scenario() -> None:
        def called(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.close()
            os.kill(os.getpid(), signal.SIGINT)

        async with await asyncio.start_server(called, "127.0.0.1", 0) as silent:
            seed = f"127.0.0.1:{silent.sockets[0].getsockname()[1]}"
            starting = daemon(seeds=(seed,))
            await serve([starting], lambda: pytest.fail("it was told to stop before it was up"))
            assert starting.node.state == "closed"

    run(scenario())


def test_if_one_of_several_nodes_cannot_start_none_is_left() -> None:
    async def scenario() -> None:
        first = daemon("first")
        await first.start()
        taken = Daemon(lambda: Config(name="second", bind=first.node.address))
        third = daemon("third")
        with pytest.raises(Misuse, match="is taken by another program"):
            await serve([third, taken], lambda: pytest.fail("one of them cannot be up"))
        assert (third.node.state, taken.node.state) == ("closed", "closed")
        await first.close()

    run(scenario())


def test_health_says_what_a_node_is_doing() -> None:
    async def scenario() -> None:
        node = daemon(subscribe=(".a",), scamp=ScampParams(patience_us=20_000))
        assert node.node.health().status == "joining"
        await node.start()
        await until(lambda: node.node.health().ok)
        assert node.node.health().about == {
            "name": "n",
            "address": node.node.address,
            "links": 0,
            "topics": 1,
            "members": 0,
            "counted": 1,
            "above": 0,
        }
        await node.close()
        assert node.node.health().status == "leaving"

    run(scenario())


async def running_loop() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()


def test_a_daemon_runs_on_uvloop_where_that_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    uvloop = pytest.importorskip("uvloop")
    assert isinstance(run(running_loop()), uvloop.Loop)
    monkeypatch.setitem(sys.modules, "uvloop", None)  # as if it were not
    assert type(run(running_loop())).__module__.startswith("asyncio.")


def test_two_nodes_of_one_name_are_refused() -> None:
    with pytest.raises(Misuse, match="two of these nodes are n: give each a name of its own"):
        check_distinct([Config(name="n"), Config(name="m"), Config(name="n")])
