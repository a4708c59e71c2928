"""Events as bytes, for as long as they may have to be passed on, and what tells two bodies under one id apart."""

from collections.abc import Sequence

from gossamer.core.ids import EventId
from gossamer.wire.pack import Pack

REMEMBERED = 100_000
PACKS_REMEMBERED = 2_000
BYTES_MAX = 32 << 20
BODIES_MAX = 200_000
"An id takes more memory than the smallest events do."


class Body:
    """A sealed event, as it stands in a batch: its bytes behind a header that tells how many."""

    __slots__ = ("leaf", "packed", "start")

    def __init__(self, leaf: bytes, sealed: bytes | memoryview) -> None:
        self.leaf = leaf
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
    """Hashes of at least the last `REMEMBERED` events that came alone; bodies, and so the hashes of those that came in
    packs, within a budget of bytes and a number of events, the latest ones."""

    def __init__(self, bytes_max: int = BYTES_MAX) -> None:
        self.bytes_max = bytes_max
        self.leaves: dict[EventId, bytes] = {}
        "Of events that came alone."
        self.packs: dict[bytes, tuple[EventId, ...]] = {}
        "The events of packs of which nothing is news, by mark."
        self.bodies: dict[EventId, Body | Pack] = {}
        "An event alone, or the pack it came in."
        self.size = 0

    def add(self, event_id: EventId, leaf: bytes, sealed: bytes | memoryview) -> Body:
        """Only once the proof held: from now on the id stands for this body."""
        self.leaves[event_id] = leaf
        self._drop(event_id)
        body = self.bodies[event_id] = Body(leaf, sealed)
        self.size += len(sealed)
        self._tidy()
        return body

    def add_pack(self, pack: Pack) -> None:
        """All events of a pack, none of which is here yet."""
        self.bodies.update(dict.fromkeys(pack.ids, pack))
        self.size += len(pack)
        self.know(pack)
        self._tidy()

    def know(self, pack: Pack) -> None:
        """Every event of this pack was met, in it or before."""
        self.packs[pack.mark] = pack.ids
        if len(self.packs) > PACKS_REMEMBERED:
            del self.packs[next(iter(self.packs))]

    def forget(self, ids: Sequence[EventId]) -> None:
        """As if these events had never been met. Others of a pack stay known by their ids."""
        gone = {*ids}
        for event_id in ids:
            self.leaves.pop(event_id, None)
            self._drop(event_id)
        for mark in [mark for mark, its in self.packs.items() if not gone.isdisjoint(its)]:
            del self.packs[mark]

    def leaf(self, event_id: EventId) -> bytes | None:
        """What tells the body of an event from others, if it was met."""
        leaf = self.leaves.get(event_id)
        if leaf is None and isinstance(body := self.bodies.get(event_id), Pack):
            leaf = body.leaf(event_id)
        return leaf

    def are_new(self, ids: Sequence[EventId]) -> bool:
        """Whether none of these was met."""
        return self.leaves.keys().isdisjoint(ids) and self.bodies.keys().isdisjoint(ids)

    def get(self, event_id: EventId) -> Body | Pack | None:
        return self.bodies.get(event_id)

    def pack_of(self, ids: Sequence[EventId]) -> Pack | None:
        """The pack all of these events are in, if there is one."""
        bodies = [*map(self.bodies.get, ids)]
        first = bodies[0]
        return first if isinstance(first, Pack) and bodies.count(first) == len(bodies) else None

    def sealed(self, event_id: EventId) -> bytes:
        """An event by itself; nothing if it is no longer here, or cannot be proved by itself."""
        body = self.bodies.get(event_id)
        if isinstance(body, Pack):
            return (body.alone(event_id) or (b"", b""))[1]
        return body.sealed if body is not None else b""

    def _tidy(self) -> None:
        leaves = self.leaves
        if len(leaves) > 2 * REMEMBERED:
            for old in list(leaves)[:REMEMBERED]:
                del leaves[old]
        while (self.size > self.bytes_max or len(self.bodies) > BODIES_MAX) and len(self.bodies) > 1:
            self._drop(next(iter(self.bodies)))

    def _drop(self, event_id: EventId) -> None:
        """A pack goes as a whole: its bytes are shared."""
        body = self.bodies.get(event_id)
        if body is None:
            return
        for each in body.ids if isinstance(body, Pack) else (event_id,):
            if self.bodies.get(each) is body:
                del self.bodies[each]
        self.size -= len(body)
