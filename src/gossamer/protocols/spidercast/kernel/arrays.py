"""An overlay under construction as arrays: what a kernel reads, and the room it works in."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from gossamer.core.draws import fold
from gossamer.core.errors import Misuse
from gossamer.protocols.spidercast import rules
from gossamer.protocols.spidercast.experiment.setting import InterestArrays, OverlaySetting
from gossamer.protocols.spidercast.experiment.static import homes, view_size
from gossamer.protocols.spidercast.kernel import columns as col
from gossamer.protocols.spidercast.params import Params

REASONS = 40
"More than there are reasons to draw."


class Net(NamedTuple):
    """Who there is, and what they want."""

    how: Any
    base: Any
    "Keys by reason."
    rows: Any
    "For each node: where its topics begin, how many it has, whether it is up."
    topics: Any
    wants: Any
    "Topics as bits: a row of words for each node."
    homes: Any
    "For each topic the node that keeps its notice board."
    clock: Any
    changes: Any
    "Who comes and goes, in order of time,"
    news: Any
    "and what they are interested in when they come."


class TaskArrays(NamedTuple):
    """The state of one task at all nodes."""

    nodes: Any
    links: Any
    topics: Any
    "For each topic of each node, in the order of Net.topics."
    asked: Any
    "For each node the last peers it asked to connect, each with the round."
    introduced: Any
    "Candidates that others named."
    listed: Any
    "Short lists: the best candidates each node saw when it last looked through its whole view."
    board: Any
    "For each topic who looked for others, the last one first."


class Scratch(NamedTuple):
    """Room to think in. The first two have a row for each hand that works."""

    bits: Any
    "Topics looked for, then marks on members of a view."
    numbers: Any
    "In which words those topics are, then the members."
    letters: Any
    first: Any
    "Letters for r stand from first[r] on in the column SORTED."
    draws: Any


class RunArrays(NamedTuple):
    """All that one run needs."""

    net: Net
    greedy: TaskArrays
    random: TaskArrays
    scratch: Scratch


def prepare(setting: OverlaySetting, seed: int, hands: int = 1) -> RunArrays:
    """All that a kernel needs, before the first round."""
    params = setting.params
    net = network(setting.interests, params, seed)
    greedy = task(net, params.greedy, params.greedy)
    if params.adaptive:
        random = task(net, 0, rules.RANDOM_MOST)
    else:
        random = task(net, params.random, params.random)
    return RunArrays(net, greedy, random, scratch(net, hands))


def network(interests: InterestArrays, params: Params, seed: int) -> Net:
    n = interests.nodes
    return Net(
        how=np.array(list(_how(interests, params)), np.int64),
        base=np.array([fold(seed, why) for why in range(REASONS)], np.uint64),
        rows=np.column_stack([interests.starts[:-1], np.diff(interests.starts), np.ones(n, np.int64)]),
        topics=interests.topics.copy(),
        wants=bits(interests),
        homes=homes(n, interests.topic_count, seed) if params.rendezvous and n else np.zeros(0, np.int32),
        clock=np.array([0, 0, col.NOBODY, 0, 0] + [0] * len(col.MESSAGES), np.int64),
        changes=np.zeros((0, 4), np.int64),
        news=np.zeros(0, np.int32),
    )


def _how(interests: InterestArrays, params: Params) -> Iterator[int]:
    """In the order of the columns NODES … BEYOND."""
    selection = col.SELECTIONS[params.selection]
    yield from (interests.nodes, words(interests.topic_count), selection, params.margin, params.quarantine)
    known = view_size(params, interests.nodes)
    yield from (known if known < interests.nodes - 1 else 0, params.rendezvous and selection == col.COVERAGE)
    yield from (params.greedy, 0 if params.adaptive else params.random, params.adaptive, params.quarantine + 1)
    yield rules.BEYOND[params.parting]


def words(topics: int) -> int:
    return max(1, -(-topics // 64))


def bits(interests: InterestArrays) -> Any:
    """A row of 64-bit words for each node, a bit for each topic it is interested in."""
    width = words(interests.topic_count)
    wants = np.zeros(interests.nodes * width, np.uint64)
    at = np.repeat(np.arange(interests.nodes, dtype=np.int64) * width, np.diff(interests.starts))
    at += interests.topics >> 6
    np.bitwise_or.at(wants, at, np.uint64(1) << (interests.topics & 63).astype(np.uint64))
    return wants.reshape(interests.nodes, width)


def task(net: Net, coverage: int, most: int) -> TaskArrays:
    """One task's empty state, with room for a coverage of `most`; no room at all if that is 0."""
    covering = net.how[col.SELECTION] == col.COVERAGE
    n = len(net.rows) if most else 0
    needs = net.rows[:n, col.NEEDS]
    room = (most * needs if covering else np.full(n, most)) + net.how[col.MARGIN]
    ends = np.cumsum(room, dtype=np.int64)
    if n and ends[-1] > col.NEVER:
        raise Misuse("more links than can be counted: fewer nodes, fewer topics each, or less coverage")
    limit = coverage * needs if covering else np.full(n, coverage)
    nodes = np.zeros((n, col.NODE_COLUMNS), np.int32)
    nodes[1:, col.FIRST] = ends[:-1]
    nodes[:, col.COVER] = coverage
    for column in (col.LIMIT, col.TARGET, col.TOLD_TARGET):
        nodes[:, column] = limit
    nodes[:, col.UNDER] = needs if covering and coverage else limit
    nodes[:, col.ROSE] = nodes[:, col.CHOICE] = col.NOBODY
    nodes[:, col.FLOOR] = col.NEVER
    nodes[:, col.WAKE] = np.where(limit > 0, 0, col.NEVER)
    asked = np.full((n, 2 * net.how[col.QUARANTINE]), -col.NEVER, np.int32)
    boards = len(net.homes) if n and net.how[col.RENDEZVOUS] else 0
    return TaskArrays(
        nodes=nodes,
        links=np.zeros((ends[-1] if n else 0, 2), np.int32),
        topics=np.zeros((len(net.topics) if n and covering else 0, 2), np.int32),
        asked=asked,
        introduced=np.zeros((n, rules.INTRODUCED_MAX), np.int32),
        listed=np.zeros((n, col.LISTED_MAX), np.int32),
        board=np.full((boards, rules.BOARD_MAX), col.NOBODY, np.int32),
    )


def scratch(net: Net, hands: int) -> Scratch:
    n, view, width = (int(net.how[column]) for column in (col.NODES, col.VIEW, col.WORDS))
    letters = max(n, len(net.topics) if net.how[col.RENDEZVOUS] else 0)
    return Scratch(
        bits=np.zeros((hands, width + (-(-n // 64) if view else 0)), np.uint64),
        numbers=np.zeros((hands, width + view), np.int64),
        letters=np.zeros((letters, 4), np.int32),
        first=np.zeros(max(n, len(net.homes)) + 1, np.int64),
        draws=np.zeros(letters, np.uint64),
    )
