"""Journals of simulated networks, written as a live node writes its own."""

from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from gossamer.core.ids import Peer
from gossamer.core.machine import Effect, Given
from gossamer.core.stack import Stack
from gossamer.core.topics import Hierarchy, Topic
from gossamer.protocols import CATALOGUE
from gossamer.protocols.camcast.node import camcast_node
from gossamer.protocols.camcast.params import Params as CamcastParams
from gossamer.protocols.scamp.params import Params as ScampParams
from gossamer.protocols.search.params import Params as SearchParams
from gossamer.sim.town import Town
from gossamer.sim.world import Watcher
from gossamer.wire.journal import Entry, Head, Settings, digest, encoded, entry, kind_of, opening, record, software

PARENTS: dict[Topic, tuple[Topic, ...]] = {".soccer.italy": (".italy",)}
SETTINGS = Settings(CamcastParams.live(), {".soccer": CamcastParams.camcast()}, ScampParams())


def head_of(node: Peer, **other: object) -> Head:
    head = Head(
        network="net",
        name=f"node-{node}",
        node=node,
        incarnation=1_700_000_000_000_000,
        seed=9,
        parents=PARENTS,
        settings=SETTINGS,
        search=SearchParams(),
        gossamer=software(),
    )
    return replace(head, **other)


class Scribe(Watcher):
    """Keeps every entry of every node; topics are spelled backwards."""

    def __init__(self) -> None:
        self.entries: dict[Peer, list[Entry]] = {}
        self.spelled: dict[Peer, dict[Topic, str]] = {}

    def make(self, me: Peer) -> Stack:
        def spell(topic: Topic) -> str:
            return self.spelled.setdefault(me, {}).setdefault(topic, topic[::-1])

        order, recovery = Hierarchy(PARENTS), SETTINGS.recovery_of
        return camcast_node(me, 9, order, SETTINGS.of, SETTINGS.scamp, spell=spell, recovery=recovery)

    def stepped(self, peer: Peer, given: Given, effects: list[Effect], now_us: int) -> None:
        spelled = self.spelled.pop(peer, {})
        told = Entry(now_us, kind_of(given), encoded(given), len(effects), digest(effects) if effects else b"", spelled)
        self.entries.setdefault(peer, []).append(told)


def lived() -> dict[Peer, list[Entry]]:
    """A dozen simulated seconds of six nodes: they join, publish, one crashes, one leaves."""
    scribe = Scribe()
    town = Town(scribe.make, CATALOGUE["camcast"].spoken, 9, loss=0.02)
    town.world.watch(scribe)
    topics: dict[Peer, Topic] = {
        1: ".soccer.italy",
        2: ".soccer.italy",
        3: ".soccer",
        4: ".italy",
        5: ".",
        6: ".soccer",
    }
    for peer, topic in topics.items():
        town.start(peer, topic)
        town.run(0.2)
    for turn in range(8):
        town.run(1)
        for _event in range(8):
            town.publish(1 + turn % 2, ".soccer.italy")
        if turn == 3:
            town.crash(3)
        if turn == 5:
            town.leave(6)
    return scribe.entries


def bytes_of(entries: list[Entry], each_turn: int = 7) -> bytes:
    """Records of so many entries each."""
    told = [entry(e.at_us, e.kind, e.given, e.effects, e.digest, e.spelled, e.error) for e in entries]
    return b"".join(record(told[at : at + each_turn]) for at in range(0, len(told), each_turn))


def write(path: Path, node: Peer, entries: list[Entry], **head: object) -> Path:
    path.write_bytes(opening(head_of(node, **head)) + bytes_of(entries))
    return path


def changed(entries: list[Entry], at: int, change: Callable[[Entry], Entry]) -> list[Entry]:
    """The same with another entry for one step, counted from 1."""
    return [*entries[: at - 1], change(entries[at - 1]), *entries[at:]]
