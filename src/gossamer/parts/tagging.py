"""A publisher's count of its events, pattern by pattern: the tags that let others see what they missed."""

from collections.abc import Iterable, Sequence
from typing import Any

from gossamer.core.patterns import UNCOUNTED, Tag

PATTERNS_MAX = 100_000
TAGS_BYTES_MAX = 8 << 10
"Of one event's tags, encoded. By the patterns that are left it is not counted: one tag says how many these are."
TAG_BYTES_MAX = 28
"No tag is longer."


def age_ms(sequence: Any, since_first_us: Any) -> Any:
    """What an event tells about the age of its count; 0: nothing."""
    return (since_first_us // 1000 + 1) * (sequence > 1)


def tag_bytes(tag: Tag) -> int:
    """What a tag takes on its way."""
    return 1 + _width(tag.pattern) + _width(tag.sequence) + _width(tag.age_ms)


def _width(number: int) -> int:
    """Bytes of a whole number in MessagePack."""
    return 1 if number < 1 << 7 else 2 if number < 1 << 8 else 3 if number < 1 << 16 else 5 if number < 1 << 32 else 9


def fits(tags: Sequence[Tag]) -> bool:
    """Whether tags keep to their bound; those of nearly all events are too few to be looked at."""
    return len(tags) * TAG_BYTES_MAX <= TAGS_BYTES_MAX or sum(map(tag_bytes, tags)) <= TAGS_BYTES_MAX


class Tagger:
    """Lives as long as one incarnation of its publisher. No place is ever given twice: where a count had to be
    forgotten, the pattern goes on above every count forgotten so far."""

    def __init__(self, most: int = PATTERNS_MAX) -> None:
        self.most = most
        self.counts: dict[int, int] = {}
        self.began_us: dict[int, int] = {}
        "When each count began, of those that began with 1."
        self.floor = 0

    def tags(self, signatures: Sequence[int], now_us: int, room: int = TAGS_BYTES_MAX) -> tuple[Tag, ...]:
        """The next place of each of these patterns, or of the first of them, as far as there is room."""
        if len(signatures) * TAG_BYTES_MAX <= room:
            return tuple([self._next(signature, now_us) for signature in signatures])
        room -= TAG_BYTES_MAX
        tags: list[Tag] = []
        for signature in signatures:
            if room < TAG_BYTES_MAX:
                break
            tags.append(self._next(signature, now_us))
            room -= tag_bytes(tags[-1])
        left = len(signatures) - len(tags)
        return (*tags, Tag(UNCOUNTED, left)) if left else tuple(tags)

    def take_back(self, tags: Iterable[Tag]) -> None:
        """The last tags given, of an event that is not published after all: its places are not to be looked for."""
        for tag in tags:
            if self.counts.get(tag.pattern) == tag.sequence:
                self.counts[tag.pattern] -= 1

    def _next(self, signature: int, now_us: int) -> Tag:
        count = self.counts.pop(signature, self.floor) + 1
        self.counts[signature] = count
        if count == 1:
            self.began_us[signature] = now_us
        began_us = self.began_us.get(signature)
        if len(self.counts) > self.most:
            self._forget(next(iter(self.counts)))
        return Tag(signature, count, 0 if began_us is None else age_ms(count, max(0, now_us - began_us)))

    def _forget(self, signature: int) -> None:
        self.floor = max(self.floor, self.counts.pop(signature))
        self.began_us.pop(signature, None)
