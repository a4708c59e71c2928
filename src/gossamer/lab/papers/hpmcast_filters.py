"""What weaker filters on higher levels save, and what they let pass for nobody (6.1.1): a market, condensed as live
participants condense what they want."""

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from gossamer.core.draws import INTEREST, chance, draw, fold, upper_pick
from gossamer.core.events import Attribute
from gossamer.core.filters import parse
from gossamer.core.patterns import Pattern
from gossamer.core.topics import Hierarchy, Topic
from gossamer.lab.claims import Claim
from gossamer.lab.papers.hpmcast_words import judged, percent
from gossamer.protocols.hpmcast.condensing import condensed
from gossamer.protocols.hpmcast.upkeep import Grade, Upkeep
from gossamer.protocols.hpmcast.wanting import Interest, wanted

BRANCHING = (4, 4, 4, 4)
EVENTS = 150
SYMBOLS, TOPICS, PRICES = 20, 3, 90
FLAT = Hierarchy({})


class Graded(NamedTuple):
    """The lines of one level."""

    size: float
    "Values, intervals and patterns in a line's filters, on average."
    for_nobody: float
    "Of the lines that let an event pass, the share in which nobody wants it."


def market(seed: int, participants: int) -> list[Interest]:
    """Each wants two of twenty symbols, above some price, of one of three topics."""
    interests: list[Interest] = []
    for who in range(participants):
        key = fold(fold(seed, INTEREST), who)
        symbols = sorted({upper_pick(draw(key, index), SYMBOLS) for index in (1, 2)})
        listed = ", ".join(f'"S{each}"' for each in symbols)
        where = f"symbol in ({listed}) and price > {upper_pick(draw(key, 3), PRICES)}"
        interests.append((Pattern(f".m{upper_pick(draw(key, 4), TOPICS)}", parse(where).text),))
    return interests


def events() -> list[tuple[Topic, Mapping[str, Attribute]]]:
    keys = [fold(7, number) for number in range(EVENTS)]
    symbols = [f"S{upper_pick(draw(key, 1), SYMBOLS)}" for key in keys]
    return [
        (f".m{upper_pick(draw(key, 2), TOPICS)}", {"symbol": symbol, "price": 100 * chance(key, 3)})
        for key, symbol in zip(keys, symbols)
    ]


@cache
def graded(weakest: Grade, branching: tuple[int, ...] = BRANCHING) -> list[Graded]:
    """Level by level from 2 up, where filters may get so weak."""
    upkeep, happened = Upkeep(weakest=weakest), events()
    table = market(1, math.prod(branching))
    truth = [asked(each, happened) for each in table]
    found = []
    for level in range(2, len(branching) + 1):
        size = branching[-level + 1]
        groups = [slice(at, at + size) for at in range(0, len(table), size)]
        grade = upkeep.grade(level)
        table = [condensed(table[group], grade, upkeep.interest_size, FLAT) for group in groups]
        truth = [[any(column) for column in zip(*truth[group])] for group in groups]
        let = sum(sum(asked(each, happened)) for each in table)
        found.append(Graded(sum(map(size_of, table)) / len(table), (let - sum(map(sum, truth))) / let))
    return found


def asked(interest: Interest, happened: Sequence[tuple[Topic, Mapping[str, Attribute]]]) -> list[bool]:
    read = wanted(interest)
    return [read is not None and read.matches(topic, attributes, FLAT) for topic, attributes in happened]


def size_of(interest: Interest) -> int:
    return sum(parse(pattern.where).size for pattern in interest if pattern.where)


def weaker() -> Claim:
    exact, weak, between = (graded(grade)[1:] for grade in ("exact", "type", "attribute"))

    def told(lines: Sequence[Graded]) -> str:
        return ", ".join(f"{each.size:.1f} ({percent(each.for_nobody)} for nobody)" for each in lines)

    return judged(
        "weaker-filters", "6.1.1", "Weaker filters on higher levels can substantially reduce filtering cost.",
        f"values and intervals in a line on levels 3, 4: {told(exact)} as exactly as a row may be, {told(between)} by "
        f"attributes, {told(weak)} as weak as suggested",
        all(2 * cheap.size <= dear.size for cheap, dear in zip(weak, exact, strict=True)),
        f"{math.prod(BRANCHING)} participants in four levels, each after two of {SYMBOLS} symbols above some price. On "
        "levels 3 and 4 a line must have at most half as much to compare. What passes for nobody is the price: where "
        "hardly anybody agrees on a symbol or a price, topics are all that is left.",
    )  # fmt: skip
