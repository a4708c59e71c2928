"""Who is alive stays in every table, however much the network loses; who is dead leaves them all, soon."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gossamer.core.ids import Peer
from gossamer.core.machine import SECOND_US
from gossamer.core.topics import Topic
from gossamer.protocols.camcast.params import Params
from gossamer.protocols.camcast.table import Table
from gossamer.protocols.scamp.params import Params as ScampParams
from gossamer.protocols.scamp.view import View
from gossamer.sim.town import Town
from protocols.towns import links, populated, scamp

SCAMP, CAMCAST = ScampParams(), Params.live()


class Evictions:
    """Notes whom nodes give up for silence; leases that end, links that rotate and members that left are none."""

    def __init__(self, town: Town, patch: pytest.MonkeyPatch) -> None:
        self.town = town
        self.false: list[str] = []
        self.watch(patch, View, "give_up", lambda view, peer: self.judge_view(view, peer, held=True))
        self.watch(patch, View, "forget_holders", lambda view, peer: self.judge_view(view, peer, held=False))
        self.watch(patch, Table, "judge", self.judge_link)

    def watch(self, patch: pytest.MonkeyPatch, kind: type, name: str, judge: Callable[[Any, Peer], None]) -> None:
        plain = getattr(kind, name)

        def watched(table: Any, most: int) -> list[Peer]:
            gone: list[Peer] = plain(table, most)
            for peer in gone:
                judge(table, peer)
            return gone

        patch.setattr(kind, name, watched)

    def judge_view(self, view: View, peer: Peer, held: bool) -> None:
        owner, topic = next(
            (owner, topic)
            for owner in self.town.world.up
            for topic, each in scamp(self.town, owner).views.items()
            if each is view
        )
        if peer not in self.town.members(topic):
            return
        if held:
            self.false.append(f"{owner} dropped {peer} from its view of {topic}")
            return
        asked = scamp(self.town, peer).views[topic].unanswered.asks.get(owner, 0)
        if asked > SCAMP.asks_per_beat:  # fewer, and the peer had let go, and took hold again just now
            self.false.append(f"{owner} forgot that {peer} holds it in {topic}")

    def judge_link(self, table: Table, peer: Peer) -> None:
        if peer in self.town.members(table.topic):
            self.false.append(f"a link to {peer} in {table.topic} was taken for dead")


def entries(town: Town, dead: list[Peer]) -> Iterator[str]:
    """Where a dead process still stands."""
    for peer in town.world.up:
        for topic, view in scamp(town, peer).views.items():
            yield from (f"{gone} in the view of {peer}, {topic}" for gone in dead if gone in view.held)
            yield from (f"{gone} holds {peer}, {topic}" for gone in dead if gone in view.holders)
        for topic, frontier in links(town, peer).frontiers.items():
            linked = [other for table in frontier.tables.values() for other in table.entries]
            yield from (f"{gone} is a link of {peer} from {topic}" for gone in dead if gone in linked)


def check_the_living(
    sizes: dict[Topic, int], seconds: float, patch: pytest.MonkeyPatch, scamp: ScampParams = SCAMP
) -> None:
    town = populated(sizes, seconds=30, params=CAMCAST, scamp=scamp, loss=0.1)
    evictions = Evictions(town, patch)
    town.run(seconds)
    assert evictions.false == []


def bereaved(sizes: dict[Topic, int], every: int, told: bool) -> tuple[Town, list[Peer]]:
    """A town in which every so-manieth process crashed just now, and those that did."""
    town = populated(sizes, seconds=30, params=CAMCAST, loss=0.1, told_of_failures=told)
    dead = [peer for peer in town.up if peer % every == 0]
    town.crash(*dead)
    assert [*entries(town, dead)]
    return town, dead


def test_at_ten_per_cent_loss_no_live_process_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    check_the_living({".": 3, ".d": 7, ".d.g": 14}, 300, monkeypatch)


@pytest.mark.slow
def test_a_hundred_processes_lose_nobody_in_an_hour_at_ten_per_cent_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    check_the_living({".": 10, ".d": 30, ".d.g": 60}, 3600, monkeypatch)


def test_the_watch_would_notice(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AssertionError, match="dropped"):
        check_the_living({".": 5}, 60, monkeypatch, ScampParams(beats_missed=1, asks_per_beat=1))


@pytest.mark.parametrize("every", [7, 3])
def test_the_dead_leave_every_table_within_seconds_where_the_transport_tells(every: int) -> None:
    town, dead = bereaved({".": 10, ".d": 30, ".d.g": 60}, every, told=True)
    town.run(5)
    assert not [*entries(town, dead)]


def test_where_nobody_tells_beats_find_the_dead_in_views_and_shared_probes_those_among_links() -> None:
    """Of a large community few probe each time: a link that nothing is sent over may be long dead."""
    town, dead = bereaved({".": 10, ".d": 40}, 3, told=False)
    town.run(10 * SCAMP.beat_every_us / SECOND_US)
    assert not [each for each in entries(town, dead) if "link" not in each]
    town.run(60 * CAMCAST.keep_every_us / SECOND_US)
    assert not [*entries(town, dead)]


def test_a_network_that_is_away_for_three_beats_costs_nobody_its_place() -> None:
    town = populated({".": 6}, seconds=60, params=CAMCAST)  # until leases are long: this is not about theirs
    before = {*scamp(town, 3).about(".")}
    town.split([3], [peer for peer in range(6) if peer != 3])
    town.run(3 * SCAMP.beat_every_us / SECOND_US)
    town.heal()
    town.run(1)
    assert before <= {*scamp(town, 3).about(".")}
