"""What a digest tells of is asked for until it comes: the request or the answer may be lost, and where there is no news
the next digest may be half a minute away."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from msgspec import Struct

from gossamer.core.ids import EventId
from gossamer.core.layer import Bound
from gossamer.core.machine import SECOND_US
from gossamer.core.patterns import Pattern
from gossamer.core.roles import Ground
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.parts.awaited import AWAITED_MAX, Awaited
from gossamer.protocols.recovery.messages import DIGEST_MAX, Digest, Want
from gossamer.protocols.recovery.params import Params
from gossamer.protocols.recovery.reading import Reading

AGAIN_US = SECOND_US // 2
"How long an answer may take before the next who has the event is asked. What gaps show is mostly found by then."

ReadSince: TypeAlias = tuple[Pattern, int]
"What our users read, and since when: who subscribes anew did not ask for what was told of before."


class WantAgain(Struct, frozen=True):
    """Timer: ask for what was told of and did not come."""


class Asking:
    """By id, of those who said that they have it."""

    def __init__(self, node: Stack, ground: Ground, reading: Reading, params: Callable[[Topic], Params]) -> None:
        self.node, self.ground, self.reading, self.params = node, ground, reading, params
        self.awaited: Awaited[ReadSince] = Awaited()
        self.timed = False
        "Whether a timer is set."

    def bounds(self) -> Iterator[Bound]:
        yield "events told of that did not come", len(self.awaited), AWAITED_MAX

    def lives_by(self) -> Iterator[Struct]:
        if len(self.awaited):
            yield WantAgain()

    def heard(self, digest: Digest) -> None:
        """Asks at once; and again, unless digests are all that is said: then the next one is soon."""
        pattern, holder, since_us = digest.pattern, digest.initiator, self.since_us(digest.pattern)
        if since_us is None:
            return
        missing = self.reading.missing(digest.ids, digest.ages_us, since_us)
        if missing:
            self.node.out.send([holder], Want(pattern, missing))
        if self.params(pattern.topic).push_every_us:
            for event_id in missing:
                self.awaited.add(event_id, (pattern, since_us), holder, self.node.now_us + AGAIN_US)
            self.go_on()

    def since_us(self, pattern: Pattern) -> int | None:
        """Since when our users read it; None: they do not."""
        if self.params(pattern.topic).method == "none" or not self.ground.wants(pattern):
            return None
        return self.reading.since_us(pattern.topic) or 0

    def on_want_again(self, timer: WantAgain) -> None:
        self.timed = False
        now_us = self.node.now_us
        for holder, (pattern, _), ids in self.awaited.ask(now_us, now_us + AGAIN_US, DIGEST_MAX, self.is_missing):
            self.node.out.send([holder], Want(pattern, ids))
        self.go_on()

    def is_missing(self, event_id: EventId, read: ReadSince) -> bool:
        pattern, since_us = read
        return not self.node.knows(event_id) and self.since_us(pattern) == since_us

    def go_on(self) -> None:
        due_us = self.awaited.next_us()
        if due_us is not None and not self.timed:
            self.timed = True
            self.node.out.timer(max(1, due_us - self.node.now_us), WantAgain())
