"""What happens in the demo: who is there, who publishes, who is killed, who comes late, who comes back.

Drawn from a seed before anything starts, so that two people can talk about the same run.
"""

from itertools import chain
from random import Random

from msgspec import Struct

TOPIC = ".news.sport.soccer"
"What is published on: the bottom of the hierarchy."


class Level(Struct, frozen=True):
    """A community, and what becomes of it."""

    word: str
    "What its nodes are called by."
    topic: str
    size: int
    killed: int
    late: int = 0


FULL = (
    Level("soccer", TOPIC, size=20, killed=4, late=1),
    Level("sport", ".news.sport", size=7, killed=1, late=1),
    Level("news", ".news", size=3, killed=1),
)
"Thirty processes, a fifth of them killed half way."
QUICK = (
    Level("soccer", TOPIC, size=5, killed=1, late=1),
    Level("sport", ".news.sport", size=3, killed=1, late=1),
    Level("news", ".news", size=1, killed=0),
)


class Part(Struct, frozen=True):
    """One node: its name and what it subscribes to."""

    name: str
    topic: str


class Plan(Struct, frozen=True):
    """The whole of it."""

    levels: tuple[Level, ...]
    nodes: tuple[Part, ...]
    "Those that are there from the start."
    seeds: tuple[Part, ...]
    "Of those, the one of each level that the others call first; never killed."
    publishers: tuple[Part, ...]
    "Nodes that clients publish through."
    killed: tuple[Part, ...]
    "Half way, with SIGKILL."
    returning: Part
    "A publisher's node among the killed, started again from its spool."
    late: tuple[Part, ...]
    events: int
    seconds: float
    "How long publishing takes."
    loss: float = 0.0
    "The share of events and messages each node loses."

    @property
    def everybody(self) -> tuple[Part, ...]:
        return (*self.nodes, *self.late)

    def on(self, topic: str) -> int:
        """How many subscribe to it from the start."""
        return sum(1 for part in self.nodes if part.topic == topic)


def draw_plan(levels: tuple[Level, ...], publishers: int, events: int, seconds: float, seed: int) -> Plan:
    """Half of the publishers' nodes are among the killed, as far as there are as many: one comes back, one does not."""
    draws = Random(seed)
    here = [[Part(f"{level.word}-{i}", level.topic) for i in range(1, level.size + 1)] for level in levels]
    late = [Part(f"{level.word}-{level.size + i}", level.topic) for level in levels for i in range(1, level.late + 1)]
    publishing = draws.sample(here[0][1:], publishers)
    doomed = publishing[: max(1, min(publishers, levels[0].killed) // 2)]
    others = [part for part in here[0][1:] if part not in publishing]
    killed = [*doomed, *draws.sample(others, levels[0].killed - len(doomed))]
    for level, parts in zip(levels[1:], here[1:], strict=True):
        killed += draws.sample(parts[1:], level.killed)
    return Plan(
        levels,
        tuple(chain.from_iterable(here)),
        tuple(parts[0] for parts in here),
        tuple(publishing),
        tuple(killed),
        doomed[0],
        tuple(late),
        events,
        seconds,
    )
