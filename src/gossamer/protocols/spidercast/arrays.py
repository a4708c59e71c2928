"""An overlay under construction as arrays: what a kernel reads, and the room it works in."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from gossamer.core.draws import HOME, draw, fold
from gossamer.protocols.spidercast import rules
from gossamer.protocols.spidercast.params import Params
from gossamer.protocols.spidercast.setting import Interests, OverlaySetting

REASONS = 40
"More than there are reasons to draw."
NODES_OF_RING, TOPICS_OF_RING = 0, 1
"What is drawn for the reason HOME: where nodes stand on the ring, and where topics do."

NODES, WORDS, SELECTION, MARGIN, QUARANTINE, VIEW, RENDEZVOUS, GREEDY_K, ADAPTIVE, REST = range(10)
"Columns of `how`."
COVERAGE, SIMILARITY, ANYBODY = range(3)
"Selections, as numbers."
SELECTIONS = {"coverage": COVERAGE, "similarity": SIMILARITY, "random": ANYBODY}
CONNECT, CONNECT_OK, REDIRECTED, LEAVE, PART, PART_OK, SEEK, FOUND = range(8)
"Columns of `sent`."
MESSAGES = ("connect", "connect_ok", "redirect", "leave", "disconnect", "disconnect_ok", "seek", "found")
TURN, QUIET, LAST = range(3)
"Columns of `clock`: the round to come, rounds without a message so far, the last one that had one."
NOBODY = -1
NEVER = (1 << 31) - 1


class Net(NamedTuple):
    """Who there is, and what they want."""

    how: Any
    base: Any
    "Keys by reason."
    starts: Any
    needs: Any
    "Node i's topics stand at topics[starts[i] : starts[i] + needs[i]]."
    topics: Any
    wants: Any
    "The same as bits: a row of words for each node."
    alive: Any
    homes: Any
    "For each topic the node that keeps its notice board."
    clock: Any
    sent: Any
    "Messages by kind."


class Task(NamedTuple):
    """The state of one task at all nodes."""

    first: Any
    "Node i's neighbours stand from first[i] on,"
    degree: Any
    "so many of them."
    peers: Any
    asked: Any
    "In which round each was asked to part, -1: not yet."
    coverage: Any
    "K of each node."
    limit: Any
    target: Any
    under: Any
    cover: Any
    "For each topic of each node: how many neighbours want it."
    told_degree: Any
    "What the last heartbeat told of each node."
    told_target: Any
    changed: Any
    "In which round that changed last."
    wake: Any
    "The round in which a node has to look again: until then nothing it depends on changes."
    choice: Any
    "Whom each node writes to in this round."
    parting: Any
    "Whether that is a DISCONNECT."
    answer: Any
    "What came back: whom it was sent on to, itself if it was accepted."
    quarantined: Any
    "The last peers each node asked,"
    since: Any
    "and when."
    introduced: Any
    heard: Any
    "How many were introduced to each node."
    attempts: Any
    due: Any
    sought: Any
    "For each topic of each node: whether its home is asked in this round."
    board: Any
    "For each topic who looked for others, the last one first."


class Scratch(NamedTuple):
    """Room to think in. The first four have a row for each hand that works."""

    masks: Any
    spots: Any
    marks: Any
    members: Any
    active: Any
    inbox: Any
    "Senders, by receiver,"
    inbox_first: Any
    inbox_draws: Any
    letters: Any
    "and before they were sorted: receiver, sender."


class Room(NamedTuple):
    net: Net
    greedy: Task
    random: Task
    scratch: Scratch


def prepare(setting: OverlaySetting, seed: int, hands: int = 1) -> Room:
    """All that a kernel needs, before the first round."""
    interests, params = setting.interests, setting.params
    net = network(interests, params, seed)
    random = rules.RANDOM_MOST if params.adaptive else params.random
    greedy_task = task(net, params.greedy, params.greedy)
    random_task = task(net, 0 if params.adaptive else params.random, random)
    return Room(net, greedy_task, random_task, scratch(net, hands))


def network(interests: Interests, params: Params, seed: int) -> Net:
    return Net(
        how=np.array(list(_how(interests, params)), np.int64),
        base=np.array([fold(seed, why) for why in range(REASONS)], np.uint64),
        starts=interests.starts[:-1].copy(),
        needs=np.diff(interests.starts).astype(np.int32),
        topics=interests.topics.copy(),
        wants=bits(interests),
        alive=np.ones(interests.nodes, np.uint8),
        homes=homes(interests.nodes, interests.topic_count, seed) if params.rendezvous else np.zeros(0, np.int32),
        clock=np.array([0, 0, NOBODY], np.int64),
        sent=np.zeros(len(MESSAGES), np.int64),
    )


def _how(interests: Interests, params: Params) -> Iterator[int]:
    """In the order of the columns NODES … REST."""
    selection = SELECTIONS[params.selection]
    yield from (interests.nodes, words(interests), selection, params.margin, params.quarantine)
    yield from (view_size(params, interests.nodes), params.rendezvous and selection == COVERAGE)
    yield from (params.greedy, params.adaptive, params.quarantine + 1)


def view_size(params: Params, nodes: int) -> int:
    """Others a node knows; 0: all."""
    others = nodes - 1
    match params.view:
        case str():
            known = others
        case float():
            known = max(1, round(params.view * others))
        case int():
            known = params.view
    return 0 if known >= others else known


def words(interests: Interests) -> int:
    return max(1, -(-interests.topic_count // 64))


def bits(interests: Interests) -> Any:
    """A row of 64-bit words for each node, a bit for each topic it is interested in."""
    wants = np.zeros(interests.nodes * words(interests), np.uint64)
    at = np.repeat(np.arange(interests.nodes, dtype=np.int64) * words(interests), np.diff(interests.starts))
    at += interests.topics >> 6
    np.bitwise_or.at(wants, at, np.uint64(1) << (interests.topics & 63).astype(np.uint64))
    return wants.reshape(interests.nodes, -1)


def homes(nodes: int, topics: int, seed: int) -> Any:
    """For each topic the node whose place on the ring comes next."""
    places = [_places(seed, which, count) for which, count in ((NODES_OF_RING, nodes), (TOPICS_OF_RING, topics))]
    order = np.argsort(places[0], kind="stable")
    return order[np.searchsorted(places[0][order], places[1]) % max(nodes, 1)].astype(np.int32)


def _places(seed: int, which: int, count: int) -> Any:
    key = np.array([fold(fold(seed, HOME), which)], np.uint64)
    return draw(key, np.arange(count, dtype=np.uint64))


def task(net: Net, coverage: int, most: int) -> Task:
    """One task's empty state, with room for a coverage of `most`; no room at all if that is 0."""
    coverage_only = net.how[SELECTION] == COVERAGE
    n = len(net.needs) if most else 0
    needs = net.needs[:n]
    entries = len(net.topics) if n and coverage_only else 0
    room = (most * needs if coverage_only else np.full(n, most)) + net.how[MARGIN]
    limit = coverage * needs if coverage_only else np.full(n, coverage)
    topics = len(net.homes) and int(net.how[RENDEZVOUS]) and len(net.homes)
    first = np.concatenate([np.zeros(1, np.int64), np.cumsum(room, dtype=np.int64)])
    on = np.where(limit > 0, 0, NEVER)
    return Task(
        first=first,
        degree=np.zeros(n, np.int32),
        peers=np.zeros(first[-1], np.int32),
        asked=np.zeros(first[-1], np.int32),
        coverage=np.full(n, coverage, np.int32),
        limit=limit.astype(np.int32),
        target=limit.astype(np.int32),
        under=(needs if coverage_only and coverage else limit).astype(np.int32),
        cover=np.zeros(entries, np.int32),
        told_degree=np.zeros(n, np.int32),
        told_target=limit.astype(np.int32),
        changed=np.full(n, -1, np.int32),
        wake=on.astype(np.int32),
        choice=np.full(n, NOBODY, np.int32),
        parting=np.zeros(n, np.uint8),
        answer=np.zeros(n, np.int32),
        quarantined=np.full((n, net.how[QUARANTINE]), NOBODY, np.int32),
        since=np.full((n, net.how[QUARANTINE]), -NEVER, np.int32),
        introduced=np.zeros((n, rules.INTRODUCED_MAX), np.int32),
        heard=np.zeros(n, np.int32),
        attempts=np.zeros(n, np.int32),
        due=np.zeros(n, np.int32),
        sought=np.zeros(entries if topics else 0, np.uint8),
        board=np.full((topics if n else 0, rules.BOARD_MAX), NOBODY, np.int32),
    )


def scratch(net: Net, hands: int) -> Scratch:
    n, view = len(net.needs), int(net.how[VIEW])
    letters = max(n, len(net.topics) if net.how[RENDEZVOUS] else 0)
    receivers = max(n, len(net.homes))
    return Scratch(
        masks=np.zeros((hands, net.how[WORDS]), np.uint64),
        spots=np.zeros((hands, net.how[WORDS]), np.int64),
        marks=np.zeros((hands, (n >> 6) + 1 if view else 1), np.uint64),
        members=np.zeros((hands, max(1, view)), np.int32),
        active=np.zeros(n, np.int32),
        inbox=np.zeros(letters, np.int32),
        inbox_first=np.zeros(receivers + 1, np.int64),
        inbox_draws=np.zeros(letters, np.uint64),
        letters=np.zeros((letters, 2), np.int32),
    )
