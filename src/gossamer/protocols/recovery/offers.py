"""Push digests besides pulling: now and then, while there is news. A community that never got an event cannot miss it,
so somebody has to tell it."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from gossamer.core.ids import EventId
from gossamer.core.patterns import Pattern
from gossamer.core.roles import Ground
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.protocols.recovery import rules
from gossamer.protocols.recovery.holding import Holding
from gossamer.protocols.recovery.params import Params
from gossamer.protocols.recovery.pulse import Pulse
from gossamer.protocols.recovery.pushing import Pushing

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

    def __init__(
        self, node: Stack, ground: Ground, holding: Holding, pushing: Pushing, params: Callable[[Topic], Params]
    ) -> None:
        self.node, self.ground, self.params = node, ground, params
        self.holding, self.pushing = holding, pushing
        self.pulse = Pulse(node, Offer, 0)
        "Its least interval is 0 where nobody is to be told anything."
        self.told: dict[int, tuple[EventId, int]] = {}
        "The newest event told of, and how many times, by pattern."
        self.calm = True
        "Whether news should make haste,"
        self.look_us = 0
        "from then on."

    def known(self) -> list[Pattern]:
        return [pattern for pattern in self.ground.known() if self.params(pattern.topic).push_every_us]

    def open(self, topics: Sequence[Topic] | None = None) -> None:
        """There is something to tell for the first time, or patterns of these topics came to ours."""
        if topics is None:
            self.measure()
        else:
            times = [self.pulse.least_us, *(self.params(topic).push_every_us for topic in topics)]
            self.pulse.pace(min(filter(None, times), default=0))
        if self.pulse.least_us and self.pulse.due_us is None:
            self.pulse.hurry()

    def measure(self) -> None:
        self.pulse.pace(min((self.params(pattern.topic).push_every_us for pattern in self.known()), default=0))

    def heard_news(self) -> None:
        """Something new is held, or was wanted."""
        if not self.pulse.least_us:
            self.open()
            self.look_us = self.node.now_us + LOOK_EVERY_US
        elif self.calm:
            self.pulse.hurry()
        self.calm = not self.pulse.least_us

    def on_offer(self, timer: Offer) -> None:
        if not self.pulse.beats(timer.due_us):
            return
        self.measure()
        if not self.pulse.least_us:
            return
        newest = self.newest()
        self.tell(self.news(newest) or [*newest], timer.due_us)
        self.pulse.busy = bool(self.news(newest))
        self.calm, self.look_us = not self.pulse.busy, 0
        self.pulse.slow_down()
        self.pulse.wait()

    def news(self, newest: dict[Pattern, EventId]) -> list[Pattern]:
        """Patterns of which the newest event was not told often enough."""
        return [
            pattern for pattern, event_id in newest.items() if self.told.get(pattern.signature) != (event_id, TIMES)
        ]

    def newest(self) -> dict[Pattern, EventId]:
        """The last event held of each pattern, of those of which there is any."""
        held = {pattern: self.holding.newest(pattern.signature) for pattern in self.known()}
        return {pattern: event_id for pattern, event_id in held.items() if event_id is not None}

    def tell(self, patterns: list[Pattern], due_us: int) -> None:
        patience_us = max((self.params(pattern.topic).patience_us for pattern in patterns), default=0)
        number = rules.OFFERS + self.pulse.number(due_us)
        digest = self.pushing.tell(patterns, number, self.node.now_us - patience_us)
        if digest is not None:
            if len(self.told) >= TOLD_MAX:
                self.told.clear()
            last, times = self.told.get(digest.pattern.signature, (None, 0))
            times = min(TIMES, times + 1) if last == digest.ids[-1] else 1
            self.told[digest.pattern.signature] = (digest.ids[-1], times)
