"""A set of whole numbers that mostly follow each other: kept as stretches, each from a first to a last."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator


class Stretches:
    """Grows by `add`; forgets only from below."""

    def __init__(self, pairs: Iterable[tuple[int, int]] = ()) -> None:
        self.firsts: list[int] = []
        self.lasts: list[int] = []
        for first, last in pairs:
            self.add(first, last)

    def __len__(self) -> int:
        """How many stretches it takes."""
        return len(self.firsts)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self.firsts, self.lasts)

    def __contains__(self, number: int) -> bool:
        at = bisect_right(self.firsts, number)
        return at > 0 and number <= self.lasts[at - 1]

    @property
    def top(self) -> int:
        """The greatest number; 0: there is none."""
        return self.lasts[-1] if self.lasts else 0

    def add(self, first: int, last: int | None = None) -> None:
        """One number, or all from one to another."""
        last = first if last is None else last
        if self.lasts and first == self.lasts[-1] + 1:  # the usual case
            self.lasts[-1] = last
            return
        low = bisect_right(self.firsts, first)
        if low and self.lasts[low - 1] >= first - 1:
            low -= 1
            first = self.firsts[low]
        high = bisect_right(self.firsts, last + 1)
        if high > low:
            last = max(last, self.lasts[high - 1])
        self.firsts[low:high], self.lasts[low:high] = [first], [last]

    def forget_up_to(self, number: int) -> None:
        """Nothing up to this number is in it any more."""
        gone = bisect_right(self.lasts, number)
        del self.firsts[:gone], self.lasts[:gone]
        if self.firsts and self.firsts[0] <= number:
            self.firsts[0] = number + 1

    def forget_lowest(self) -> None:
        """One stretch less."""
        del self.firsts[:1], self.lasts[:1]
