"""Events as bytes, for as long as they may have to be passed on, and what tells two bodies under one id apart."""

from gossamer.core.ids import EventId

REMEMBERED = 100_000
BYTES_MAX = 32 << 20


class Body:
    """A sealed event, as it stands in a batch: its bytes behind a header that tells how many."""

    __slots__ = ("digest", "packed", "start")

    def __init__(self, digest: int, sealed: bytes | memoryview) -> None:
        self.digest = digest
        header = bin_header(len(sealed))
        self.start = len(header)
        self.packed = b"".join((header, sealed))

    @property
    def sealed(self) -> bytes:
        return self.packed[self.start :]

    def __len__(self) -> int:
        return len(self.packed) - self.start


def bin_header(size: int) -> bytes:
    """How MessagePack announces so many bytes."""
    if size < 1 << 8:
        return b"\xc4%c" % size
    return b"\xc5" + size.to_bytes(2) if size < 1 << 16 else b"\xc6" + size.to_bytes(4)


class Bodies:
    """Digests of at least the last `REMEMBERED` events met; bodies within a budget of bytes, the latest ones."""

    def __init__(self, bytes_max: int = BYTES_MAX) -> None:
        self.bytes_max = bytes_max
        self.digests: dict[EventId, int] = {}
        self.bodies: dict[EventId, Body] = {}
        self.size = 0

    def add(self, event_id: EventId, digest: int, sealed: bytes | memoryview) -> None:
        """Only once the proof held: from now on the id stands for this body."""
        digests = self.digests
        digests[event_id] = digest
        if len(digests) > 2 * REMEMBERED:
            for old in list(digests)[:REMEMBERED]:
                del digests[old]
        if (before := self.bodies.pop(event_id, None)) is not None:
            self.size -= len(before)
        self.bodies[event_id] = Body(digest, sealed)
        self.size += len(sealed)
        while self.size > self.bytes_max and len(self.bodies) > 1:
            oldest = next(iter(self.bodies))
            self.size -= len(self.bodies.pop(oldest))

    def get(self, event_id: EventId) -> Body | None:
        return self.bodies.get(event_id)
