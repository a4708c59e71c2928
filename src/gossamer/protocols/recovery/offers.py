"""Push digests besides pulling: now and then, while there is news. A community that never got an event cannot miss it,
so somebody has to tell it."""

from collections.abc import Callable

from msgspec import Struct

from gossamer.core.draws import ROUND
from gossamer.core.patterns import Pattern
from gossamer.core.roles import Ground
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.protocols.recovery import rules
from gossamer.protocols.recovery.params import Params
from gossamer.protocols.recovery.rounds import Rounds


class Offer(Struct, frozen=True):
    """Timer: tell of what is held."""

    due_us: int


class Offers:
    """One pattern at a time, of those whose parameters ask for it. The shortest of their times counts."""

    def __init__(self, node: Stack, ground: Ground, rounds: Rounds, params: Callable[[Topic], Params]) -> None:
        self.node, self.ground, self.rounds, self.params = node, ground, rounds, params
        self.least_us = 0
        "Time between two digests while there is news; 0: there are none."
        self.interval_us = 0
        self.due_us: int | None = None
        self.calm = False
        "Whether news should make haste."
        self.news = False
        rounds.answering.wanted.append(lambda pattern: self.heard_news())

    def known(self) -> list[Pattern]:
        return [pattern for pattern in self.ground.known() if self.params(pattern.topic).push_every_us]

    def open(self) -> None:
        """Our patterns changed, or the node started."""
        self.least_us = min((self.params(pattern.topic).push_every_us for pattern in self.known()), default=0)
        if self.least_us and self.due_us is None:
            self.interval_us = self.least_us
            self.wait()

    def heard_news(self) -> None:
        """Something new is held, or was wanted."""
        self.news = True
        if not self.least_us:
            self.open()
        elif self.calm:
            self.calm = False
            self.interval_us = self.least_us
            self.wait()

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
        known = self.known()
        if not known or not self.least_us:
            self.least_us = 0
            return
        number = rules.OFFERS + max(0, rules.round_at(timer.due_us, self.origin_us(), self.least_us))
        patience_us = min(self.params(pattern.topic).patience_us for pattern in known)
        self.rounds.offer(known, number, self.node.key(ROUND, number), self.node.now_us - patience_us)
        self.interval_us = rules.next_interval(self.interval_us, self.least_us, self.news)
        self.calm, self.news = not self.news, False
        self.wait()
