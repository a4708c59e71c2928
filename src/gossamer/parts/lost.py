"""Places known to be missing, within a bound: in the order they were noticed, by pattern and by publisher."""

from collections.abc import Iterator
from typing import TypeAlias

Missed: TypeAlias = tuple[int, int, int, int]
"Publisher, incarnation, signature of the pattern, sequence."


class LostBuffer:
    """When there are too many, the one noticed first is given up."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.noticed_us: dict[Missed, int] = {}
        self.by_pattern: dict[int, dict[Missed, None]] = {}
        self.by_source: dict[tuple[int, int], dict[Missed, None]] = {}

    def __len__(self) -> int:
        return len(self.noticed_us)

    def __contains__(self, missed: Missed) -> bool:
        return missed in self.noticed_us

    def add(self, missed: Missed, now_us: int) -> None:
        """Enters a loss; one that is known already keeps its time."""
        if missed in self.noticed_us:
            return
        self.noticed_us[missed] = now_us
        self.by_pattern.setdefault(missed[2], {})[missed] = None
        self.by_source.setdefault(missed[:2], {})[missed] = None
        if len(self.noticed_us) > self.most:
            self.remove(next(iter(self.noticed_us)))

    def remove(self, missed: Missed) -> int | None:
        """Takes it out; when it was noticed, if it was there."""
        noticed_us = self.noticed_us.pop(missed, None)
        if noticed_us is not None:
            _drop(self.by_pattern, missed[2], missed)
            _drop(self.by_source, missed[:2], missed)
        return noticed_us

    def expire(self, pattern: int, until_us: int) -> int:
        """Gives up what was noticed by then; how many these were."""
        gone = [*self.of_pattern(pattern, until_us)] if self.any_by(pattern, until_us) else []
        for missed in gone:
            self.remove(missed)
        return len(gone)

    def forget(self, pattern: int) -> None:
        """Nobody wants this pattern any more."""
        for missed in [*self.by_pattern.get(pattern, ())]:
            self.remove(missed)

    def any_by(self, pattern: int, until_us: int) -> bool:
        """Whether anything is missing of a pattern that was noticed by then: the first was."""
        missing = self.by_pattern.get(pattern)
        return missing is not None and self.noticed_us[next(iter(missing))] <= until_us

    def of_pattern(self, pattern: int, until_us: int) -> Iterator[Missed]:
        """What is missing of a pattern and was noticed by then, in that order."""
        for missed in self.by_pattern.get(pattern, ()):
            if self.noticed_us[missed] > until_us:
                return
            yield missed

    def of_source(self, source: tuple[int, int]) -> Iterator[Missed]:
        """What is missing of a publisher, in the order it was noticed."""
        return iter(self.by_source.get(source, ()))


def _drop(
    index: dict[int, dict[Missed, None]] | dict[tuple[int, int], dict[Missed, None]], key: object, missed: Missed
) -> None:
    same = index[key]  # type: ignore[index]
    del same[missed]
    if not same:
        del index[key]  # type: ignore[arg-type]
