"""What each of CAMCAST's membership services costs: `python -m benchmarks.membership --size 100 --size 1000`.

Processes come one after the other into three communities, the upper ones smaller. Then, one after the other: nothing
happens; some look for members of a community that is not theirs; more join; some subscribe below three topics that
nobody is in. What is sent because of that is counted for a quarter of a minute, with answers and what others pass on.
"""

import argparse
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean, median
from typing import get_args

from msgspec import Struct
from rich.console import Console

from benchmarks.tables import Table, markdown, number, shown
from gossamer.core.draws import PUBLISH, distinct, draw, fold
from gossamer.core.ids import Peer
from gossamer.core.machine import Effect, Given, Message, Received, Send, Subscribe
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.protocols.camcast.node import MembershipName, camcast_node
from gossamer.protocols.pgrid.layer import PGrid
from gossamer.protocols.pgrid.messages import Answer, AskPlaces
from gossamer.protocols.search.layer import Search
from gossamer.protocols.search.messages import AnsContact, ReqContact
from gossamer.sim.network import Latency, Network
from gossamer.sim.world import Watcher, World

SERVICES: tuple[MembershipName, ...] = get_args(MembershipName)
SHARES = {".": 0.06, ".d": 0.24, ".d.g": 0.7}
"Of all processes, in each community: about as in section 6.2."
HOME = ".d.g"
SEARCHING = (ReqContact, AnsContact, AskPlaces, Answer)
LOOKING = ", looking"
START_S, SETTLE_S, IDLE_S, AFTER_S = 30.0, 60.0, 10.0, 15.0
NEAR = Latency(median_us=20_000, shape="lognormal", spread=0.3)


class Cost(Struct, frozen=True):
    """Of one service at one size."""

    service: str
    size: int
    upkeep: float
    "Messages per process and second while nothing happens."
    join: float
    "Messages until a newcomer has its place, of all processes together, beyond what its upkeep would have been."
    join_ms: float
    "Until it knows a member of its community: the median."
    search: float
    "Messages to find members of another community."
    above: float
    "Messages to find the nearest populated topic above three empty ones."
    above_ms: float
    lonely: int
    "Processes that had found nobody when it was over."
    entries: float
    "Peers in a process's tables."
    stored: float
    "Registrations of others that it holds."


class Counting(Watcher):
    """What was sent, and why: by a process that has just begun something, by one that searches, and what follows from
    that, message by message. And when each found what it looked for."""

    def __init__(self) -> None:
        self.all = 0
        self.caused: dict[str, int] = {}
        "Messages, by their cause."
        self.of: dict[int, tuple[Message, str]] = {}
        "The message is kept, or another one would get its number."
        self.busy: dict[Peer, tuple[str, int]] = {}
        self.waiting: dict[Peer, tuple[int, Callable[[], object]]] = {}
        self.took_us: list[int] = []

    def sent(self, sender: Peer, target: Peer, message: Message) -> None:
        self.all += 1
        if (known := self.of.get(id(message))) is not None:
            cause = known[1]
            self.caused[cause] = self.caused.get(cause, 0) + 1
            if isinstance(message, SEARCHING):
                self.caused[cause + LOOKING] = self.caused.get(cause + LOOKING, 0) + 1

    def stepped(self, peer: Peer, given: Given, effects: list[Effect], now_us: int) -> None:
        self.mark(self.cause(peer, given, now_us), effects)
        if (sought := self.waiting.get(peer)) is not None and sought[1]():
            del self.waiting[peer]
            self.took_us.append(now_us - sought[0])

    def cause(self, peer: Peer, given: Given, now_us: int) -> str | None:
        began = self.busy.get(peer)
        if began is not None and now_us - began[1] < AFTER_S * 1e6:
            return began[0]
        known = self.of.get(id(given.message)) if type(given) is Received else None
        return None if known is None else known[1]

    def mark(self, cause: str | None, effects: Iterable[Effect]) -> None:
        if cause is not None:
            self.of.update({id(each.message): (each.message, cause) for each in effects if type(each) is Send})


class Processes:
    """Those of one network, without events."""

    def __init__(self, service: MembershipName, seed: int) -> None:
        self.seed = seed
        self.world = World(lambda me: camcast_node(me, seed, membership=service), Network(seed, NEAR))
        self.counting = Counting()
        self.world.watch(self.counting)

    def node(self, peer: Peer) -> Stack:
        machine = self.world.machines[peer]
        assert isinstance(machine, Stack)
        return machine

    def start(self, peer: Peer, topic: Topic) -> None:
        up = [*self.world.up]
        self.world.start(peer, [up[i] for i in distinct(fold(self.seed, peer), len(up), 3)])
        self.world.give(peer, Subscribe(topic))

    def run(self, seconds: float) -> None:
        self.world.run(self.world.now_us + round(seconds * 1e6))

    def each(self, within_s: float, acts: Sequence[Callable[[], object]]) -> None:
        """Does these one after the other, evenly."""
        for place, act in enumerate(acts):
            self.world.at(self.world.now_us + round(within_s * 1e6 * place / len(acts)), act)
        self.run(within_s)

    def join(self, peer: Peer, topic: Topic) -> None:
        """Somebody new."""
        self.counting.busy[peer] = ("join", self.world.now_us)
        self.start(peer, topic)
        self.counting.waiting[peer] = (self.world.now_us, partial(member, self.node(peer), topic))

    def climb(self, peer: Peer, topic: Topic) -> None:
        """Somebody who has its place subscribes where nobody is, nor above."""
        self.counting.busy[peer] = ("above", self.world.now_us)
        self.counting.waiting[peer] = (self.world.now_us, partial(above, self.node(peer), topic))
        self.world.give(peer, Subscribe(topic))

    def look(self, peer: Peer, topic: Topic) -> None:
        node = self.node(peer)
        assert node.contacts is not None
        node.now_us = self.world.now_us
        node.contacts.ask([topic])
        effects = node.out.take()
        self.counting.mark("search", effects)
        self.world.perform(peer, effects)


def member(node: Stack, topic: Topic) -> bool:
    return node.members is not None and bool(node.members.about(topic))


def above(node: Stack, topic: Topic) -> bool:
    return node.links is not None and any(node.links.tables(topic))


def topic_of(seed: int, peer: Peer) -> Topic:
    left = draw(fold(fold(seed, PUBLISH), peer), 0) / 2**64
    for topic, share in SHARES.items():
        left -= share
        if left < 0:
            return topic
    return HOME


def known(node: Stack, topic: Topic) -> tuple[int, int]:
    """Peers in its tables, and registrations that it holds."""
    assert node.members is not None
    assert node.links is not None
    tables = len(node.members.about(topic)) + sum(map(len, node.links.tables(topic)))
    match node.contacts:
        case PGrid() as grid:
            return tables + len(grid.trie.level_of), len(grid.store)
        case Search() as search:
            return tables + len(search.acquaintances), 0
    raise TypeError(f"{node.contacts} is no service of these")


def measure(service: MembershipName, size: int, seed: int) -> Cost:
    town = Processes(service, seed)
    counting, few = town.counting, max(10, size // 50)
    town.each(START_S, [partial(town.start, peer, topic_of(seed, peer)) for peer in range(size)])
    town.run(SETTLE_S)
    entries, stored = zip(*(known(town.node(peer), topic_of(seed, peer)) for peer in range(size)), strict=True)
    before = counting.all
    town.run(IDLE_S)
    upkeep = (counting.all - before) / IDLE_S / size
    askers = [peer for peer in range(size) if topic_of(seed, peer) == HOME]
    chosen = [askers[i] for i in distinct(fold(seed, 7), len(askers), few)]
    town.each(5.0, [partial(town.look, peer, ".") for peer in chosen])
    town.each(10.0, [partial(town.join, peer, HOME) for peer in range(size, size + few)])
    town.run(AFTER_S)
    join_us, counting.took_us = counting.took_us, []
    town.each(10.0, [partial(town.climb, peer, f".e{peer}.a.b.c") for peer in chosen])
    town.run(AFTER_S)
    caused = {why: count / few for why, count in counting.caused.items()}
    return Cost(
        service, size, upkeep, caused["join"] - upkeep * AFTER_S, median(join_us) / 1e3, caused["search" + LOOKING],
        caused["above" + LOOKING], median(counting.took_us) / 1e3, len(counting.waiting), fmean(entries), fmean(stored),
    )  # fmt: skip


def table(costs: Sequence[Cost]) -> Table:
    head = ["service", "processes", "upkeep", "join", "first member, ms", "search", "above three empty topics",
            "first contact above, ms", "alone", "entries", "registrations"]  # fmt: skip
    rows = [
        [each.service, f"{each.size:,}", *map(number, (each.upkeep, each.join, each.join_ms, each.search, each.above,
         each.above_ms)), str(each.lonely), *map(number, (each.entries, each.stored))]
        for each in costs
    ]  # fmt: skip
    note = "Messages, but for times and tables. Upkeep: per process and second. Above: within a quarter of a minute."
    return Table("What membership costs", head, rows, note)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, action="append", help="processes; repeatable (100 and 1000)")
    parser.add_argument("--service", choices=SERVICES, action="append", help="this one alone; repeatable")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("out/bench"), help="folder for membership.md")
    options = parser.parse_args()
    sizes = options.size or [100, 1000]
    if min(sizes) < 50:
        parser.error("--size must be at least 50: the smallest community has a twentieth of it")
    console = Console(width=160)
    costs = []
    for size in sizes:
        for service in options.service or SERVICES:
            with console.status(f"{service}, {size:,} processes"):
                costs.append(measure(service, size, options.seed))
    console.print(shown(table(costs)))
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "membership.md").write_text("\n".join(markdown(table(costs))) + "\n")


if __name__ == "__main__":
    main()
