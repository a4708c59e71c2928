"""An experiment as arrays: what a kernel reads, and the room it works in.

Numbers that belong together stand in one array, a column each: the fewer arrays, the less is handed from function to
function. Events are named by their row in the workload, so a place in a stream and the event are the same thing here.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from gossamer.core.draws import LOSS, ROUND, fold
from gossamer.core.errors import Misuse
from gossamer.core.ids import peer_of
from gossamer.parts.tagging import age_ms
from gossamer.protocols.recovery import rules
from gossamer.protocols.recovery.experiment.setting import SECOND_US, EpidemicSetting
from gossamer.protocols.recovery.experiment.topology import edges, happenings, neighbours
from gossamer.protocols.recovery.experiment.workload import workload
from gossamer.protocols.recovery.kernel import columns as col
from gossamer.protocols.recovery.messages import DIGEST_MAX
from gossamer.protocols.recovery.params import Params
from gossamer.protocols.recovery.streams import LOST_MAX

REASONS = 40
"More than there are reasons to draw."
TIMERS_AT_ONCE = 4
"Timers a dispatcher may have at once."
DIGESTS_AT_ONCE = 1 << 11
MESSAGES_AT_ONCE = 1 << 14
COPIES_AT_ONCE = 1 << 20
LOST_AT_ONCE = 1 << 10
LATENCIES = 1 << 19
"Room for what is under way; a run that needs more is run again with more."


class Book(NamedTuple):
    """What is published: a row per event."""

    at_us: Any
    source: Any
    word: Any
    loss_key: Any
    tags: Any
    "Patterns somebody subscribed to, -1 where there are no more,"
    places: Any
    "and which event of its source's stream it is in each, from 1."
    whole: Any
    "Whether it tells its first reader that those before it should have come, too."
    stream_first: Any
    "The stream of source s and pattern p begins at stream_first[s, p] of stream_events."
    stream_events: Any


class TreeArrays(NamedTuple):
    """Who is whose neighbour, and where each pattern is wanted; changes when links vanish."""

    links: Any
    "Each dispatcher's neighbours in ascending order,"
    degree: Any
    "so many of them."
    towards: Any
    "For each dispatcher and pattern: bits of the links that lead to a subscriber."
    down: Any
    "Bits of the links that nothing passes."
    row: Any
    "For each dispatcher and pattern: the subscription's number, -1 if it has none."
    known: Any
    "Patterns somebody subscribed to."
    mine_first: Any
    "Dispatcher d's own patterns stand at mine[mine_first[d] : mine_first[d + 1]]."
    mine: Any
    readers_first: Any
    "So do the subscribers of a pattern."
    readers: Any
    scratch: Any
    "Two numbers per dispatcher, to think with."
    changes: Any
    "Reconfigurations: when, whether a link vanishes, its ends, those of the one that takes its place."


class Mail(NamedTuple):
    """What is under way, and what it depends on."""

    how: Any
    odds: Any
    base: Any
    "Keys by reason."
    kinds: Any
    "Loss keys by kind of message."
    clock: Any
    queue: Any
    timers: Any
    pool: Any
    slots: Any
    free: Any
    crossed: Any
    weather: Any
    ledger: Any


class Desks(NamedTuple):
    """What dispatchers know and keep."""

    known: Any
    "A byte per event and dispatcher."
    via: Any
    "From whom it came, if it was spread."
    highest: Any
    "The highest place heard of, per subscription and source; 0: none yet."
    route: Any
    "The event that last came from a source, and so from which side."
    lost: Any
    "Per dispatcher, in the order in which it was noticed: event, pattern, when."
    cache: Any
    "Per dispatcher: events kept, in the order they came,"
    slots: Any
    "and, where one drawn by chance goes, in no order."
    asked: Any
    "How often its publisher sent each event again."
    numbers: Any
    origin_us: Any
    "Where each dispatcher's rounds begin."
    counts: Any
    latencies: Any
    "Of what was recovered: microseconds since it was noticed to be lost."


class RunArrays(NamedTuple):
    """All that one run needs."""

    mail: Mail
    book: Book
    tree: TreeArrays
    desks: Desks


def prepare(setting: EpidemicSetting, seed: int, scale: int = 1) -> RunArrays:
    """Everything a seed decides beforehand; `scale` makes more room for what is under way."""
    refuse_unknown(setting.recovery)
    subscribed = setting.subscribed(seed)
    book = _book(setting, seed, subscribed)
    tree = _tree(setting, seed, subscribed)
    return RunArrays(
        _mail(setting, seed, scale), book, tree, _desks(setting, seed, len(book.at_us), len(tree.mine), scale)
    )


def refuse_unknown(recovery: Params) -> None:
    """What live networks need beyond the paper, only machines do."""
    for name in ("patience_us", "push_every_us", "tail_after_us", "store", "answers_per_s"):
        if getattr(recovery, name):
            raise Misuse(f"{name} is for live networks, experiments run the paper's algorithms: leave it at 0")


def _mail(setting: EpidemicSetting, seed: int, scale: int) -> Mail:
    n, slots = setting.dispatchers, DIGESTS_AT_ONCE * scale
    clock = np.zeros(8, np.int64)
    clock[col.FREE] = slots
    base = np.array([fold(seed, why) for why in range(REASONS)], np.uint64)
    return Mail(
        how=np.array(list(_how(setting)), np.int64),
        odds=np.array(list(_odds(setting)), np.float64),
        base=base,
        kinds=np.array([fold(int(base[LOSS]), peer_of(name)) for name in col.KIND_NAMES], np.uint64),
        clock=clock,
        queue=np.zeros((MESSAGES_AT_ONCE * scale, col.QUEUE_COLUMNS), np.int64),
        timers=np.zeros((TIMERS_AT_ONCE * n * scale, 4), np.int64),
        pool=np.zeros((slots, DIGEST_MAX), np.int64),
        slots=np.zeros((slots, 3), np.int64),
        free=np.arange(slots, dtype=np.int64),
        crossed=np.zeros((len(col.KIND_NAMES), n, n), np.int32),
        weather=np.zeros((n, n), np.int64),
        ledger=np.zeros((COPIES_AT_ONCE * scale, 2), np.int64),
    )


def _how(setting: EpidemicSetting) -> Iterator[int]:
    """In the order of the columns UNTIL_US … LOST_MAX."""
    recovery, period_us = setting.recovery, round(setting.loss_period_s * SECOND_US)
    yield from (setting.until_us, setting.latency_us, period_us, round(period_us * (1 - setting.loss_share)))
    yield from (setting.burst > 1, col.METHODS.index(recovery.method), recovery.interval_us, recovery.cache)
    yield from (recovery.expiry_us, col.EVICTIONS.index(recovery.eviction), recovery.cache_relayed, recovery.adaptive)
    yield from (recovery.immediate, recovery.push_local, *setting.window_us, LOST_MAX)


def _odds(setting: EpidemicSetting) -> Iterator[float]:
    """In the order of the columns ARRIVES … PUBLISHER_SHARE."""
    yield from (1.0 - setting.loss, 1.0 - setting.loss / setting.loss_share, *setting.bursts)
    yield from (setting.recovery.forward, setting.recovery.publisher_share)


def _book(setting: EpidemicSetting, seed: int, subscribed: Sequence[Sequence[int]]) -> Book:
    at_us, source, sequence, patterns = workload(setting, seed)
    events, n = len(at_us), setting.dispatchers
    wanted = np.zeros(setting.patterns + 1, np.bool_)
    wanted[[pattern for mine in subscribed for pattern in mine]] = True
    order = np.where(wanted[patterns], patterns, setting.patterns)
    tags = np.sort(order, axis=1).astype(np.int64)
    tags[tags == setting.patterns] = -1
    stream = source[:, None] * setting.patterns + tags
    said = np.nonzero(tags.ravel() >= 0)[0]
    in_stream = np.argsort(stream.ravel()[said], kind="stable")
    lengths = np.bincount(stream.ravel()[said], minlength=n * setting.patterns)
    first = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    rows = said[in_stream]
    places = np.zeros(tags.size, np.int64)
    places[rows] = np.arange(len(rows)) - first[stream.ravel()[rows]] + 1
    began = np.zeros(tags.size, np.int64)
    began[rows] = at_us[rows[first[stream.ravel()[rows]]] // tags.shape[1]]
    published = np.repeat(at_us, tags.shape[1])
    whole = rules.expects_all(age_ms(places, published - began), published, 0)
    publisher = fold(np.arange(n, dtype=np.uint64), 0)  # EventId.word() with incarnation 0
    word = fold(publisher[source], sequence.astype(np.uint64))
    return Book(
        at_us=at_us.astype(np.int64),
        source=source.astype(np.int64),
        word=word,
        loss_key=fold(np.full(events, fold(seed, LOSS), np.uint64), word),
        tags=tags,
        places=places.reshape(tags.shape),
        whole=whole.reshape(tags.shape),
        stream_first=first[:-1].reshape(n, setting.patterns).copy(),
        stream_events=(rows // tags.shape[1]).astype(np.int64),
    )


def _tree(setting: EpidemicSetting, seed: int, subscribed: Sequence[Sequence[int]]) -> TreeArrays:
    n, patterns = setting.dispatchers, setting.patterns
    readers = [[who for who, mine in enumerate(subscribed) if pattern in mine] for pattern in range(patterns)]
    beside = neighbours(edges(setting, seed), n)
    links = np.full((n, setting.degree), -1, np.int64)
    row = np.full((n, patterns), -1, np.int64)
    for who, others in enumerate(beside):
        links[who, : len(others)] = others
    mine_first, mine = _ragged(subscribed)
    readers_first, flat = _ragged(readers)
    for who in range(n):
        row[who, subscribed[who]] = np.arange(mine_first[who], mine_first[who + 1])
    return TreeArrays(
        links=links,
        degree=np.array([len(others) for others in beside], np.int64),
        towards=np.zeros((n, patterns), np.int64),
        down=np.zeros(n, np.int64),
        row=row,
        known=np.array([pattern for pattern in range(patterns) if readers[pattern]], np.int64),
        mine_first=mine_first,
        mine=mine,
        readers_first=readers_first,
        readers=flat,
        scratch=np.zeros((2, n), np.int64),
        changes=_changes(setting, seed),
    )


def _ragged(lists: Sequence[Sequence[int]]) -> tuple[Any, Any]:
    """Lists one after the other, and where each begins."""
    first = np.cumsum([0, *(len(each) for each in lists)]).astype(np.int64)
    return first, np.array([item for each in lists for item in each], np.int64)


def _changes(setting: EpidemicSetting, seed: int) -> Any:
    """Every link that vanishes or appears, in the order of time."""
    found = [(when, vanishes, *change.old, *change.new) for when, vanishes, change in happenings(setting, seed)]
    return np.array(found, np.int64).reshape(-1, 6)


def _desks(setting: EpidemicSetting, seed: int, events: int, subscriptions: int, scale: int) -> Desks:
    n, recovery = setting.dispatchers, setting.recovery
    numbers = np.zeros((n, col.DESK_COLUMNS), np.int64)
    numbers[:, col.INTERVAL] = recovery.interval_us
    numbers[:, col.DUE_US] = -1
    numbers[:, col.BUSY] = 1
    key = fold(fold(seed, ROUND), 0)
    return Desks(
        known=np.zeros((events, n), np.uint8),
        via=np.full((events, n), -1, np.int16),
        highest=np.zeros((subscriptions, n), np.int64),
        route=np.full((n, n), -1, np.int64),
        lost=np.zeros((n, min(LOST_AT_ONCE * scale, LOST_MAX), 3), np.int64),
        cache=np.zeros((n, recovery.cache), np.int64),
        slots=np.zeros((n, recovery.cache if recovery.eviction == "random" else 1), np.int64),
        asked=np.zeros(events, np.int64),
        numbers=numbers,
        origin_us=np.array([rules.phase(fold(key, who), recovery.interval_us) for who in range(n)], np.int64),
        counts=np.zeros(col.COUNTS, np.int64),
        latencies=np.zeros(LATENCIES * scale, np.int64),
    )
