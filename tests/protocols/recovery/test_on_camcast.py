"""Recovery over CAMCAST, in worlds that lose: nothing is missing in the end, and nobody gets what it does not want."""

import pytest

from gossamer.core.events import Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import SECOND_US, Effect, Given, Note, Publish
from gossamer.core.topics import Hierarchy, Topic
from gossamer.parts.bursts import GilbertElliott
from gossamer.protocols.camcast.params import Params as CamcastParams
from gossamer.protocols.recovery.params import Params
from gossamer.sim.network import Latency, Loss
from gossamer.sim.world import Watcher
from protocols.recovery.losing import FEW, FLAT, LEVELS, healed, losing, said, stream

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
    town = losing(SIZES[world], Params.live())
    town.lose(losses(loss))
    stream(town, BOTTOM[world], 200)
    assert town.missing()
    assert healed(town, 60) == []
    assert {"Lost", "Ask", "Again"} <= said(town).keys()


@pytest.mark.parametrize("world", ["levels", "flat"])
def test_without_recovery_something_is(world: str) -> None:
    town = losing(SIZES[world], None)
    town.lose(0.1)
    stream(town, BOTTOM[world], 20)
    assert healed(town, 5)
    assert said(town) == {}


def test_without_loss_pulls_are_silent() -> None:
    """Where messages keep their order; and even where not, patience waits for those that were overtaken."""
    for latency, patience_us in ((Latency(), 0), (Latency(median_us=20_000, shape="lognormal", spread=0.5), 500_000)):
        town = losing(LEVELS, Params(patience_us=patience_us), params=CamcastParams.live())
        town.network.latency = latency
        stream(town, ".d.g", 30)
        town.run(5)
        assert said(town) == {}
        assert town.missing() == []


@pytest.mark.parametrize("before", [0, 10])
def test_the_last_event_is_found_again_though_nothing_follows_it(before: int) -> None:
    """Also when it is the first."""
    town = losing(FEW, Params.live(), params=CamcastParams.live())
    stream(town, ".d", before, publishers=1)
    town.run(1)
    town.lose(1.0)
    town.publish(town.members(".d")[0], ".d")
    town.run(0.1)
    assert len(town.missing()) == 11
    town.lose(0.1)
    assert healed(town, 20) == []


class Upwards:
    """Nothing reaches these from outside."""

    def __init__(self, above: list[Peer]) -> None:
        self.above = {*above}

    def lost(self, sender: Peer, target: Peer, key: int) -> bool:
        return target in self.above and sender not in self.above


def test_a_community_that_was_never_reached_is_told_along_the_links() -> None:
    """Every message from one community to the next is lost: those above have no gap to see."""
    town = losing(LEVELS, Params.live(), params=CamcastParams.live())
    above = town.readers(".d")
    town.lose(Upwards(above))
    stream(town, ".d.g", 20)
    town.run(1)
    assert {peer for peer, _ in town.missing()} == {*above}
    town.lose(0.1)
    assert healed(town, 60) == []


def test_without_digests_and_tails_it_would_stay_silent() -> None:
    town = losing(LEVELS, Params(interval_us=100_000), params=CamcastParams.live())
    above = town.readers(".d")
    town.lose(Upwards(above))
    stream(town, ".d.g", 10)
    town.lose(0.0)
    assert {peer for peer, _ in healed(town, 20)} == {*above}


def test_a_restarted_publisher_is_a_new_stream_and_recovered_as_well() -> None:
    town = losing(FEW, Params.live())
    town.lose(0.2)
    stream(town, ".d", 20, publishers=1)
    healed(town, 20)
    publisher = town.members(".d")[0]
    town.crash(publisher)
    town.restart(publisher)
    town.run(5)
    for _ in range(20):
        town.publish(publisher, ".d")
        town.run(0.02)
    assert healed(town, 30) == []


def test_events_from_outside_are_recovered_though_their_publisher_reads_nothing() -> None:
    town = losing(FEW, Params.live())
    town.start(500)
    town.run(2)
    town.publish(500, ".d", join=False)
    town.run(5)
    town.lose(0.5)
    for _ in range(40):
        town.publish(500, ".d", join=False)
        town.run(0.02)
    assert healed(town, 60) == []
    assert not town.node(500).interest.takes_part(".d")


def test_a_topic_with_several_parents_is_recovered_in_each() -> None:
    hierarchy = Hierarchy({".a.b": [".x"]})
    town = losing({".a": 6, ".x": 6, ".a.b": 12}, Params.live(), hierarchy=hierarchy)
    town.lose(0.2)
    stream(town, ".a.b", 60)
    assert len(town.readers(".a.b")) == 24
    assert healed(town, 60) == []


def test_topics_may_be_recovered_differently() -> None:
    def recovery(topic: Topic) -> Params:
        return Params.live() if topic == ".d" else Params(method="none")

    town = losing({".x": 10, ".d": 10}, recovery)
    town.lose(0.3)
    stream(town, ".d", 30)
    stream(town, ".x", 30)
    assert {town.fate(event).event.topic for _, event in healed(town, 15)} == {".x"}


def test_events_of_a_publisher_that_does_not_tag_pass_as_before() -> None:
    town = losing(FEW, Params.live())
    publisher = town.members(".d")[0]
    town.lose(0.3)
    for number in range(30):
        town.world.give(publisher, Publish(Event(EventId(publisher, 0, number), ".d")))
    town.run(5)
    assert said(town) == {}


def test_the_same_seed_is_the_same_run() -> None:
    def run() -> object:
        town = losing(FEW, Params.live())
        town.lose(0.3)
        stream(town, ".d", 30)
        town.run(10)
        delivered = {event: [*fate.got] for event, fate in town.chronicle.fates.items()}
        return town.chronicle.sends, delivered, town.world.steps

    assert run() == run()


class Waited(Watcher):
    """How long those waited who got something back."""

    def __init__(self) -> None:
        self.us: list[int] = []

    def stepped(self, peer: Peer, given: Given, effects: list[Effect], now_us: int) -> None:
        noted = [e.detail for e in effects if type(e) is Note and e.kind == "recover"]
        self.us += [int(detail) for detail in noted if detail]


def test_recovery_is_quick_once_events_flow() -> None:
    """Half of what was lost is there within half a second of its being noticed."""
    town, waited = losing(FEW, Params.live()), Waited()
    town.world.watch(waited)
    town.lose(0.1)
    stream(town, ".d", 100)
    healed(town, 10)
    assert len(waited.us) > 50
    assert sorted(waited.us)[len(waited.us) // 2] < SECOND_US // 2
