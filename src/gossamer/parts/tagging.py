"""A publisher's count of its events, pattern by pattern: the tags that let others see what they missed."""

from collections.abc import Iterable

from gossamer.core.patterns import Tag

PATTERNS_MAX = 100_000


class Tagger:
    """Lives as long as one incarnation of its publisher. No place is ever given twice: where a count had to be
    forgotten, the pattern goes on above every count forgotten so far."""

    def __init__(self, most: int = PATTERNS_MAX) -> None:
        self.most = most
        self.counts: dict[int, int] = {}
        self.floor = 0

    def tags(self, signatures: Iterable[int]) -> tuple[Tag, ...]:
        """The next place of each of these patterns."""
        return tuple([Tag(signature, self._next(signature)) for signature in signatures])

    def take_back(self, tags: Iterable[Tag]) -> None:
        """The last tags given, of an event that is not published after all: its places are not to be looked for."""
        for tag in tags:
            if self.counts.get(tag.pattern) == tag.sequence:
                self.counts[tag.pattern] -= 1

    def _next(self, signature: int) -> int:
        count = self.counts.pop(signature, self.floor) + 1
        self.counts[signature] = count
        if len(self.counts) > self.most:
            self.floor = max(self.floor, self.counts.pop(next(iter(self.counts))))
        return count
