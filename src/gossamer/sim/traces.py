"""What happens in a world, written as its processes would write it themselves if they were live nodes: `gossamer audit`
reads the one like the other.

A watcher from outside, for machines only say what is to be done. Times are the world's; whoever crashes leaves an open
file and no last word. Attributes stand as they are: nobody's secret is in a simulation.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from gossamer.core.errors import Misuse
from gossamer.core.events import Attribute
from gossamer.core.ids import Peer
from gossamer.core.machine import SECOND_US, Effect, Given, Leave, Message, Received, Started, Subscribe
from gossamer.core.messages import Carrier
from gossamer.core.stack import Stack
from gossamer.core.trace import FULL_ONLY, Head, Kind, Level
from gossamer.parts.telling import Telling
from gossamer.sim.world import Watcher, World
from gossamer.wire import values
from gossamer.wire.segment import OPEN, SEALED, opening, records

ROWS_MAX = 1000
"Rows of a life that wait for its file."


class LifeTrace:
    """The file of one life."""

    def __init__(self, folder: Path, head: Head) -> None:
        self.path = folder / f"{head.name}-{head.incarnation}-0{OPEN}"
        self.not_kept = FULL_ONLY if head.level == "deliveries" else frozenset[str]()
        self.rows: list[tuple[Any, ...]] = []
        self.seq = 0
        self.telling = Telling(self.row)
        self.path.write_bytes(opening(head))

    def row(
        self,
        kind: Kind,
        at_us: int,
        peer: int | None = None,
        topic: str | None = None,
        publisher: int | None = None,
        incarnation: int | None = None,
        sequence: int | None = None,
        hops: int | None = None,
        bytes: int | None = None,
        detail: str | None = None,
        attributes: Mapping[str, Attribute] | None = None,
    ) -> None:
        if kind in self.not_kept:
            return
        told = None if attributes is None else values.encoded({**attributes})
        columns = (peer, topic, publisher, incarnation, sequence, hops, bytes, detail, told)
        self.rows.append((self.seq, at_us, kind, *columns))
        self.seq += 1
        if len(self.rows) >= ROWS_MAX:
            self.write()

    def write(self) -> None:
        if self.rows:
            with self.path.open("ab") as file:
                file.write(records(self.rows))
            self.rows.clear()

    def seal(self) -> None:
        self.write()
        self.path.rename(self.path.with_suffix(SEALED))


class WorldTraces(Watcher):
    """Watches a world from its beginning. `by_birth`: a life is called by the time it began, as where processes have a
    log; else by its number."""

    def __init__(
        self, world: World, folder: Path, run: str, *, level: Level = "deliveries", by_birth: bool = False
    ) -> None:
        if world.machines or world.lives:
            raise Misuse("a world is traced from its beginning: watch it before anybody starts")
        self.world, self.folder, self.run, self.level, self.by_birth = world, folder, run, level, by_birth
        self.lives: dict[Peer, LifeTrace] = {}
        self._pulse_us = SECOND_US
        self._encoder = msgspec.msgpack.Encoder()
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise Misuse(f"{folder} is not empty: name another folder for the traces of this run")
        world.watch(self)

    def sent(self, sender: Peer, target: Peer, message: Message) -> None:
        if self.level == "full" and isinstance(message, Carrier) and (life := self.lives.get(sender)) is not None:
            self._copies(life, "send", target, message)

    def stepped(self, peer: Peer, given: Given, effects: list[Effect], now_us: int) -> None:
        self._pulse(now_us)
        if type(given) is Started:
            self._begin(peer, now_us)
        life = self.lives[peer]
        if type(given) is Subscribe:
            self._join(life, peer, given, now_us)
        if self.level == "full" and type(given) is Received and isinstance(given.message, Carrier):
            self._copies(life, "receive", given.peer, given.message)
        life.telling.effects(now_us, given, effects)
        if type(given) is Leave:
            self.lives.pop(peer).seal()

    def crashed(self, peer: Peer, now_us: int) -> None:
        self._pulse(now_us)
        if (life := self.lives.pop(peer, None)) is not None:
            life.write()

    def close(self) -> None:
        """The run is over; whoever is up then lives on, as far as anybody knows."""
        self._pulse(self.world.now_us)
        for life in self.lives.values():
            life.row("alive", self.world.now_us)
            life.write()
        self.lives.clear()

    def _begin(self, peer: Peer, now_us: int) -> None:
        former = self.lives.pop(peer, None)
        if former is not None:
            former.write()
        incarnation = now_us + 1 if self.by_birth else self.world.lives[peer]
        head = Head(
            self.run,
            peer,
            name=str(peer),
            incarnation=incarnation,
            level=self.level,
            host="simulated",
            offset_us=0,
            values="plain",
        )
        self.lives[peer] = LifeTrace(self.folder, head)

    def _join(self, life: LifeTrace, peer: Peer, given: Subscribe, now_us: int) -> None:
        """Who asks for a part where filters are no matter of the spread is a member for all of it, and carries it."""
        node = self.world.machines[peer]
        if given.where and isinstance(node, Stack) and not node.interest.by_content:
            life.row("relay", now_us, topic=given.topic)

    def _copies(self, life: LifeTrace, kind: Kind, other: Peer, message: Carrier) -> None:
        carried = message.carried
        size = len(self._encoder.encode(message)) // len(carried.events)
        for event in carried.events:
            life.telling.copy(kind, self.world.now_us, other, event.id, carried.hops, event.topic, size)

    def _pulse(self, now_us: int) -> None:
        """Every second each tells that it is there."""
        while self._pulse_us <= now_us:
            for life in self.lives.values():
                life.row("alive", self._pulse_us)
            self._pulse_us += SECOND_US
