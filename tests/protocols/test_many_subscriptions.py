"""Many topics, many filters: what one more of them costs does not grow with how many there are."""

from collections.abc import Callable, Sequence

import pytest
from benchmarks.neighbours import ME, OTHER, SPREADS, Neighbours

from counting import lines_run
from gossamer.core.events import Event
from gossamer.core.ids import EventId
from gossamer.core.machine import Note, Publish, Started, Subscribe, Unsubscribe
from gossamer.protocols.dispatch.params import Params

KINDS: dict[str, Callable[[int], Subscribe]] = {
    "topics": lambda number: Subscribe(f".a.t{number}"),
    "filters": lambda number: Subscribe(".a", f"price == {number}"),
    "nested": lambda number: Subscribe(".a", f"price > {number}"),
}


def each(test: Callable[..., None]) -> Callable[..., None]:
    return pytest.mark.parametrize("spread", SPREADS)(pytest.mark.parametrize("kind", KINDS)(test))


def wanted(wish: Subscribe) -> dict[str, int]:
    """What this one asks for, and few others do."""
    *_, sign, number = wish.where.split() if wish.where else ("", "0")
    return {"price": int(number) + (sign == ">")}


def publish(near: Neighbours, wishes: Sequence[Subscribe]) -> list[Event]:
    """An event for each of these, by another node."""
    made = [Event(EventId(OTHER, 0, 1 + at), each.topic, attributes=wanted(each)) for at, each in enumerate(wishes)]
    for event in made:
        near.world.give(OTHER, Publish(event))
    near.run(1)
    return made


def check_delivered(near: Neighbours, wishes: Sequence[Subscribe]) -> None:
    made = publish(near, [wishes[0], wishes[len(wishes) // 2], wishes[-1]])
    assert [event.topic for event in near.me.delivered] == [event.topic for event in made]


@each
def test_two_thousand_one_by_one_cost_two_seconds_at_most_and_events_of_all_come(spread: str, kind: str) -> None:
    near, wishes = Neighbours(spread), [KINDS[kind](number) for number in range(2_000)]
    assert near.subscribe(wishes, every_s=0.001) <= 2.0
    check_delivered(near, wishes)


@pytest.mark.parametrize("spread", SPREADS)
def test_two_nodes_that_read_the_same_hundreds_of_topics_find_each_other_in_all_of_them(spread: str) -> None:
    check_found(spread, topics=300, seconds=5)


@pytest.mark.slow
@pytest.mark.parametrize("spread", SPREADS)
def test_and_in_thousands(spread: str) -> None:
    check_found(spread, topics=3_000, seconds=20)


def check_found(spread: str, topics: int, seconds: float) -> None:
    near, wishes = Neighbours(spread), [KINDS["topics"](number) for number in range(topics)]
    for peer in (OTHER, ME):
        for wish in wishes:
            near.world.give(peer, wish)
        near.run(seconds)
    made = publish(near, wishes[:: topics // 20])
    assert [event.topic for event in near.me.delivered] == [event.topic for event in made]


@pytest.mark.slow
@each
def test_ten_thousand_at_once_cost_five_seconds_at_most_and_events_of_all_come(spread: str, kind: str) -> None:
    wishes = [KINDS[kind](number) for number in range(10_000)]
    check_many(Neighbours(spread), wishes, told=1 if spread == "dispatch" else None)  # with .other too many to tell


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_so_do_as_many_as_a_dispatcher_tells(kind: str) -> None:
    most = Params().patterns_max
    check_many(Neighbours("dispatch"), [KINDS[kind](number) for number in range(most - 1)], told=most)


def check_many(near: Neighbours, wishes: Sequence[Subscribe], told: int | None = None) -> None:
    assert near.subscribe(wishes, every_s=0) <= 5.0
    check_delivered(near, wishes)  # at once, though much of it is still being told
    near.run(10)
    if told is not None:
        assert len(near.other.machine.spread.table.sources[ME]) == told  # type: ignore[union-attr]
    came_s, other_s = near.me.cpu_s, near.other.cpu_s
    near.unsubscribe(wishes, every_s=0)
    near.run(10)
    assert near.me.cpu_s - came_s <= came_s
    assert near.other.cpu_s - other_s <= came_s


@each
def test_the_last_of_many_takes_as_many_steps_as_the_first_and_they_go_as_cheaply(spread: str, kind: str) -> None:
    node = SPREADS[spread](ME)
    node.step(Started(), 0)

    def subscribe(first: int, last: int) -> None:
        for number in range(first, last):
            node.step(KINDS[kind](number), 1 + number)

    subscribe(0, 300)  # where there are few, what others are told is said exactly
    first = lines_run(lambda: subscribe(300, 320))
    subscribe(320, 1_000)
    assert lines_run(lambda: subscribe(1_000, 1_020)) <= 1.2 * first

    def unsubscribe() -> None:
        for number in range(1_020):
            node.step(Unsubscribe(KINDS[kind](number).topic, KINDS[kind](number).where), 2_000 + number)

    assert lines_run(unsubscribe) <= 1_020 / 20 * first  # all of them, the widest first
    assert not node.interest.patterns


def test_a_topic_that_cannot_be_told_is_refused_with_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.parts.own_wants.WANTS_BYTES_MAX", 100 * 8)
    node = SPREADS["spidercast"](ME)
    node.step(Started(), 0)
    for number in range(100):
        assert node.refusal([f".t{number}"]) is None
        node.step(Subscribe(f".t{number}"), 1)
    assert "101 topics are more than this node can tell others about" in str(node.refusal([".one.more"]))
    assert node.refusal([".t7"]) is None  # more of the same is fine
    assert Note("reject", topic=".one.more", detail="too many topics") in node.step(Subscribe(".one.more"), 2)
    assert not node.interest.wants(".one.more")


def test_what_is_published_on_a_topic_that_cannot_be_told_is_handed_to_those_who_read_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gossamer.parts.own_wants.WANTS_BYTES_MAX", 50 * 8)
    near = Neighbours("spidercast")
    for number in range(49):
        near.world.give(OTHER, Subscribe(f".t{number}"))
    near.world.give(ME, Subscribe(".news"))
    near.run(3)
    publish(near, [Subscribe(".news")])
    assert [event.topic for event in near.me.delivered] == [".news"]
    assert not near.world.machines[OTHER].interest.takes_part(".news")  # type: ignore[attr-defined]
