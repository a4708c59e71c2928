"""How losses are noticed: by the gaps in the streams this node follows."""

from collections.abc import Sequence

from gossamer.core.events import Carried, Event
from gossamer.core.ids import Peer
from gossamer.core.patterns import Tag
from gossamer.protocols.recovery import rules
from gossamer.protocols.recovery.rounds import Rounds
from gossamer.protocols.recovery.streams import Source, Streams


class Noticing:
    """What events show, and what others say; a loss is what the next round is about."""

    def __init__(self, streams: Streams, rounds: Rounds) -> None:
        self.streams, self.rounds = streams, rounds
        self.again = False
        "Whether what is heard was sent again: it may be older than what is known otherwise."

    def heard(self, carried: Carried) -> bool:
        """New events that follow each other: whether they are of a pattern of ours. Runs for every event, so it takes
        few steps, as long as nothing is missing."""
        event, further, streams = carried.event, len(carried.more), self.streams
        publisher, incarnation = event.id.publisher, event.id.incarnation
        source = streams.sources.get((publisher, incarnation))
        if source is None or streams.crowded:
            source = streams.source(publisher, incarnation)
        if carried.route:
            source.route = carried.route
        local, highest, ours = streams.local, source.highest, False
        for tag in event.tags:
            signature = tag.pattern
            if signature in local:
                ours, sequence = True, tag.sequence
                last = highest.get(signature)
                if last is None:
                    if self.again and event.published_us < streams.since_us[signature]:
                        continue  # it was missing of another pattern: where this stream stood then is not known
                    streams.hear_of(signature, (publisher, incarnation), source)
                    last = 0 if self._expects_all(event, tag, source) else sequence - 1
                if sequence + further > last:
                    highest[signature] = sequence + further
                    if sequence > last + 1:
                        self._miss(publisher, incarnation, signature, last, sequence)
        return ours

    def _expects_all(self, event: Event, tag: Tag, source: Source) -> bool:
        """Of a stream never heard of; by the publisher's clock, or by ours where that is behind."""
        published_us = min(event.published_us, self.streams.node.now_us)
        return rules.expects_all(tag.age_ms, published_us, self.streams.expected_us(tag.pattern, source))  # type: ignore[no-any-return]

    def claim(self, publisher: Peer, incarnation: int, signature: int, source: Source, sequence: int) -> bool:
        """Somebody said that the publisher got as far as this. Whether that is news."""
        known = max(source.highest[signature], source.claimed.get(signature, 0))
        if sequence <= known:
            return False
        source.claimed[signature] = sequence
        self._miss(publisher, incarnation, signature, known, sequence + 1)
        return True

    def _miss(self, publisher: Peer, incarnation: int, signature: int, highest: int, sequence: int) -> None:
        """What lies between the two."""
        pattern, sought = self.streams.local[signature], rules.first_lost(highest, sequence)
        self.streams.miss(publisher, incarnation, pattern, highest + 1, sought, sequence - 1)
        self.rounds.noticed(pattern)


def follow_up(events: Sequence[Event]) -> bool:
    """Whether each of these events has the next place after the one before it, in the same counts."""
    first = events[0]
    if len({(event.id.publisher, event.id.incarnation, len(event.tags)) for event in events}) > 1:
        return False
    for number, tag in enumerate(first.tags):
        tags = [event.tags[number] for event in events]
        following = [*range(tag.sequence, tag.sequence + len(events))]
        if [each.sequence for each in tags] != following or len({each.pattern for each in tags}) > 1:
            return False
    return True
