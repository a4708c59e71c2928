"""Live nodes in a hierarchy of delegates: filters run inside the network, whoever stands for others carries what they
want."""

import asyncio
import contextlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec import msgpack
from msgspec.structs import replace

from gossamer.core.errors import Misuse
from gossamer.core.machine import Subscribe
from gossamer.live.config.config import load
from gossamer.live.keys.network import Network as Keys
from gossamer.live.node import Node
from gossamer.live.running.reloading import take_over
from gossamer.protocols.hpmcast.addresses import address_of, written
from gossamer.protocols.hpmcast.layer import Hpmcast
from gossamer.protocols.hpmcast.messages import SubsystemRow
from gossamer.protocols.hpmcast.tables import KnownRow
from gossamer.testing import Network
from live.watching import assert_replayed, payloads, until

BRANCHING = (2, 2, 3)
HASTY: dict[str, Any] = {
    "spread": "hpmcast",
    "upkeep": {
        "gossip_every_us": 100_000,
        "hurry_every_us": 30_000,
        "suspect_us": 300_000,
        "forget_us": 2_000_000,
        "asks": 4,
    },
}
"A second of an ordinary hierarchy in a tenth."


def place(number: int, branching: Sequence[int] = BRANCHING, **params: Any) -> dict[str, Any]:
    where = {"branching": branching, "address": written(address_of(number, branching))}
    return {**HASTY, "hpmcast": {"step_us": 20_000, "delegates": 2, **where, **params}}


def part_of(node: Node) -> Hpmcast:
    found = node.station.machine.spread
    assert found is not None
    return found


def wanted_above(node: Node) -> int:
    """How many patterns stand in the topmost view of a node."""
    members = part_of(node).members
    return sum(len(line.row.interest) for line in members.lines(members.levels))


def settled(nodes: Iterable[Node]) -> bool:
    """Whether everybody knows of as many as there are, and all have the same delegates in the topmost view."""
    there = [*nodes]
    tops = [[line.peers for line in part_of(node).members.lines(len(BRANCHING))] for node in there]
    alive = {node.station.me for node in there}
    sizes = all(part_of(node).size(".") == len(there) for node in there)
    return sizes and all(top == tops[0] for top in tops) and {*sum(tops[0], ())} <= alive


async def town(network: Network, count: int, **settings: Any) -> list[Node]:
    return [await network.node(f"n{i}", **{**place(i), **settings}) for i in range(count)]


def test_filters_run_inside_the_network_and_delegates_carry_what_others_want() -> None:
    async def scenario() -> None:
        async with Network() as network:
            nodes = await town(network, 12)
            async with (
                nodes[5].subscribe(".soccer", where="minute >= 80") as late,
                nodes[11].subscribe(".soccer.italy") as italy,
                nodes[2].subscribe(".soccer", where='team == "ajax"') as ajax,
            ):
                await until(lambda: settled(nodes) and all(wanted_above(node) == 2 for node in nodes))
                for minute in (10, 85):
                    await nodes[8].publish(".soccer.italy", f"{minute}", attributes={"minute": minute, "team": "roma"})
                await nodes[8].publish(".soccer", b"ajax", attributes={"minute": 1, "team": "ajax"})
                assert await payloads(late, 1) == [b"85"]
                assert sorted(await payloads(italy, 2)) == [b"10", b"85"]
                assert await payloads(ajax, 1) == [b"ajax"]
                assert await nodes[8].handed_over(20)
            assert sum(node.metrics.relays for node in nodes) > 0
            assert all(node.metrics.parasites == 0 for node in nodes)
            delegates = {peer for node in nodes for line in part_of(node).stands_for() for peer in line.peers}
            readers = (nodes[2], nodes[5], nodes[11])
            spared = [node for node in nodes if node.station.me not in delegates and node not in readers]
            assert spared
            assert all(node.metrics.copies_received == node.metrics.relays == 0 for node in spared)

    asyncio.run(scenario())


def test_a_delegate_that_dies_is_replaced_and_its_neighbours_still_get_what_they_want() -> None:
    async def scenario() -> None:
        async with Network() as network:
            nodes = await town(network, 12, subscribe=[".a"])
            await until(lambda: settled(nodes))
            for name in ("n0", "n6"):
                assert network.nodes[name].station.me in part_of(nodes[-1]).members.tables.peers()
                nodes.remove(network.nodes[name])
                await network.crash(name)
            for number in range(5):
                await nodes[-1].publish(".a", f"{number}")
            await until(lambda: all(node.metrics.events_delivered == 5 for node in nodes))
            await until(lambda: settled(nodes))
            await nodes[0].publish(".a", b"afterwards")
            await until(lambda: all(node.metrics.events_delivered == 6 for node in nodes))
            assert all(node.metrics.parasites == 0 for node in nodes)

    asyncio.run(scenario())


def test_while_a_fifth_is_lost_everybody_gets_everything_by_exchange() -> None:
    async def scenario() -> None:
        async with Network() as network:
            nodes = await town(network, 8, subscribe=[".a"], faults={"loss": 0.2, "seed": 3})
            await until(lambda: settled(nodes))
            for number in range(20):
                await nodes[3].publish(".a", f"{number}")
            await until(lambda: all(node.metrics.events_delivered == 20 for node in nodes))
            assert sum(node.metrics.recovered for node in nodes) > 0

    asyncio.run(scenario())


def test_what_is_published_before_a_node_has_its_place_goes_out_once_it_has() -> None:
    async def scenario() -> None:
        async with Network() as network:
            first = await network.node("first", **place(0))
            async with first.subscribe(".a") as inbox:
                other = await network.node("other", **place(7))
                await other.publish(".a", b"early")
                assert await payloads(inbox, 1) == [b"early"]
                assert await other.handed_over(20)

    asyncio.run(scenario())


def test_events_that_were_signed_together_come_one_by_one_each_with_what_is_said_of_it() -> None:
    async def scenario() -> None:
        async with Network() as network:
            nodes = await town(network, 6, subscribe=[".a"])
            await until(lambda: settled(nodes))
            await asyncio.gather(*(nodes[1].publish(".a", f"{number}") for number in range(50)))
            await until(lambda: all(node.metrics.events_delivered == 50 for node in nodes))
            assert not any(any(node.metrics.refusals.values()) for node in nodes)

    asyncio.run(scenario())


@pytest.mark.parametrize("variant", ["pmcast", "rfpbcast"])
def test_hierarchies_of_one_level(variant: str) -> None:
    async def scenario() -> None:
        async with Network() as network:
            nodes = [await network.node(f"n{i}", **place(i, (8,), variant=variant)) for i in range(5)]
            async with nodes[4].subscribe(".a", where="n > 1") as inbox:
                await until(lambda: all(part_of(node).size(".") == 5 and wanted_above(node) for node in nodes))
                for number in range(4):
                    await nodes[0].publish(".a", f"{number}", attributes={"n": number})
                assert sorted(await payloads(inbox, 2)) == [b"2", b"3"]
            assert all(node.metrics.parasites == 0 for node in nodes)
            assert (sum(node.metrics.relays for node in nodes) > 0) == (variant == "rfpbcast")

    asyncio.run(scenario())


def test_every_step_of_a_journaled_hierarchy_is_replayed_as_it_was(tmp_path: Path) -> None:
    async def scenario() -> None:
        trace = {"folder": tmp_path, "level": "journal"}
        async with Network() as network:
            nodes = await town(network, 5, subscribe=[".a"], trace=trace)
            await until(lambda: settled(nodes))
            config = nodes[1].config
            take_over(nodes[1], replace(config, hpmcast=replace(config.hpmcast, fanout=3)))
            take_over(nodes[1], replace(nodes[1].config, upkeep=replace(config.upkeep, capacity=3)))
            assert part_of(nodes[1]).params.fanout == 3
            await nodes[1].publish(".a", b"1")
            await until(lambda: all(node.metrics.events_delivered for node in nodes))
            await network.crash("n3")
            await until(lambda: part_of(nodes[0]).size(".") == 4)

    asyncio.run(scenario())
    assert_replayed(tmp_path, 5)


@pytest.mark.parametrize(
    ("hpmcast", "upkeep", "says"),
    [
        ({"branching": (4, 4)}, {}, "hpmcast of 4.4 with 2 delegates by address below ."),
        ({"delegates": 3}, {}, "hpmcast of 2.2.3 with 3 delegates by address below ."),
        ({}, {"choice": "branches"}, "hpmcast of 2.2.3 with 2 delegates by branches below ."),
    ],
)
def test_nodes_of_another_hierarchy_are_turned_away_and_told_why(
    hpmcast: dict[str, Any], upkeep: dict[str, Any], says: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        async with Network() as network:
            await network.node("first", **place(0))
            await network.node("other", **{**place(1, **hpmcast), "upkeep": {**HASTY["upkeep"], **upkeep}})
            await until(lambda: "all nodes must have the same" in caplog.text)

    with caplog.at_level("INFO", "gossamer"):
        asyncio.run(scenario())
    assert f"its spread is '{says}', ours 'hpmcast of 2.2.3 with 2 delegates by address below .'" in caplog.text


def test_numbers_tell_where_a_node_stands() -> None:
    async def scenario() -> None:
        async with Network() as network:
            nodes = await town(network, 4, subscribe=[".a"])
            await until(lambda: settled(nodes))
            page = nodes[0].page().decode()
            assert "\ngossamer_hierarchy_nodes 4\n" in page
            assert "\ngossamer_hierarchy_level 3\n" in page
            assert "\ngossamer_hierarchy_level 1\n" in nodes[2].page().decode()

    asyncio.run(scenario())


def test_what_nobody_wants_is_not_kept_for_ever() -> None:
    async def scenario() -> None:
        async with Network() as network:
            nodes = await town(network, 3, timeouts={"ack_s": 0.1})
            await until(lambda: settled(nodes))
            await nodes[0].publish(".nobody", b"1")
            assert nodes[0].station.handover.unacked
            await until(lambda: not nodes[0].station.handover.unacked)
            assert all(node.metrics.copies_received == 0 for node in nodes)

    asyncio.run(scenario())


# With keys, over TLS


def grants(folder: Path) -> Keys:
    keys = Keys.init(folder)
    for name in ("a", "b", "c", "d"):
        keys.grant(name, publish=[".open"], subscribe=[".open"])
    keys.grant("curious", publish=[".open"], subscribe=[".open.other"])
    return keys


async def keyed(keys: Keys, name: str, number: int, seeds: Iterable[Node] = (), **settings: Any) -> Node:
    given = {"keys": keys.folder_of(name), "bind": "127.0.0.1:0", "seeds": [node.address for node in seeds]}
    given |= {"community": ".open", **place(number)}
    node = Node(load(environ={}, overrides={**given, **settings}))
    await node.start()
    return node


def test_over_tls_rows_are_signed_and_events_travel_by_content(tmp_path: Path) -> None:
    async def scenario() -> None:
        keys = grants(tmp_path / "net")
        async with contextlib.AsyncExitStack() as closing:
            nodes: list[Node] = []
            for number, name in enumerate("abcd"):
                nodes.append(await keyed(keys, name, number * 3, nodes[:1]))
                closing.push_async_callback(nodes[-1].close)
            async with nodes[3].subscribe(".open", where="n >= 3") as inbox:
                await until(lambda: settled(nodes) and all(wanted_above(node) for node in nodes))
                for number in range(5):
                    await nodes[0].publish(".open", f"{number}", attributes={"n": number})
                assert sorted(await payloads(inbox, 2)) == [b"3", b"4"]
            for node in nodes:
                rows = [known.row for known in part_of(node).members.tables.others.values()]
                assert rows
                assert all(row.seal for row in rows if row.author != node.station.me)
            assert not any(any(node.metrics.refusals.values()) for node in nodes)

    asyncio.run(scenario())


def test_whoever_may_not_read_the_community_is_refused_by_its_own_node(tmp_path: Path) -> None:
    keys = grants(tmp_path / "net")
    with pytest.raises(Misuse, match="community"):
        asyncio.run(keyed(keys, "curious", 1))


def test_whoever_may_not_read_the_community_gets_neither_rows_nor_a_place_nor_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        keys = grants(tmp_path / "net")
        async with contextlib.AsyncExitStack() as closing:
            nodes: list[Node] = []
            for number, name in enumerate("ab"):
                nodes.append(await keyed(keys, name, 3 * number + 1, nodes[:1], subscribe=[".open"]))
                closing.push_async_callback(nodes[-1].close)
            monkeypatch.setattr(Node, "_check_wishes", lambda node: None)  # its own node would not have let it
            curious = await keyed(keys, "curious", 0, nodes[:1])
            closing.push_async_callback(curious.close)
            curious.station.driver.feed(Subscribe(".open"))
            await until(lambda: nodes[0].metrics.refusals["not granted"] > 0)
            for number in range(5):
                await nodes[0].publish(".open", f"{number}")
            await until(lambda: nodes[1].metrics.events_delivered == 5)
            assert all(curious.station.me not in part_of(node).members.tables.peers() for node in nodes)
            assert curious.metrics.copies_received == 0
            assert not part_of(curious).members.tables.peers()

    asyncio.run(scenario())


def test_what_a_node_says_of_itself_is_changed_by_nobody_else(tmp_path: Path) -> None:
    async def scenario() -> None:
        keys = grants(tmp_path / "net")
        async with contextlib.AsyncExitStack() as closing:
            nodes: list[Node] = []
            for number, name in enumerate("abc"):
                nodes.append(await keyed(keys, name, number, nodes[:1], subscribe=[".open"]))
                closing.push_async_callback(nodes[-1].close)
            liar, other, victim = nodes
            await until(lambda: settled(nodes))
            tables = part_of(liar).members.tables
            row = tables.members[victim.station.me].row
            forged = SubsystemRow(row.about, row.author, row.stamp + 7, row.delegates, (), 1, row.seal)
            tables.members[row.author] = KnownRow(forged, liar.station.clock.now_us(), liar.station.hierarchy)
            await until(lambda: other.metrics.refusals["bad proof"] > 0)
            assert part_of(other).members.tables.members[row.author].row.interest

    asyncio.run(scenario())


# Whoever says something else beside an event


def test_an_event_that_comes_with_nonsense_beside_it_is_refused_and_still_gets_through_later() -> None:
    async def scenario() -> None:
        async with Network() as network:
            nodes = await town(network, 2, subscribe=[".a"], recovery={"method": "none"})  # or it is found sooner
            await until(lambda: settled(nodes))
            liar, victim = nodes
            said = liar.station.codec.said
            for nonsense in (b"", b"\xc1", b"\x94\x00\xcb" + b"\x00" * 10, msgpack.encode([1, "1", 0, 0])):
                liar.station.codec.said = lambda message, nonsense=nonsense: nonsense  # type: ignore[method-assign]
                before = victim.metrics.refusals["bad message"]
                await liar.publish(".a", nonsense)
                await until(lambda before=before: victim.metrics.refusals["bad message"] > before)  # type: ignore[misc]
            liar.station.codec.said = said  # type: ignore[method-assign]
            await until(lambda: victim.metrics.events_delivered == 4)

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("level", "prob"), [(4, 0.5), (60, 0.5), (1, float("nan")), (1, float("inf")), (2, -0.5), (3, 1.001)]
)
def test_a_level_or_probability_there_is_not_keeps_nobody_from_the_event(level: int, prob: float) -> None:
    """What comes beside an event is its carrier's word, and the event would count as known."""

    async def scenario() -> None:
        async with Network() as network:
            alone = {"method": "none"}  # recovery would bring the event as well
            nodes = await town(network, 2, subscribe=[".a"], timeouts={"ack_s": 0.1}, recovery=alone)
            await until(lambda: settled(nodes))
            liar, victim = nodes
            said, refusals = liar.station.codec.said, victim.metrics.refusals
            nonsense = msgpack.encode([level, prob, 0, 0])
            liar.station.codec.said = lambda message: nonsense  # type: ignore[method-assign]
            await liar.publish(".a", b"censored")
            await until(lambda: refusals.get("no such level or probability", 0) > 0)
            assert victim.metrics.events_delivered == 0
            liar.station.codec.said = said  # type: ignore[method-assign]
            await until(lambda: victim.metrics.events_delivered == 1)

    asyncio.run(scenario())


def test_events_do_not_come_in_packs_where_something_is_said_of_each() -> None:
    """Or those of a genuine pack would count as known, and never be delivered."""

    async def scenario() -> None:
        async with Network() as network:
            alone = {"method": "none"}  # recovery may bring all of it before anything is gossiped
            nodes = await town(network, 2, subscribe=[".a"], timeouts={"ack_s": 0.1}, recovery=alone)
            await until(lambda: settled(nodes))
            liar, victim = nodes
            said = liar.station.codec.said
            liar.station.codec.said = lambda message: b""  # type: ignore[method-assign]
            await asyncio.gather(*(liar.publish(".a", f"{number}") for number in range(20)))
            await until(lambda: victim.metrics.refusals["bad message"] > 0)
            liar.station.codec.said = said  # type: ignore[method-assign]
            await until(lambda: victim.metrics.events_delivered == 20)

    asyncio.run(scenario())
