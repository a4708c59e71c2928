"""Push digests besides pulling: now and then, while there is news. A community that never got an event cannot miss it,
so somebody has to tell it."""

from collections.abc import Callable

from msgspec import Struct

from gossamer.core.draws import ROUND
from gossamer.core.ids import EventId
from gossamer.core.patterns import Pattern
from gossamer.core.roles import Ground
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.protocols.recovery import rules
from gossamer.protocols.recovery.params import Params
from gossamer.protocols.recovery.rounds import Rounds

LOOK_EVERY_US = 1_000_000
"How often a node that has nobody to tell looks whether that changed."
TIMES = 8
"How many digests tell of an event before it is old news: each goes to a few, and some are lost."
TOLD_MAX = 10_000


class Offer(Struct, frozen=True):
    """Timer: tell of what is held."""

    due_us: int


class Offers:
    """One pattern at a time, of those whose parameters ask for it: one with news, if there are any. The shortest of
    their times counts."""

    def __init__(self, node: Stack, ground: Ground, rounds: Rounds, params: Callable[[Topic], Params]) -> None:
        self.node, self.ground, self.rounds, self.params = node, ground, rounds, params
        self.least_us = 0
        "Time between two digests while there is news; 0: there are none."
        self.interval_us = 0
        self.due_us: int | None = None
        self.told: dict[int, tuple[EventId, int]] = {}
        "The newest event told of, and how many times, by pattern."
        self.calm = True
        "Whether news should make haste,"
        self.look_us = 0
        "from then on."
        rounds.answering.wanted.append(lambda pattern: self.heard_news())

    def known(self) -> list[Pattern]:
        return [pattern for pattern in self.ground.known() if self.params(pattern.topic).push_every_us]

    def open(self) -> None:
        """Our patterns changed, or there is something to tell for the first time."""
        self.measure()
        if self.least_us and self.due_us is None:
            self.interval_us = self.least_us
            self.wait()

    def measure(self) -> None:
        self.least_us = min((self.params(pattern.topic).push_every_us for pattern in self.known()), default=0)

    def heard_news(self) -> None:
        """Something new is held, or was wanted."""
        if not self.least_us:
            self.open()
            self.look_us = self.node.now_us + LOOK_EVERY_US
        elif self.calm:
            self.interval_us = self.least_us
            self.wait()
        self.calm = not self.least_us

    def origin_us(self) -> int:
        return self.rounds.started_us + int(rules.phase(self.node.key(ROUND, 0), self.least_us))

    def wait(self) -> None:
        now_us = self.node.now_us
        self.due_us = rules.next_round_us(now_us, self.origin_us(), self.least_us) + self.interval_us - self.least_us
        self.node.out.timer(self.due_us - now_us, Offer(self.due_us))

    def on_offer(self, timer: Offer) -> None:
        if self.due_us != timer.due_us:
            return
        self.due_us = None
        self.measure()
        if not self.least_us:
            return
        newest = self.newest()
        self.tell(self.news(newest) or [*newest], timer.due_us)
        busy = bool(self.news(newest))
        self.interval_us = rules.next_interval(self.interval_us, self.least_us, busy)
        self.calm, self.look_us = not busy, 0
        self.wait()

    def news(self, newest: dict[Pattern, EventId]) -> list[Pattern]:
        """Patterns of which the newest event was not told often enough."""
        return [
            pattern for pattern, event_id in newest.items() if self.told.get(pattern.signature) != (event_id, TIMES)
        ]

    def newest(self) -> dict[Pattern, EventId]:
        """The last event held of each pattern, of those of which there is any."""
        held = {pattern: self.rounds.holding.newest(pattern.signature) for pattern in self.known()}
        return {pattern: event_id for pattern, event_id in held.items() if event_id is not None}

    def tell(self, patterns: list[Pattern], due_us: int) -> None:
        number = rules.OFFERS + rules.round_at(due_us, self.origin_us(), self.least_us)
        patience_us = max((self.params(pattern.topic).patience_us for pattern in patterns), default=0)
        key = self.node.key(ROUND, number)
        digest = self.rounds.offer(patterns, number, key, self.node.now_us - patience_us)
        if digest is not None:
            if len(self.told) >= TOLD_MAX:
                self.told.clear()
            last, times = self.told.get(digest.pattern.signature, (None, 0))
            times = min(TIMES, times + 1) if last == digest.ids[-1] else 1
            self.told[digest.pattern.signature] = (digest.ids[-1], times)
