"""What is sent, and how far ahead of the slowest subscriber: the same for every system.

The publisher takes its bodies from a ring that is made before the clock runs, so that making them costs nobody
anything. The ring holds as many bodies as the window has room for: no two messages under way look alike, and every
loss and every duplicate can be told by counting.
"""

import struct
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

HEAD = struct.Struct("<IIq")
"Phase, slot in the ring, and the monotonic time in ns if latency is measured."
HELLO = 0
"The phase of greetings, before anything is measured."
WINDOW = 8192
WINDOW_BYTES = 8 << 20
"Under way at most. A broker keeps this much for a slow reader, and a queue that never drops stays small."
STEPS = 8
"How often a subscriber says how far it is, per window."
BURST = 256
BURST_BYTES = 1 << 20
"Handed to a system at a time."
NEVER = 1 << 62


class Phase(Struct, frozen=True):
    """A stretch of traffic that is measured."""

    number: int
    size: int
    "Bytes of a body."
    count: int
    "Messages."
    rate: float = 0.0
    "Messages per second, each with the time in it; 0: as fast as the system takes them."

    @property
    def timed(self) -> bool:
        return self.rate > 0

    @property
    def window(self) -> int:
        return max(STEPS, min(WINDOW, WINDOW_BYTES // self.size))

    @property
    def burst(self) -> int:
        return max(1, min(BURST, BURST_BYTES // self.size, self.window // 4))


def body(phase: int, slot: int, size: int, at_ns: int = 0) -> bytes:
    head = HEAD.pack(phase, slot, at_ns)
    return head + bytes(max(0, size - len(head)))


def ring(phase: Phase) -> list[bytes]:
    return [body(phase.number, slot, phase.size) for slot in range(min(phase.window, phase.count))]


class Window:
    """How far the publisher may go: never more than `size` messages beyond the slowest subscriber."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.end = size

    def room(self, sent: int) -> int:
        return max(0, self.end - sent)

    def move(self, reached: int) -> None:
        """The slowest subscriber has this many."""
        self.end = max(self.end, reached + self.size)


class Progress:
    """How many messages each subscriber has; what counts is the slowest."""

    def __init__(self, subscribers: int) -> None:
        self.got = [0] * subscribers
        self.slowest = 0

    def note(self, subscriber: int, got: int) -> bool:
        """Whether the slowest came further."""
        self.got[subscriber] = got
        before, self.slowest = self.slowest, min(self.got)
        return self.slowest > before


class Received(Struct, frozen=True):
    """What one subscriber got of a phase."""

    received: int
    "Different messages."
    duplicates: int
    strays: int
    "Of another phase."
    latencies_us: list[float]


def told_apart(phase: Phase, heads: Sequence[bytes], times_ns: Sequence[int]) -> Received:
    """Counts arrivals by slot: every slot is used equally often, but for the last lap of the ring."""
    seen: Counter[int] = Counter()
    strays = 0
    latencies = []
    for position, head in enumerate(heads):
        number, slot, at_ns = HEAD.unpack(head)
        if number != phase.number:
            strays += 1
            continue
        seen[slot] += 1
        if phase.timed and position < len(times_ns):
            latencies.append((times_ns[position] - at_ns) / 1e3)
    laps, rest = divmod(phase.count, phase.window)
    wanted = {slot: laps + (slot < rest) for slot in seen}
    return Received(
        received=sum(min(count, wanted[slot]) for slot, count in seen.items()),
        duplicates=sum(max(0, count - wanted[slot]) for slot, count in seen.items()),
        strays=strays,
        latencies_us=latencies,
    )


class Reader:
    """A subscriber's side of the measurement. A system calls `ready` once it is subscribed, then `take` for each body.

    `take` runs once per delivery, in the measured time of every system alike: it does as little as can be.
    """

    def __init__(self, say: Callable[[str, Any], None]) -> None:
        self.say = say
        self.counters: Callable[[], dict[str, int]] = dict
        "What else the system counts; a system may set it."
        self.phase: Phase | None = None
        self.step = 1
        self._clear(mark=1)

    def _clear(self, mark: int) -> None:
        self.mark = NEVER
        self.heads: list[bytes] = []
        self.times_ns: list[int] = []
        self.mark = mark

    def ready(self) -> None:
        self.say("ready", None)

    def take(self, message: bytes) -> None:
        heads = self.heads
        heads.append(message[:16])
        if len(heads) >= self.mark:
            self._reached(len(heads))

    def begin(self, phase: Phase) -> None:
        self.phase = phase
        self.step = 1 if phase.timed else max(1, phase.window // STEPS)
        self._clear(mark=min(self.step, phase.count))

    def _reached(self, count: int) -> None:
        now_ns = time.monotonic_ns()
        if self.phase is None:
            self._greeted()
            return
        if self.phase.timed:
            self.times_ns.append(now_ns)
        if count >= self.phase.count:
            self.mark = NEVER
            self.say("done", now_ns)
            return
        self.mark = min(count + self.step, self.phase.count)
        if not self.phase.timed:
            self.say("got", count)

    def _greeted(self) -> None:
        for head in self.heads:
            self.say("heard", HEAD.unpack(head)[1])
        self._clear(mark=1)

    def told(self) -> Received:
        if self.phase is None:
            return Received(0, 0, 0, [])
        return told_apart(self.phase, self.heads, self.times_ns)
