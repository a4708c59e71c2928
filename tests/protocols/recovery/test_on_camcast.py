"""Recovery over CAMCAST, in worlds that lose: nothing is missing in the end, and nobody gets what it does not want."""

import pytest

from gossamer.core.events import Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import SECOND_US, Publish
from gossamer.core.topics import Hierarchy, Topic
from gossamer.parts.bursts import GilbertElliott
from gossamer.protocols.camcast.params import Params as CamcastParams
from gossamer.protocols.recovery.params import Params
from gossamer.sim.network import Latency, Loss
from protocols.dynamics import readers
from protocols.recovery.losing import FEW, FLAT, LEVELS, Losing

BOTTOM: dict[str, Topic] = {"levels": ".d.g", "flat": ".d"}
SIZES = {"levels": LEVELS, "flat": FLAT}


def losses(name: str) -> float | Loss:
    return GilbertElliott(1, worsens=0.02, improves=0.1) if name == "bursts" else float(name)


CASES = [(world, loss) for world in SIZES for loss in ("0.1", "0.3", "bursts")]
QUICK = [("levels", "0.1"), ("flat", "0.3")]


@pytest.mark.parametrize(
    ("world", "loss"), [case if case in QUICK else pytest.param(*case, marks=pytest.mark.slow) for case in CASES]
)
def test_with_combined_recovery_nothing_is_missing_in_the_end(world: str, loss: str) -> None:
    losing = Losing(SIZES[world], Params.live())
    losing.lose(losses(loss))
    losing.stream(BOTTOM[world], 200)
    assert losing.missing()
    assert losing.heal(60) == []
    assert losing.town.watch.twice == []
    assert {"Lost", "Ask", "Again"} <= losing.said.keys()


@pytest.mark.parametrize("world", ["levels", "flat"])
def test_without_recovery_something_is(world: str) -> None:
    losing = Losing(SIZES[world], None)
    losing.lose(0.1)
    losing.stream(BOTTOM[world], 20)
    assert losing.heal(5)
    assert losing.said == {}


def test_without_loss_pulls_are_silent() -> None:
    """Where messages keep their order; and even where not, patience waits for those that were overtaken."""
    for latency, patience_us in ((Latency(), 0), (Latency(median_us=20_000, shape="lognormal", spread=0.5), 500_000)):
        losing = Losing(LEVELS, Params(patience_us=patience_us), params=CamcastParams.live())
        losing.town.network.latency = latency
        losing.stream(".d.g", 30)
        losing.town.run(5)
        assert losing.said == {}
        assert losing.missing() == []


@pytest.mark.parametrize("before", [0, 10])
def test_the_last_event_is_found_again_though_nothing_follows_it(before: int) -> None:
    """Also when it is the first."""
    losing = Losing(FEW, Params.live(), params=CamcastParams.live())
    losing.stream(".d", before, publishers=1)
    losing.town.run(1)
    losing.lose(1.0)
    losing.publish(losing.town.members(".d")[0], ".d")
    losing.town.run(0.1)
    assert len(losing.missing()) == 11
    losing.lose(0.1)
    assert losing.heal(20) == []


class Upwards:
    """Nothing reaches these from outside."""

    def __init__(self, above: list[Peer]) -> None:
        self.above = {*above}

    def lost(self, sender: Peer, target: Peer, key: int) -> bool:
        return target in self.above and sender not in self.above


def test_a_community_that_was_never_reached_is_told_along_the_links() -> None:
    """Every message from one community to the next is lost: those above have no gap to see."""
    losing = Losing(LEVELS, Params.live(), params=CamcastParams.live())
    above = readers(losing.town, ".d")
    losing.lose(Upwards(above))
    losing.stream(".d.g", 20)
    losing.town.run(1)
    assert {peer for _, peer in losing.missing()} == {*above}
    losing.lose(0.1)
    assert losing.heal(60) == []


def test_without_digests_and_tails_it_would_stay_silent() -> None:
    losing = Losing(LEVELS, Params(interval_us=100_000), params=CamcastParams.live())
    above = readers(losing.town, ".d")
    losing.lose(Upwards(above))
    losing.stream(".d.g", 10)
    losing.lose(0.0)
    assert {peer for _, peer in losing.heal(20)} == {*above}


def test_a_restarted_publisher_is_a_new_stream_and_recovered_as_well() -> None:
    losing = Losing(FEW, Params.live())
    town = losing.town
    losing.lose(0.2)
    losing.stream(".d", 20, publishers=1)
    losing.heal(20)
    publisher = town.members(".d")[0]
    town.world.crash(publisher)
    town.start(publisher, ".d")
    town.run(5)
    for _ in range(20):
        losing.publish(publisher, ".d", life=1)
        town.run(0.02)
    assert losing.heal(30) == []


def test_events_from_outside_are_recovered_though_their_publisher_reads_nothing() -> None:
    losing = Losing(FEW, Params.live())
    town = losing.town
    town.start(500)
    town.run(2)
    losing.publish(500, ".d", join=False)
    town.run(5)
    losing.lose(0.5)
    for _ in range(40):
        losing.publish(500, ".d", join=False)
        town.run(0.02)
    assert losing.heal(60) == []
    assert not town.node(500).interest.takes_part(".d")


def test_a_topic_with_several_parents_is_recovered_in_each() -> None:
    hierarchy = Hierarchy({".a.b": [".x"]})
    losing = Losing({".a": 6, ".x": 6, ".a.b": 12}, Params.live(), hierarchy=hierarchy)
    losing.lose(0.2)
    losing.stream(".a.b", 60)
    assert len(readers(losing.town, ".a.b")) == 24
    assert losing.heal(60) == []


def test_topics_may_be_recovered_differently() -> None:
    def recovery(topic: Topic) -> Params:
        return Params.live() if topic == ".d" else Params(method="none")

    losing = Losing({".x": 10, ".d": 10}, recovery)
    losing.lose(0.3)
    losing.stream(".d", 30)
    losing.stream(".x", 30)
    missing = {event_id for event_id, _ in losing.heal(15)}
    assert {topic for event_id, topic in losing.published if event_id in missing} == {".x"}


def test_events_of_a_publisher_that_does_not_tag_pass_as_before() -> None:
    losing = Losing(FEW, Params.live())
    publisher = losing.town.members(".d")[0]
    losing.lose(0.3)
    for number in range(30):
        losing.town.world.give(publisher, Publish(Event(EventId(publisher, 0, number), ".d")))
    losing.town.run(5)
    assert losing.said == {}


def test_the_same_seed_is_the_same_run() -> None:
    def run() -> object:
        losing = Losing(FEW, Params.live())
        losing.lose(0.3)
        losing.stream(".d", 30)
        losing.town.run(10)
        return losing.town.watch.sends, losing.town.watch.delivered, losing.town.world.steps

    assert run() == run()


def test_recovery_is_quick_once_events_flow() -> None:
    """Half of what was lost is there within half a second of its being noticed."""
    losing = Losing(FEW, Params.live())
    waited: list[int] = []
    losing.town.watch.stepped = lambda peer, given, effects, now_us: waited.extend(  # type: ignore[method-assign]
        int(effect.detail)
        for effect in effects
        if getattr(effect, "kind", "") == "recover" and effect.detail  # type: ignore[union-attr]
    )
    losing.lose(0.1)
    losing.stream(".d", 100)
    losing.heal(10)
    assert len(waited) > 50
    assert sorted(waited)[len(waited) // 2] < SECOND_US // 2
