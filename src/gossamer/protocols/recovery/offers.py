"""Push digests besides pulling: now and then, while there is news. A community that never got an event cannot miss it,
so somebody has to tell it."""

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from gossamer.core.draws import ROUND, fold
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
DRAWN = 8
"Where there is no news, draws among the patterns of what is held, until one is known to be told of."


class Offer(Struct, frozen=True):
    """Timer: tell of what is held."""

    due_us: int


class Offers:
    """One pattern at a time, of those whose parameters ask for it: one with news, if there are any. The shortest of
    their times counts. What it takes does not depend on how many there are."""

    def __init__(
        self, node: Stack, ground: Ground, holding: Holding, pushing: Pushing, params: Callable[[Topic], Params]
    ) -> None:
        self.node, self.ground, self.params = node, ground, params
        self.holding, self.pushing = holding, pushing
        self.pulse = Pulse(node, Offer, 0)
        "Its least interval is 0 where nobody is to be told anything."
        self.known: Sequence[Pattern] = ()
        "All patterns, when this was last looked at,"
        self.offered: dict[int, Pattern] = {}
        "and those of them that are told of."
        self.news: dict[int, None] = {}
        "Those of which the newest event was not told often enough;"
        self.turns: list[int] = []
        "and those of them whose turn has not come yet in this round, some perhaps without news by now."
        self.told: dict[int, tuple[EventId, int]] = {}
        "The newest event told of, and how many times, by pattern."
        self.calm = True
        "Whether news should make haste,"
        self.look_us = 0
        "from then on."

    def open(self, topics: Sequence[Topic] | None = None) -> None:
        """There is something to tell for the first time, or patterns of these topics came to ours."""
        if topics is None:
            self.known = ()  # parameters may have changed
            self.look()
        else:
            times = [self.pulse.least_us, *(self.params(topic).push_every_us for topic in topics)]
            self.pulse.pace(min(filter(None, times), default=0))
        if self.pulse.least_us and self.pulse.due_us is None:
            self.pulse.hurry()

    def look(self) -> None:
        """Sees which patterns there are, if these are others than before, and what is new of them."""
        known = self.ground.known()
        if known is not self.known:
            self.known = known
            before = self.offered
            topics = dict.fromkeys([each.topic for each in known])
            every_us = {topic: self.params(topic).push_every_us for topic in topics}
            self.offered = {each.signature: each for each in known if every_us[each.topic]}
            self.pulse.pace(min(filter(None, every_us.values()), default=0))
            self.add(each for each in self.holding.patterns() if each in self.offered and each not in before)
        self.add(self.holding.news())

    def add(self, signatures: Iterable[int]) -> None:
        fresh = [each for each in signatures if each not in self.news]
        self.news.update(dict.fromkeys(fresh))
        self.turns += fresh

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
        self.look()
        if not self.pulse.least_us:
            return
        number = rules.OFFERS + self.pulse.number(timer.due_us)
        pattern = self.choose(self.node.key(ROUND, number))
        if pattern is not None:
            self.tell(pattern, number)
        self.pulse.busy = bool(self.news)
        self.calm, self.look_us = not self.pulse.busy, 0
        self.pulse.slow_down()
        self.pulse.wait()

    def choose(self, key: int) -> Pattern | None:
        """One that is drawn: of those with news, if there are any, each once in a round. Who draws the same again may
        pass over for long what nobody else has; who takes them as they stand tells one neighbour everything first."""
        while self.news:
            self.turns = self.turns or [*self.news]
            drawn = rules.choice(fold(key, len(self.turns)), len(self.turns))
            signature, self.turns[drawn] = self.turns[drawn], self.turns[-1]
            self.turns.pop()
            if self.is_news(signature):
                return self.offered[signature]
            self.news.pop(signature, None)
        held = self.holding.patterns()
        for drawn in range(DRAWN if held else 0):
            signature = held[rules.choice(fold(key, drawn), len(held))]
            if signature in self.offered:
                return self.offered[signature]
        return None

    def is_news(self, signature: int) -> bool:
        newest = self.holding.newest(signature) if signature in self.offered else None
        return newest is not None and self.told.get(signature) != (newest, TIMES)

    def tell(self, pattern: Pattern, number: int) -> None:
        until_us, signature = self.node.now_us - self.params(pattern.topic).patience_us, pattern.signature
        digest = self.pushing.tell_of(pattern, number, until_us)
        if digest is not None:
            if len(self.told) >= TOLD_MAX:
                self.told.clear()
            last, times = self.told.get(signature, (None, 0))
            times = min(TIMES, times + 1) if last == digest.ids[-1] else 1
            self.told[signature] = (digest.ids[-1], times)
            if not self.is_news(signature):
                self.news.pop(signature, None)
