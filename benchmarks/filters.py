"""Many filters asked at once, by the index and by a plain loop; and how much too wide condensed filters are.

`python -m benchmarks.filters` runs this part alone.
"""

import ast
import sys
from collections.abc import Iterator, Sequence

import click
from msgspec import Struct
from rich.console import Console

from benchmarks import filters_workload as workload
from benchmarks.bench import Bar, Scale, verdicts
from benchmarks.measure import Span, Timed, in_turns, ratio, span
from benchmarks.tables import Table, number, ranged, shown
from gossamer.core.filters import Filter, Index, condense, parse

ABOUT = "filters"
SIZES = (100, 1_000, 10_000, 100_000)
MANY = 100_000
INDEX_TIMES = 50
READ, READ_TIMES = 20, 6
SEED = 1
CHECKS = 4_000_000
"Filters the loop asks per turn, over all events."
BUDGET_S = 60.0
CONDENSED = (4, 16, 64, 256)
TOGETHER = 100
"Filters condensed into one."


class Matching(Struct, frozen=True):
    """One number of filters."""

    filters: int
    matches: float
    "Filters that an event matches, on average."
    index_per_s: Span
    "Events per second of CPU time."
    loop_per_s: Span
    times: Span
    "How many times as fast the index is, turn by turn."


class Condensing(Struct, frozen=True):
    """What condensing to one size costs."""

    size: int
    filters: int
    wrong: Span
    "The share of events that none of the filters wants and the condensed one lets through."


class Reading(Struct, frozen=True):
    """Long filters, read for the first time."""

    characters: int
    times: Span
    "CPU time beside that of Python's own parser, in C, on the same text."


class Filters(Struct, frozen=True):
    matching: list[Matching]
    condensing: list[Condensing]
    reading: Reading


def measure(scale: Scale) -> Filters:
    return of_sizes(SIZES[:-1] if scale.quick else SIZES, turns=2 if scale.quick else 5)


def of_sizes(sizes: Sequence[int], turns: int) -> Filters:
    made = workload.filters(SEED, max(sizes))
    condensed = [condensing(size, turns) for size in CONDENSED]
    return Filters([match(made[:size], turns) for size in sizes], condensed, reading(turns))


def match(filters: list[Filter], turns: int) -> Matching:
    """Both are given the same events, and must name the same filters."""
    count = min(2_000, max(20, CHECKS // len(filters)))
    events = workload.events(SEED, count * turns)
    index: Index[int] = Index()
    for place, each in enumerate(filters):
        index.add(place, each)

    def by_index(turn: int) -> list[list[int]]:
        return [index.matches(event) for event in events[turn * count : (turn + 1) * count]]

    def by_loop(turn: int) -> list[list[int]]:
        asked = [each.matches for each in filters]
        given = events[turn * count : (turn + 1) * count]
        return [[place for place, matches in enumerate(asked) if matches(event)] for event in given]

    taken = in_turns({"index": by_index, "loop": by_loop}, turns, BUDGET_S)
    named = sum(len(index.matches(event)) for event in events[:count]) / count
    times = ratio(*([took.cpu_s for took in taken[name].turns] for name in ("loop", "index")))
    return Matching(len(filters), named, *(rate(taken[name], count) for name in ("index", "loop")), times)


def rate(taken: Timed, events: int) -> Span:
    return span([events / took.cpu_s for took in taken.turns])


def condensing(size: int, groups: int) -> Condensing:
    """Of events that nobody asked for, how many a condensed filter lets through; over several groups of subscribers."""
    shares = []
    for group in range(groups):
        filters = workload.filters(SEED + 1 + group, TOGETHER)
        events = workload.events(SEED + 1 + group, 2_000)
        whole = condense(filters, size)
        unwanted = [event for event in events if not any(each.matches(event) for each in filters)]
        shares.append(sum(map(whole.matches, unwanted)) / len(unwanted))
    return Condensing(size, TOGETHER, span(shares))


def reading(turns: int) -> Reading:
    """A condition of every kind that a Python expression could be as well."""
    texts = [
        " and ".join(f'(a{at} == "S{number}" or b{at} > {at} and c{at})' for at in range(200))
        for number in range(READ)
    ]  # fmt: skip
    fresh = parse.__wrapped__
    ways = {"filters": lambda turn: len([*map(fresh, texts)]), "python": lambda turn: len([*map(ast.parse, texts)])}
    taken = in_turns(ways, turns, BUDGET_S)
    return Reading(
        len(texts[0]), ratio(*([took.cpu_s for took in taken[name].turns] for name in ("filters", "python")))
    )


def matching_table(told: Filters) -> Table:
    rows = [
        [
            f"{each.filters:,}",
            number(each.matches),
            ranged(each.index_per_s),
            ranged(each.loop_per_s),
            ranged(each.times),
        ]
        for each in told.matching
    ]
    head = ["filters", "matches per event", "index, events/s", "loop, events/s", "times as fast"]
    note = "Stocks by Zipf(1) and price ranges, a tenth with `or`. Per second of CPU time; both named the same filters."
    return Table("Many filters asked at once", head, rows, note)


def condensing_table(told: Filters) -> Table:
    rows = [[str(each.size), str(each.filters), ranged(each.wrong, 100)] for each in told.condensing]
    head = ["size", "filters in one", "events let through in vain, %"]
    return Table("Condensed filters", head, rows, "Of events that none of the filters wants.")


def tables(told: Filters) -> list[Table]:
    return [matching_table(told), condensing_table(told)]


def bars(told: Filters | None) -> Iterator[Bar]:
    yield Bar(
        "a filter of 8,000 characters, CPU time to read it over that of Python's own parser",
        f"at most {READ_TIMES} ×",
        f"{told.reading.times.median:.1f} × ({told.reading.times.low:.1f} to {told.reading.times.high:.1f})"
        if told
        else "not measured",
        told.reading.times.median <= READ_TIMES if told else None,
    )
    found = [each.times for each in told.matching if each.filters == MANY] if told else []
    yield Bar(
        "10^5 filters, CPU time of a plain loop over the index's",
        f"at least {INDEX_TIMES} ×",
        f"{found[0].median:.0f} × ({found[0].low:.0f} to {found[0].high:.0f})" if found else "not measured",
        found[0].median >= INDEX_TIMES if found else None,
    )


@click.command()
@click.option("--quick", is_flag=True, help="A smoke test: two turns, at most 10^4 filters.")
def command(quick: bool) -> None:
    """The index of filters against a plain loop. Takes two minutes; exits 1 if the bar is missed."""
    told = measure(Scale(quick))
    asked = [*bars(told)]
    console = Console(width=None if sys.stdout.isatty() else 130)
    for table in (*tables(told), verdicts(asked)):
        console.print(shown(table))
    sys.exit(any(bar.met is False for bar in asked))


if __name__ == "__main__":
    command()
