"""The address book: whom this node could call, by records found genuine. Nothing else enters.

Of a peer's records the one made last counts, by its version, which is the time its maker's clock showed. One that says
it was made in the future counts less than any other: a clock was wrong, and must not outrank what is said later.
"""

from collections.abc import Callable

from gossamer.core.ids import Peer
from gossamer.live.keys.trust import Record

AHEAD_US = 3_600_000_000
"How far in the future a record may have been made: clocks differ."


class Entry:
    """A peer's newest record, and the bytes it came as: they are passed on as they are."""

    __slots__ = ("data", "life", "record")

    def __init__(self, record: Record, data: bytes) -> None:
        self.record = record
        self.life = record.life
        "The one it was last met in: a clock that was wrong may keep a newer life from having the newer record."
        self.data = data


class AddressBook:
    """Bounded; the entry used longest ago falls out."""

    def __init__(self, entries_max: int, now_us: Callable[[], int]) -> None:
        self.now_us = now_us
        self.entries: dict[Peer, Entry] = {}
        self.entries_max = entries_max
        self._known: dict[bytes, None] = {}

    def __contains__(self, peer: Peer) -> bool:
        return peer in self.entries

    def __len__(self) -> int:
        return len(self.entries)

    def get(self, peer: Peer) -> Entry | None:
        return self.entries.get(peer)

    def holds(self, data: bytes) -> bool:
        """Whether exactly this record was admitted before: then it need not be checked again."""
        return data in self._known

    def add(self, record: Record, data: bytes) -> bool:
        """Keeps a record unless a newer one of the same peer is there. True: it is news."""
        old = self.entries.pop(record.peer, None)
        if old is not None and self._rank(old.record) >= self._rank(record):
            self.entries[record.peer] = old
            return False
        if old is not None:
            self._known.pop(old.data, None)
        self.entries[record.peer] = Entry(record, data)
        self._known[data] = None
        if len(self.entries) > self.entries_max:
            self.remove(next(iter(self.entries)))
        return True

    def _rank(self, record: Record) -> tuple[bool, int]:
        return record.version <= self.now_us() + AHEAD_US, record.version

    def remove(self, peer: Peer) -> None:
        entry = self.entries.pop(peer, None)
        if entry is not None:
            self._known.pop(entry.data, None)

    def touch(self, peer: Peer) -> bool:
        """Moves an entry to the fresh end; False: there is none."""
        if (entry := self.entries.pop(peer, None)) is None:
            return False
        self.entries[peer] = entry
        return True
