"""One node with very many topics or filters: what subscribing costs, and what an event costs against all of them.

`python -m benchmarks.run --out out/bench --only subscribing` runs this part alone.
"""

from collections.abc import Callable, Iterator

from msgspec import Struct

from benchmarks import filters_workload as workload
from benchmarks.bench import Bar, Scale, within
from benchmarks.measure import Span, in_turns, ratio, scaled, span
from benchmarks.neighbours import SPREADS, Neighbours
from benchmarks.tables import Table, number, ranged
from gossamer.core.events import Attribute, Event
from gossamer.core.ids import EventId
from gossamer.core.interest import Interest
from gossamer.core.machine import Subscribe
from gossamer.core.patterns import Pattern
from gossamer.core.topics import Hierarchy

ABOUT = "many topics and filters"
SEED = 1
SOME, MANY = 2_000, 10_000
SOME_S, MANY_S, EVENT_US = 2.0, 5.0, 50.0
EVERY_S = 0.001
EVENTS = 500
BUDGET_S = 60.0
SAID = "Filters: stocks by Zipf(1) and price ranges; nested: each wider than all that follow."
KINDS: dict[str, Callable[[int], Subscribe]] = {
    "topics": lambda number: Subscribe(f".a.t{number}"),
    "filters": lambda number: Subscribe(".a", workload.text(SEED, number)),
    "nested": lambda number: Subscribe(".a", f"price > {number}"),
}
IN_VAIN: dict[str, Callable[[int], dict[str, Attribute]]] = {
    "a == #": lambda filters: {"a": -1},
    "#.1 < a < #.9": lambda filters: {"a": filters // 2},
    "a != #": lambda filters: {"b": 1},
    's startswith "<#>"': lambda filters: {"s": "x" * 50},
    's endswith "<#>"': lambda filters: {"s": "x" * 50},
    's contains "<#>"': lambda filters: {"s": "x" * 50},
    's like "<#>%_<#>"': lambda filters: {"s": "x" * 50},
    's ilike "<a#>"': lambda filters: {"s": "X" * 50},
    's ilike "%_<a#>%"': lambda filters: {"s": "X" * 50},
    "a > # and b < #": lambda filters: {"a": filters // 2, "b": filters // 2},
    "x == 1 and a > # and b < #": lambda filters: {"x": 1, "a": filters // 2, "b": filters // 2},
}
"Filters that have a number each, and an event that matches none of them."
IN_VAIN_EVENTS = 50


class Subscribed(Struct, frozen=True):
    """A node of one spread, linked with another."""

    spread: str
    kind: str
    some_s: Span
    "CPU time of 2,000, a millisecond apart, and of what follows within a second."
    many_s: Span
    "Of 10,000, each 2,000 at once, and five such seconds."
    last: Span
    "How many times as long the last 2,000 of these take as the first."
    gone: Span
    "How many times as long it takes to leave them all again, the first first."


class Asked(Struct, frozen=True):
    """An event against a node's own filters."""

    filters: int
    index_us: Span
    loop_us: Span
    times: Span


class Unmatched(Struct, frozen=True):
    """An event that matches none of a node's own filters, by what these ask for."""

    what: str
    filters: int
    index_us: Span


class Subscribing(Struct, frozen=True):
    subscribed: list[Subscribed]
    asked: list[Asked]
    unmatched: list[Unmatched]


def measure(scale: Scale) -> Subscribing:
    turns, most = (1, SOME) if scale.quick else (5, MANY)
    return of_sizes(most, turns, [1_000] if scale.quick else [1_000, MANY])


def of_sizes(most: int, turns: int, filters: list[int]) -> Subscribing:
    subscribed = [subscribe(spread, kind, most, turns) for spread in SPREADS for kind in KINDS]
    asked = [ask(count, turns) for count in filters]
    return Subscribing(subscribed, asked, [ask_in_vain(what, filters[-1], turns) for what in IN_VAIN])


def subscribe(spread: str, kind: str, most: int, turns: int) -> Subscribed:
    parts = range(0, most, min(most, SOME))
    some, many, last, gone = [], [], [], []
    for _ in range(turns):
        wishes = [KINDS[kind](at) for at in range(most)]
        some.append(Neighbours(spread).subscribe(wishes[:SOME], EVERY_S))
        near = Neighbours(spread)
        took = [near.subscribe(wishes[first : first + min(most, SOME)], 0) for first in parts]
        many.append(sum(took))
        last.append(took[-1] / took[0])
        gone.append(near.unsubscribe(wishes, 0) / sum(took))
    return Subscribed(spread, kind, span(some), span(many), span(last), span(gone))


def ask(filters: int, turns: int) -> Asked:
    """By the index that the node asks, and by a loop over all; both must want the same events."""
    interest = Interest(Hierarchy())
    for at in range(filters):
        interest.subscribe(Pattern(".a", workload.text(SEED, at)))
    events = [Event(EventId(1, 0, at), ".a", attributes=each) for at, each in enumerate(workload.events(SEED, EVENTS))]
    asked = [each.matches for each in interest.patterns.values() if each is not None]
    some = max(20, EVENTS * 100 // filters)

    def by_index(turn: int) -> list[bool]:
        return [interest.matches(event) for event in events][:some]

    def by_loop(turn: int) -> list[bool]:
        return [any(matches(event.attributes) for matches in asked) for event in events[:some]]

    taken = in_turns({"index": by_index, "loop": by_loop}, turns, BUDGET_S)
    index_us = scaled(taken["index"].cpu_s, 1e6 / len(events))
    loop_us = scaled(taken["loop"].cpu_s, 1e6 / some)
    per_event = (
        [took.cpu_s / count for took in taken[name].turns] for name, count in (("loop", some), ("index", EVENTS))
    )
    return Asked(filters, index_us, loop_us, ratio(*per_event))


def ask_in_vain(what: str, filters: int, turns: int) -> Unmatched:
    interest = Interest(Hierarchy())
    for at in range(filters):
        interest.subscribe(Pattern(".a", what.replace("#", str(at))))
    event = Event(EventId(1, 0, 1), ".a", attributes=IN_VAIN[what](filters))

    def by_index(turn: int) -> list[bool]:
        return [interest.matches(event) for _ in range(IN_VAIN_EVENTS)]

    assert not any(by_index(0))
    return Unmatched(what, filters, scaled(in_turns({"": by_index}, turns, BUDGET_S)[""].cpu_s, 1e6 / IN_VAIN_EVENTS))


def tables(told: Subscribing) -> list[Table]:
    rows = [
        [each.spread, each.kind, ranged(each.some_s), ranged(each.many_s), ranged(each.last), ranged(each.gone)]
        for each in told.subscribed
    ]
    head = ["spread", "of", "2,000, CPU s", "10,000, CPU s", "the last 2,000 over the first", "leaving over coming"]
    asked = [
        [f"{each.filters:,}", ranged(each.index_us), ranged(each.loop_us), ranged(each.times)] for each in told.asked
    ]
    unmatched = [[f"{each.filters:,}", each.what, ranged(each.index_us)] for each in told.unmatched]
    return [
        Table("One node of two subscribes to very many, one by one", head, rows, SAID),
        Table("An event against a node's own filters", ["filters", "index, µs", "loop, µs", "times as fast"], asked),
        Table("An event that matches none of them", ["filters", "each with a number for #", "index, µs"], unmatched),
    ]


def bars(told: Subscribing | None) -> Iterator[Bar]:
    slowest = max((each.some_s.median for each in told.subscribed), default=None) if told else None
    yield within("2,000 topics or filters on the slowest spread, CPU", SOME_S, slowest)
    slowest = max((each.many_s.median for each in told.subscribed), default=None) if told else None
    yield within("10,000 topics or filters on the slowest spread, CPU", MANY_S, slowest)
    slowest = max((each.gone.median for each in told.subscribed), default=None) if told else None
    yield within("leaving them over subscribing to them, on the slowest spread", 1.0, slowest, "times")
    found = [each for each in told.asked if each.filters == MANY] if told else []
    took = f"; a loop takes {number(found[0].times.median)} times as long" if found else ""
    yield within(
        f"an event against 10,000 own filters, CPU{took}", EVENT_US, found[0].index_us.median if found else None, "µs"
    )
