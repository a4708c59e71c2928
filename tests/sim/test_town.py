"""A town knows who should get which event, tells machines what a live driver would, and lets no broken promise pass."""

from collections.abc import Callable, Sequence

import pytest
from msgspec import Struct
from msgspec.structs import replace

from gossamer.core.events import Carried, Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import Deliver, Effect, Fired, Given, PeerDown, Received, Send, SetTimer, Subscribe
from gossamer.core.patterns import Pattern
from gossamer.core.publications import LookForIdle
from gossamer.core.stack import Stack
from gossamer.parts import tree
from gossamer.protocols import CATALOGUE
from gossamer.protocols.camcast.finding import Widen
from gossamer.protocols.camcast.frontier import Frontier
from gossamer.protocols.camcast.links import Check, Keep, Links
from gossamer.protocols.camcast.messages import Carry
from gossamer.protocols.camcast.node import camcast_node
from gossamer.protocols.dispatch.node import dispatch_node
from gossamer.protocols.dispatch.subscriptions import Agree, Repeat
from gossamer.protocols.hpmcast.levels import GossipStep
from gossamer.protocols.hpmcast.membership import CompareTurn
from gossamer.protocols.hpmcast.node import hpmcast_node
from gossamer.protocols.hpmcast.params import Params as HpmcastParams
from gossamer.protocols.interests.layer import Turn
from gossamer.protocols.recovery.params import Params as Recovery
from gossamer.protocols.recovery.rounds import Round
from gossamer.protocols.scamp import layer as scamp
from gossamer.protocols.scamp.headcount import Count
from gossamer.protocols.search.layer import AskOn
from gossamer.protocols.spidercast.beats import Pulse
from gossamer.protocols.spidercast.layer import Maintain
from gossamer.protocols.spidercast.node import spidercast_node
from gossamer.sim import chronicle
from gossamer.sim.camcast_checks import Climbing, astray, touched
from gossamer.sim.checkers import AT_ONCE, CheckFailed, Promises, in_turn
from gossamer.sim.designs import flood_node
from gossamer.sim.network import Latency
from gossamer.sim.town import Town
from gossamer.sim.world import Watcher

Make = Callable[[Peer], Stack]
DESIGNS: dict[str, tuple[Make, Sequence[type[Struct]] | None]] = {
    "camcast": (lambda me: camcast_node(me, 1), CATALOGUE["camcast"].spoken),
    "spidercast": (lambda me: spidercast_node(me, 1), CATALOGUE["spidercast"].spoken),
    "dispatch": (lambda me: dispatch_node(me, 1), CATALOGUE["dispatch"].spoken),
    "hpmcast": (
        lambda me: hpmcast_node(me, 1, (me // 4, me % 4), (4, 4), params=HpmcastParams.live()),
        CATALOGUE["hpmcast"].spoken,
    ),
    "flood": (lambda me: flood_node(me, 1), None),
}


def town_of(spread: str = "camcast", size: int = 0, **options: object) -> Town:
    make, messages = DESIGNS[spread]
    town = Town(make, messages, **options)  # type: ignore[arg-type]
    for peer in range(size):
        town.start(peer, ".d" if peer % 2 else ".d.g", Pattern(".price", f"x > {peer}"))
    return town


class Downs(Watcher):
    """Who was told that whom was gone, and when."""

    def __init__(self) -> None:
        self.told: list[tuple[float, Peer, Peer]] = []

    def stepped(self, peer: Peer, given: Given, effects: list[Effect], now_us: int) -> None:
        if type(given) is PeerDown:
            self.told.append((now_us / 1e6, peer, given.peer))


# -- who should get what --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spread", DESIGNS)
def test_whatever_carries_events_processes_of_several_topics_come_and_go_and_get_what_they_asked_for(
    spread: str,
) -> None:
    town = town_of(spread, 12)
    town.run(12)
    town.crash(3)
    town.leave(4)
    town.run(12)
    town.restart(3)
    town.restart(4, memory=True)
    town.unsubscribe(5, ".d")
    town.run(12)
    event = town.publish(11, ".d.g")
    price = town.publish(0, ".price", {"x": 6})
    town.run(2)
    assert town.missing() == []
    assert sorted(town.delivered(event)) == [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11]
    assert sorted(town.delivered(price)) == [0, 1, 2, 3, 4, 5]


def test_who_missed_an_event_is_known_and_who_went_or_no_longer_wants_it_missed_nothing() -> None:
    town = town_of(size=6)
    town.run(8)
    town.split([0, 2], [1, 3, 4, 5])
    event = town.publish(0, ".d.g")
    town.run(1)
    assert sorted(town.missing()) == [(1, event), (3, event), (4, event), (5, event)]
    town.crash(3)
    town.restart(3)
    town.leave(4)
    town.unsubscribe(5, ".d")
    assert town.missing(event) == [(1, event)]


def test_what_died_with_its_publisher_nobody_could_get() -> None:
    town = town_of()
    town.start(1, ".d")
    town.start(2, ".d")
    event = town.publish(1, ".d")  # it has not found its place yet
    assert town.missing() == [(2, event)]
    town.crash(1)
    assert town.missing() == []


def test_who_comes_back_wants_what_it_wanted_and_with_a_memory_gets_nothing_again() -> None:
    town = town_of(size=4)
    town.run(8)
    event = town.publish(0, ".d.g")
    town.run(1)
    town.crash(1)
    town.restart(1, memory=True)
    assert [*town.node(1).interest.patterns] == [*town.interests[1].patterns]
    assert town.node(1).knows(event)
    town.crash(1)
    town.restart(1)
    assert not town.node(1).knows(event)


def test_events_of_two_lives_have_different_names() -> None:
    town = town_of(size=2)
    before = town.publish(1, ".d")
    town.crash(1)
    town.restart(1)
    assert (before, town.publish(1, ".d")) == (EventId(1, 1, 1), EventId(1, 2, 1))


# -- what a live driver tells ---------------------------------------------------------------------------------------


def test_whoever_was_linked_to_one_that_crashed_is_told_soon_and_nobody_else() -> None:
    town = town_of(size=6)
    town.run(10)
    town.world.watch(downs := Downs())
    linked = sorted(town.unreachable.known(5))  # type: ignore[union-attr]
    town.crash(5)
    town.run(1.6)
    assert sorted(peer for _, peer, gone in downs.told if gone == 5) == linked
    assert all(0.5 < at - 10 < 1.6 for at, _, _ in downs.told)


def test_a_cut_that_nobody_could_notice_tells_nobody() -> None:
    town = town_of(size=4)
    town.run(10)
    town.world.watch(downs := Downs())
    town.split([0, 1], [2, 3])
    town.run(10)
    assert downs.told == []
    town.split([0, 1], [2, 3], noticed=True)
    assert {(peer, gone) for _, peer, gone in downs.told} == {
        (a, b) for a in range(4) for b in range(4) if a // 2 != b // 2
    }


def test_a_town_may_be_one_where_nobody_is_told() -> None:
    town = town_of(size=6, told_of_failures=False)
    town.run(10)
    town.world.watch(downs := Downs())
    town.crash(5)
    town.run(10)
    assert downs.told == []


def test_one_way_cuts_silence_one_side_only() -> None:
    town = town_of(size=4)
    town.run(8)
    town.cut([0], [1, 2, 3])
    deaf, heard = town.publish(0, ".d.g"), town.publish(2, ".d.g")
    town.run(1)
    assert (town.delivered(deaf), sorted(town.delivered(heard))) == ([0], [0, 1, 2, 3])


# -- the simulator's own tables -------------------------------------------------------------------------------------


def test_a_town_keeps_nothing_for_each_event_on_each_link() -> None:
    town = town_of(size=6, loss=0.1)
    town.run(8)
    for _ in range(50):
        town.publish(1, ".d")
        town.run(0.1)
    assert not town.network.copies
    town.run(60)
    timers = sum(sum(counts.values()) for counts in town.timers.pending.values())
    assert len(town.world._heap) < timers + 100


def test_a_town_forgets_what_it_is_told_to() -> None:
    town = town_of("dispatch", size=8)
    town.run(8)
    old = [town.publish(1, ".d") for _ in range(5)]
    town.run(10)
    assert {*old} <= {*town.chronicle.relays}
    new = town.publish(1, ".d")
    town.run(1)
    town.forget(5)
    assert [*town.chronicle.fates] == [new]
    assert {*town.chronicle.relays} <= {new}
    assert town.missing() == []


def test_rejects_are_kept_up_to_a_bound_and_counted_beyond(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chronicle, "REJECTS_MAX", 3)
    town = town_of(size=2)
    for _ in range(5):
        town.world.give(1, Received(0, Unheard()))
    assert (len(town.chronicle.rejects), town.chronicle.rejected) == (3, 5)


# -- checkers ---------------------------------------------------------------------------------------------------


class Broken:
    """A machine that answers a message with whatever it likes."""

    def __init__(self, node: Stack, answer: Effect) -> None:
        self.node, self.answer = node, answer

    def __call__(self, given: Given, now_us: int) -> list[Effect]:
        return [self.answer] if type(given) is Received else Stack.step(self.node, given, now_us)


class Unheard(Struct, frozen=True, tag="test.unheard"):
    """Nobody knows what this means."""


LIVE = replace(Recovery.live(), store=False)
STRAY = Event(EventId(99, 0, 1), ".elsewhere")
OURS = Event(EventId(99, 0, 1), ".d")


@pytest.mark.parametrize(
    ("answers", "complaint"),
    [
        ([Deliver(OURS), Deliver(OURS)], "twice"),
        ([Deliver(STRAY)], "did not ask for"),
        ([Send((1,), Carry(Carried(OURS)))], "to itself"),
        ([Send((0,), Carry(Carried(STRAY)))], "without being a member"),
    ],
)
def test_a_checker_stops_a_town_at_a_broken_promise(answers: list[Effect], complaint: str) -> None:
    town = town_of(size=2)
    for answer in answers[:-1]:
        town.node(1).step = Broken(town.node(1), answer)  # type: ignore[method-assign]
        town.world.give(1, Received(0, Carry(Carried(OURS))))
    town.node(1).step = Broken(town.node(1), answers[-1])  # type: ignore[method-assign]
    with pytest.raises(CheckFailed, match=complaint):
        town.world.give(1, Received(0, Carry(Carried(OURS))))


def test_a_checker_stops_a_town_at_an_event_that_nobody_asked_for() -> None:
    town = town_of(size=2)
    with pytest.raises(CheckFailed, match="unasked"):
        town.world.give(1, Received(0, Carry(Carried(STRAY))))


def test_a_checker_stops_a_town_at_a_table_that_is_too_large() -> None:
    town = town_of(size=2)
    town.node(1).owners.update(dict.fromkeys(range(20_001), 1))
    with pytest.raises(CheckFailed, match="owners"):
        Promises(town.world).look(1)


def busy(town: Town, seconds: int) -> None:
    """Two publish, one of them wants more and more."""
    for number in range(seconds):
        town.publish(0, ".d.g")
        town.publish(1, ".d.g")
        town.subscribe(1, f".d.n{number}")
        town.run(1)


def test_whatever_carries_events_says_what_it_keeps_and_by_which_timers_it_lives() -> None:
    """Else nobody would check: of every layer that hears timers or peers, some say so themselves."""
    for spread in DESIGNS:
        town = town_of(spread, size=4)
        town.run(5)
        node = town.node(1)
        assert [bound for layer in node.layers for bound in layer.bounds()], spread
        alive = [timer for layer in node.layers for topic in (None, *node.interest.mine())
                 for timer in layer.lives_by(topic)]  # fmt: skip
        assert alive, spread
        assert all(town.timers.is_pending(1, timer) for timer in alive), spread


@pytest.mark.parametrize(
    ("spread", "kind", "layer"),
    [
        ("camcast", scamp.Patience, "Scamp"),
        ("camcast", scamp.Renew, "Scamp"),
        ("camcast", Count, "Headcount"),
        ("camcast", Check, "Links"),
        ("spidercast", Turn, "Interests"),
        ("spidercast", Maintain, "Spidercast"),
        ("spidercast", Pulse, "Beats"),
        ("dispatch", Repeat, "Subscriptions"),
        ("dispatch", Agree, "Subscriptions"),
        ("dispatch", tree.Tick, "SpanningTree"),
        ("hpmcast", CompareTurn, "Membership"),
        ("hpmcast", GossipStep, "Hpmcast"),
    ],
)
def test_a_checker_stops_a_town_at_any_timer_that_is_lost(spread: str, kind: type[Struct], layer: str) -> None:
    town = town_of(spread, size=6)
    without(town.node(1), kind)
    with pytest.raises(CheckFailed, match=f"lost a timer that {layer} lives by: {kind.__name__}"):
        busy(town, 40)


def test_a_checker_stops_a_town_when_what_waits_to_be_asked_for_is_forgotten() -> None:
    town = town_of(size=2)
    without(town.node(1), AskOn)
    with pytest.raises(CheckFailed, match="lost a timer that Search lives by"):
        [town.subscribe(1, f".many.t{number}") for number in range(100)]


@pytest.mark.parametrize(
    ("what", "overfill"),
    [
        ("nonces", lambda links, node: links.finding.nonces.update(dict.fromkeys(range(99), (".d", ".")))),
        ("outlets", lambda links, node: node.outside.outlets.update(dict.fromkeys(map(str, range(101))))),
        ("links from .d", lambda links, node: links.finding.table(".d", ".").entries.extend(range(100, 200))),
        ("frontiers", lambda links, node: links.frontiers.update({"a": Frontier((), node.hierarchy)})),
    ],
)
def test_a_checker_stops_a_town_at_links_that_are_too_many(
    what: str, overfill: Callable[[Links, Stack], object]
) -> None:
    town = town_of(size=2)
    town.run(3)
    node = town.node(1)
    assert isinstance(node.links, Links)
    Climbing.look(1, node, node.links)
    overfill(node.links, node)
    with pytest.raises(CheckFailed, match=what):
        Climbing.look(1, node, node.links)


def test_a_step_has_few_of_very_many_frontiers_looked_at() -> None:
    town = town_of()
    town.start(0, *(f".t{number}" for number in range(100)))
    links = town.node(0).links
    assert isinstance(links, Links)
    looked = [*touched(links, Subscribe(".t77"), 3)]
    assert ".t77" in looked
    assert len(looked) <= AT_ONCE + 2


def test_a_checker_stops_a_town_when_nobody_looks_for_idle_topics() -> None:
    town = town_of(size=2)
    without(town.node(1), LookForIdle)
    with pytest.raises(CheckFailed, match="looks no more"):
        town.publish(1, ".elsewhere")


def test_a_checker_stops_a_town_when_recovery_goes_on_no_more() -> None:
    town = Town(lambda me: camcast_node(me, 1, recovery=LIVE), CATALOGUE["camcast"].spoken)
    for peer in range(4):
        town.start(peer, ".d")
    town.run(8)
    without(town.node(1), Round)
    town.lose(0.5)
    with pytest.raises(CheckFailed, match="lost a timer that Recovery lives by: Round"):
        busy(town, 40)


# -- leaving under traffic --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_who_unsubscribes_while_events_are_on_their_way_breaks_no_promise(seed: int) -> None:
    town = Town(lambda me: camcast_node(me, seed), CATALOGUE["camcast"].spoken, seed)
    for peer in range(8):
        town.start(peer, ".d" if peer % 2 else ".d.g")
    town.run(8)
    for number in range(40):
        peer = 1 + 2 * (number % 4)
        town.publish(2 * (number % 4), ".d.g")
        if ".d" in town.interests[peer].subscribed:
            town.unsubscribe(peer, ".d")
        else:
            town.subscribe(peer, ".d")
        town.publish(0, ".d.g")
        town.run(0.05 + 0.1 * (number % 7))
    town.run(10)
    event = town.publish(0, ".d.g")
    town.run(1)
    assert town.missing(event) == []


def test_who_unsubscribed_meanwhile_missed_nothing_whatever_it_wants_later() -> None:
    town = town_of(size=4)
    town.run(8)
    town.cut([0], [1])
    event = town.publish(0, ".d.g")
    town.cut([2, 3], [1])
    town.run(1)
    assert town.missing() == [(1, event)]
    town.unsubscribe(1, ".d")
    town.subscribe(1, ".d")
    assert town.missing() == []


def left_one() -> Town:
    town = town_of()
    town.start(0, ".d")
    town.start(1, ".d", ".x")
    town.run(5)
    town.unsubscribe(1, ".d")
    return town


def test_what_was_on_its_way_to_who_left_is_nobodys_fault() -> None:
    town = left_one()
    town.world.give(1, Received(0, Carry(Carried(OURS))))


def test_who_comes_back_to_less_than_it_was_in_may_be_taken_for_a_member_still() -> None:
    town = left_one()
    town.publish(0, ".p")  # for this it joined
    town.crash(0)
    town.restart(0)
    town.world.give(0, Received(1, Carry(Carried(Event(EventId(99, 0, 2), ".p")))))


def test_who_goes_on_sending_to_one_that_left_and_said_so_is_found() -> None:
    town = left_one()
    first, second, third = (Send((1,), Carry(Carried(Event(EventId(0, 1, n), ".d")))) for n in range(1, 4))
    town.world._send(0, first)
    town.run(0.5)
    town.world._send(0, second)  # it was answered a moment ago: that may have been on its way
    town.run(1)
    town.world._send(0, third)
    with pytest.raises(CheckFailed, match="unasked"):
        town.run(1)


def test_what_one_never_asked_for_is_not_excused_by_what_it_left() -> None:
    town = left_one()
    with pytest.raises(CheckFailed, match="unasked"):
        town.world.give(1, Received(0, Carry(Carried(STRAY))))


# -- links --------------------------------------------------------------------------------------------------------


def test_a_checker_looks_at_the_links_of_who_publishes_from_outside() -> None:
    town = town_of()
    town.start(0, ".d")
    town.start(1, ".x")
    town.run(3)
    town.publish(1, ".y", join=False)
    links = town.node(1).links
    assert isinstance(links, Links)
    links.frontiers[".y"].search = None  # it looks no more, and nobody is there
    with pytest.raises(CheckFailed, match=r"no live link upwards from \.y"):
        town.run(10)


def test_who_was_never_asked_whether_it_is_there_is_no_live_link() -> None:
    town = town_of()
    town.start(0, ".")
    town.start(1, ".d")
    town.run(5)
    links = town.node(1).links
    assert isinstance(links, Links)
    table = links.frontiers[".d"].tables["."]
    table.confirmed.clear()
    table.checking = False
    with pytest.raises(CheckFailed, match="no live link upwards"):
        town.run(10)


def test_of_many_topics_each_has_its_turn_after_every_few_steps() -> None:
    topics = tuple(f".t{number}" for number in range(50))
    looked = [{*in_turn(topics, step)} for step in range(60)]
    assert {*topics} == {topic for some in looked for topic in some}
    assert max(map(len, looked)) == AT_ONCE
    assert in_turn(topics[:AT_ONCE], 7) == topics[:AT_ONCE]


def without(node: Stack, kind: type[Struct]) -> None:
    """From now on the node sets no timers of this kind."""
    step = node.step

    def forgetful(given: Given, now_us: int) -> list[Effect]:
        return [e for e in step(given, now_us) if not (type(e) is SetTimer and type(e.timer) is kind)]

    node.step = forgetful  # type: ignore[method-assign]


def test_a_checker_stops_a_town_when_a_community_is_not_looked_after_any_more() -> None:
    town = town_of(size=2)
    without(town.node(1), Keep)
    with pytest.raises(CheckFailed, match="lost a timer that Links lives by"):
        town.run(10)


def test_a_checker_stops_a_town_when_a_process_without_links_looks_for_none() -> None:
    town = town_of(size=2)
    without(town.node(1), Widen)
    with pytest.raises(CheckFailed, match="lost a timer that Links lives by: Widen"):
        town.run(10)


def test_a_checker_says_whose_links_lead_astray() -> None:
    town = town_of()
    for peer, topic in enumerate((".", ".d", ".d.g", ".d.g")):
        town.start(peer, topic)
    assert town.seconds_until(lambda: not astray(town.world), 10) < 10
    town.crash(1)
    assert {(each.peer, each.should, each.strangers) for each in astray(town.world)} == {
        (2, (".",), (1,)),
        (3, (".",), (1,)),
    }


def test_the_same_seed_is_the_same_history() -> None:
    def history(seed: int) -> tuple[object, ...]:
        town = town_of(
            size=8, seed=seed, loss=0.1, duplicated=0.1, latency=Latency(median_us=9_000, shape="exponential")
        )
        town.world.watch(downs := Downs())
        town.run(6)
        town.crash(3)
        town.publish(1, ".d")
        town.run(6)
        return town.chronicle.sends, downs.told

    assert history(5) == history(5)
    assert history(5) != history(6)


def test_timers_of_a_life_that_ended_are_not_counted() -> None:
    town = town_of(size=2)
    town.crash(1)
    assert town.timers.pending[1] == {}
    town.run(30)
    assert not any(type(what) is Fired for _, _, peer, _, what in town.world._heap if peer == 1)
