"""Logs in memory: every process keeps what is delivered to it or relayed, as a live node does in its spool."""

from collections.abc import Iterable, Sequence

from gossamer.core.events import Event
from gossamer.core.ids import Peer
from gossamer.core.machine import (
    Deliver,
    Effect,
    FromLog,
    Given,
    GivenUp,
    Logged,
    Pruned,
    ReadLog,
    Relayed,
    Run,
    Settled,
)
from gossamer.parts.ordinals import Ordinals
from gossamer.protocols.catchup.messages import Stream
from gossamer.protocols.catchup.rules import by_stream, runs_of
from gossamer.sim.world import Watcher, World

ANSWER_BYTES = 256 << 10
"Read at once, and one event at least."


class Log:
    """One process's. It outlives the process."""

    def __init__(self) -> None:
        self.events: dict[tuple[Stream, int], Event] = {}
        self.done: dict[Stream, Ordinals] = {}
        "What need not be asked for: pruned, given up, or known to be here if it is wanted."

    def keep(self, event: Event) -> Run:
        stream = Stream(event.topic, event.id.publisher, event.id.incarnation)
        self.events[stream, event.ordinal] = event
        return runs_of(stream, [(event.ordinal, event.ordinal)])[0]

    def settle(self, runs: Iterable[Run]) -> None:
        for stream, ordinals in by_stream(runs).items():
            self.done.setdefault(stream, Ordinals()).add_all(ordinals)

    def prune(self, runs: Sequence[Run]) -> None:
        self.settle(runs)
        for stream, ordinals in by_stream(runs).items():
            for first, last in ordinals:
                for ordinal in range(first, last + 1):
                    self.events.pop((stream, ordinal), None)

    def held(self) -> list[Run]:
        found: dict[Stream, Ordinals] = {}
        for stream, ordinal in sorted(self.events):
            found.setdefault(stream, Ordinals()).add(ordinal, ordinal)
        return runs_all(found)

    def gone(self) -> list[Run]:
        return runs_all(self.done)

    def read(self, runs: Sequence[Run]) -> tuple[list[Event], list[Run]]:
        """Events of these runs, and what was too much."""
        found: list[Event] = []
        room = ANSWER_BYTES
        for number, run in enumerate(runs):
            stream = Stream(run.topic, run.publisher, run.incarnation)
            for ordinal in range(run.first, run.last + 1):
                event = self.events.get((stream, ordinal))
                room -= 0 if event is None else len(event.payload)
                if found and room < 0:
                    return found, [*runs_of(stream, [(ordinal, run.last)]), *runs[number + 1 :]]
                found += [] if event is None else [event]
        return found, []


class Logs(Watcher):
    """Of all processes. `gaps`: what each was told that nobody has any more."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.of: dict[Peer, Log] = {}
        self.gaps: dict[Peer, list[GivenUp]] = {}

    def log(self, peer: Peer) -> Log:
        return self.of.setdefault(peer, Log())

    def remember(self, peer: Peer) -> None:
        """A process that came back is told what its former life kept."""
        log = self.log(peer)
        self.world.give(peer, Pruned(tuple(log.gone())))
        self.world.give(peer, Logged(tuple(log.held()), former=True))

    def prune(self, peer: Peer, runs: Sequence[Run]) -> None:
        self.log(peer).prune(runs)
        self.world.give(peer, Pruned(tuple(runs)))

    def stepped(self, peer: Peer, given: Given, effects: list[Effect], now_us: int) -> None:
        kept: list[Run] = []
        for effect in effects:
            if (type(effect) is Deliver or type(effect) is Relayed) and effect.event.ordinal:
                kept.append(self.log(peer).keep(effect.event))
            elif type(effect) is ReadLog:
                events, left = self.log(peer).read(effect.runs)
                self._give(peer, FromLog(effect.peer, effect.number, tuple(events), left=tuple(left)))
            elif type(effect) is GivenUp:
                self.gaps.setdefault(peer, []).append(effect)
                self.log(peer).prune([effect.run])
            elif type(effect) is Settled:
                self.log(peer).settle(effect.runs)
        if kept:
            self._give(peer, Logged(tuple(runs_all(by_stream(kept)))))

    def _give(self, peer: Peer, given: Given) -> None:
        life = self.world.lives[peer]
        self.world.at(
            self.world.now_us, lambda: self.world.give(peer, given) if self.world.is_alive(peer, life) else None
        )


def runs_all(streams: dict[Stream, Ordinals]) -> list[Run]:
    return [run for stream, ordinals in streams.items() for run in runs_of(stream, ordinals)]
