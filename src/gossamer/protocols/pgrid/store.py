"""The registrations a peer holds: each until its lease ends, the latest word of its member alone."""

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from hashlib import blake2b

from msgspec import Struct

from gossamer.core.draws import draw, fold
from gossamer.core.ids import Peer
from gossamer.protocols.pgrid.messages import Registration, Spelled
from gossamer.protocols.pgrid.places import Bits

STORED_MAX = 100_000
"Registrations one peer holds."
OF_ONE_MAX = 20_000
"Those of one member among them."


@lru_cache(maxsize=1 << 16)
def id_of(name: Spelled, member: Peer) -> int:
    """What a registration is called."""
    return fold(int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big"), member) >> 1  # type: ignore[no-any-return]


class StoredHere(Struct):
    """A registration, and when it was made by our clock."""

    said: Registration
    since_us: int


class Store:
    """By what they are called."""

    def __init__(self) -> None:
        self.held: dict[int, StoredHere] = {}
        self.by_name: dict[Spelled, dict[int, None]] = {}
        self.of: dict[Peer, int] = {}
        self.version = 0
        "Goes up with every change."
        self._loads: dict[Bits, int] = {}
        self._reckoned_at = -1

    def __len__(self) -> int:
        return len(self.held)

    def take(self, said: Registration, since_us: int) -> bool:
        """Keeps it, unless as late a word of its member is here, or there is no room. True: it is news."""
        number = id_of(said.name, said.member)
        known = self.held.get(number)
        if known is not None:
            if known.said.stamp >= said.stamp:
                return False
        elif len(self.held) >= STORED_MAX or self.of.get(said.member, 0) >= OF_ONE_MAX:
            return False
        else:
            self.by_name.setdefault(said.name, {})[number] = None
            self.of[said.member] = self.of.get(said.member, 0) + 1
        self.held[number] = StoredHere(said, since_us)
        self.version += 1
        return True

    def drop(self, number: int) -> None:
        held = self.held.pop(number, None)
        if held is None:
            return
        self.version += 1
        said = held.said
        self.by_name[said.name].pop(number)
        if not self.by_name[said.name]:
            del self.by_name[said.name]
        self.of[said.member] -= 1
        if not self.of[said.member]:
            del self.of[said.member]

    def expire(self, now_us: int, lease_us: Callable[[Registration], int]) -> None:
        """Drops what is over."""
        over = [number for number, held in self.held.items() if held.since_us < now_us - lease_us(held.said)]
        for number in over:
            self.drop(number)

    # -- questions --------------------------------------------------------------------------------------------------

    def is_for_others(self, me: Peer) -> bool:
        """Whether something here is another member's."""
        return len(self.of) > (me in self.of)

    def members(self, name: Spelled) -> list[Registration]:
        """Those of a topic; of all topics, if none is named."""
        numbers = self.by_name.get(name, {}) if name else self.held
        return [said for number in numbers if not (said := self.held[number].said).gone]

    def load(self, path: Bits) -> int:
        """How many belong to what begins like this. Asked often, and seldom changed."""
        self._forget_old()
        known = self._loads.get(path)
        if known is None:
            found = (held.said for held in self.held.values())
            known = self._loads[path] = sum(not said.gone and said.place.startswith(path) for said in found)
        return known

    def _forget_old(self) -> None:
        if self._reckoned_at != self.version or len(self._loads) > 1000:
            self._loads.clear()
            self._reckoned_at = self.version

    def places(self) -> list[Bits]:
        return [held.said.place for held in self.held.values() if not held.said.gone]

    # -- to compare with others --------------------------------------------------------------------------------------

    def sums(self, numbers: Iterable[int], parts: int) -> list[int]:
        """Of some of them, by the first bits of what each is called."""
        sums = [0] * parts
        for number in numbers:
            sums[part_of(number, parts)] ^= draw(number, self.held[number].said.stamp) >> 1
        return sums

    def marks(self, numbers: Iterable[int], parts: int, wanted: Iterable[int]) -> Iterator[tuple[int, int]]:
        """What stands behind some of these sums."""
        chosen = {*wanted}
        return ((number, self.held[number].said.stamp) for number in numbers if part_of(number, parts) in chosen)

    def has(self, said: Registration) -> bool:
        """Whether this very word is here."""
        known = self.held.get(id_of(said.name, said.member))
        return known is not None and known.said.stamp == said.stamp

    def is_news(self, number: int, stamp: int) -> bool:
        known = self.held.get(number)
        return known is None or known.said.stamp < stamp


def part_of(number: int, parts: int) -> int:
    return number * parts >> 63
