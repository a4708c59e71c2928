"""Events as bytes, for as long as they may have to be passed on, and what tells two bodies under one id apart."""

from gossamer.core.ids import EventId
from gossamer.wire.frame import packed

REMEMBERED = 100_000
BYTES_MAX = 32 << 20


class Body:
    """A sealed event, and the same as it stands in a batch."""

    __slots__ = ("digest", "packed", "sealed")

    def __init__(self, digest: int, sealed: bytes) -> None:
        self.digest = digest
        self.sealed = sealed
        self.packed = packed(sealed)


class Bodies:
    """Digests of at least the last `REMEMBERED` events met; bodies within a budget of bytes, the latest ones."""

    def __init__(self, bytes_max: int = BYTES_MAX) -> None:
        self.bytes_max = bytes_max
        self.digests: dict[EventId, int] = {}
        self.bodies: dict[EventId, Body] = {}
        self.size = 0

    def add(self, event_id: EventId, digest: int, sealed: bytes) -> None:
        """Only once the proof held: from now on the id stands for this body."""
        digests = self.digests
        digests[event_id] = digest
        if len(digests) > 2 * REMEMBERED:
            for old in list(digests)[:REMEMBERED]:
                del digests[old]
        self.bodies[event_id] = Body(digest, sealed)
        self.size += len(sealed)
        while self.size > self.bytes_max and len(self.bodies) > 1:
            oldest = next(iter(self.bodies))
            self.size -= len(self.bodies.pop(oldest).sealed)

    def get(self, event_id: EventId) -> Body | None:
        return self.bodies.get(event_id)
