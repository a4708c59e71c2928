"""Sets of ordinals, as stretches: what a log holds of a stream, what another lacks of it, what nobody has."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import TypeAlias

from gossamer.parts.stretches import Stretches

Stretch: TypeAlias = tuple[int, int]
"First and last."


class Ordinals(Stretches):
    """Whole numbers from 1 on. Stretches are kept in order, and never meet."""

    # -- looking ------------------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ordinals) and self.firsts == other.firsts and self.lasts == other.lasts

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Ordinals({[*self]})"

    @property
    def count(self) -> int:
        """How many numbers these are."""
        return sum(self.lasts) - sum(self.firsts) + len(self.firsts)

    @property
    def floor(self) -> int:
        """The number before the first; 0 if there is none."""
        return self.firsts[0] - 1 if self.firsts else 0

    # -- changing -----------------------------------------------------------------------------------------------

    def add(self, first: int, last: int | None = None) -> None:
        """These too. Numbers below 1, and ranges that end before they begin, are none."""
        first, last = max(1, first), first if last is None else last
        if first <= last:
            super().add(first, last)

    def add_all(self, others: Iterable[Stretch]) -> None:
        for first, last in others:
            self.add(first, last)

    def remove(self, first: int, last: int) -> None:
        if last < first:
            return
        low, high = bisect_left(self.lasts, first), bisect_right(self.firsts, last)
        if low >= high:
            return
        kept = [(self.firsts[low], first - 1), (last + 1, self.lasts[high - 1])]
        kept = [each for each in kept if each[0] <= each[1]]
        self.firsts[low:high], self.lasts[low:high] = [each[0] for each in kept], [each[1] for each in kept]

    def join(self, most: int) -> None:
        """Fills its oldest holes, until there are no more stretches than this."""
        extra = len(self.firsts) - max(1, most)
        if extra > 0:
            del self.firsts[1 : extra + 1], self.lasts[:extra]

    # -- others made of it --------------------------------------------------------------------------------------

    def copy(self) -> "Ordinals":
        made = Ordinals()
        made.firsts, made.lasts = [*self.firsts], [*self.lasts]
        return made

    def with_all(self, *others: Iterable[Stretch]) -> "Ordinals":
        made = self.copy()
        for each in others:
            made.add_all(each)
        return made

    def without(self, others: Iterable[Stretch]) -> "Ordinals":
        made = self.copy()
        for first, last in others:
            made.remove(first, last)
        return made

    def within(self, others: "Ordinals") -> "Ordinals":
        """What is in both."""
        made, mine, theirs = Ordinals(), 0, 0
        while mine < len(self.firsts) and theirs < len(others.firsts):
            first = max(self.firsts[mine], others.firsts[theirs])
            last = min(self.lasts[mine], others.lasts[theirs])
            if first <= last:
                made.firsts.append(first)
                made.lasts.append(last)
            if self.lasts[mine] < others.lasts[theirs]:
                mine += 1
            else:
                theirs += 1
        return made

    def between(self, first: int, last: int) -> "Ordinals":
        return self.within(Ordinals([(first, last)]))

    def holes(self) -> "Ordinals":
        """What lies between its stretches."""
        made = Ordinals()
        made.firsts = [last + 1 for last in self.lasts[:-1]]
        made.lasts = [first - 1 for first in self.firsts[1:]]
        return made

    def lowest(self, count: int) -> "Ordinals":
        """So many of its numbers, from below."""
        made = Ordinals()
        for first, last in self:
            if count <= 0:
                break
            last = min(last, first + count - 1)
            made.firsts.append(first)
            made.lasts.append(last)
            count -= last - first + 1
        return made

    def at(self, place: int) -> int:
        """The number that so many others of these stand before."""
        for first, last in self:
            if place <= last - first:
                return first + place
            place -= last - first + 1
        raise IndexError("there are not so many")

    def rough(self, most: int) -> "Ordinals":
        """All of it in few stretches, and as little else as that allows: the smallest holes are filled."""
        if len(self.firsts) <= most:
            return self.copy()
        gaps = sorted(range(len(self.firsts) - 1), key=lambda i: self.lasts[i] - self.firsts[i + 1])
        kept = sorted(gaps[: max(0, most - 1)])
        made = Ordinals()
        made.firsts = [self.firsts[0], *(self.firsts[i + 1] for i in kept)]
        made.lasts = [*(self.lasts[i] for i in kept), self.lasts[-1]]
        return made
