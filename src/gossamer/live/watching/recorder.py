"""Which rows a node's steps leave in its trace."""

from collections.abc import Sequence

from gossamer.core.events import Event
from gossamer.core.ids import EventId, Peer, peer_of
from gossamer.core.machine import Deliver, Effect, Given, Missing, Note
from gossamer.core.topics import Topic
from gossamer.core.trace import Head, Level
from gossamer.live.config.config import Config
from gossamer.live.reading.deliveries import Delivery, Gap
from gossamer.live.running.clock import Clock
from gossamer.live.watching.journal import Journal
from gossamer.live.watching.pruning import Budget
from gossamer.live.watching.scribe import Scribe
from gossamer.live.watching.traces import SEGMENT_BYTES, SegmentWriter, host
from gossamer.parts.bucket import Buckets

REJECTS_PER_S = 2.0
REJECTS_BURST = 20
"Rows about refusals for one reason: whoever sends rubbish must not fill the disk. Metrics count them all."
REASONS_MAX = 100


class Recorder:
    """Between driver and trace. Payloads never enter, but for the journal."""

    def __init__(self, writer: SegmentWriter, journal: Journal | None) -> None:
        self.writer, self.journal = writer, journal
        self.full = writer.head.level in ("full", "journal")
        self._rejects = Buckets(REJECTS_PER_S, REJECTS_BURST, REASONS_MAX)

    def keep(self, level: Level) -> None:
        """Another level from now on. A journal is of a whole life or of its beginning: none begins later."""
        self.writer.keep(level)
        self.full = level in ("full", "journal")
        if level != "journal" and self.journal is not None:
            self.journal.close()
            self.journal = None

    def given(self, now_us: int, given: Given) -> None:
        """Rows tell of what came of it; the journal keeps the given itself."""
        if self.journal is not None:
            self.journal.given(now_us, given)

    def raised(self, wrong: BaseException) -> None:
        if self.journal is not None:
            self.journal.raised(wrong)

    def effects(self, now_us: int, given: Given, effects: list[Effect]) -> None:
        if self.journal is not None:
            self.journal.effects(effects)
        for effect in effects:
            kind = type(effect)
            if kind is Deliver and not effect.again:  # type: ignore[union-attr]
                self._deliver(now_us, effect.event, effect.hops)  # type: ignore[union-attr, arg-type]
            elif kind is Note:
                self._note(now_us, effect)  # type: ignore[arg-type]
            elif kind is Missing:
                self._missing(now_us, effect)  # type: ignore[arg-type]

    def gave(self, topic: Topic, item: Delivery | Gap) -> None:
        """A reader of this topic was told of a loss, or was given again what it had not acknowledged."""
        now_us = self.writer.now_us()
        if isinstance(item, Delivery):
            self._deliver(now_us, item, item.hops, "redelivered")
        elif not item.topic:  # what may still be found is told by the machine's own row
            self.writer.row("gap", now_us, topic=topic, detail=f"{item.lost}: {item.why}")

    def _deliver(self, now_us: int, event: Event, hops: int, detail: str | None = None) -> None:
        who, size = event.id, len(event.payload)  # without keywords: they cost a third more, at every delivery
        self.writer.row(
            "deliver", now_us, None, event.topic, who.publisher, who.incarnation, who.sequence, hops, size, detail
        )

    def _missing(self, now_us: int, missing: Missing) -> None:
        """By the numbers of the pattern: which ids these are, nobody here knows."""
        self.writer.row(
            "gap",
            now_us,
            topic=missing.pattern.topic,
            publisher=missing.publisher,
            incarnation=missing.incarnation,
            detail=f"{missing.first}-{missing.last}" if missing.counted else "uncounted",
        )

    def _note(self, now_us: int, note: Note) -> None:
        who = note.event
        if who is None:
            if note.kind != "reject" or self._rejects.take(note.detail or "", now_us):
                self.writer.row(note.kind, now_us, peer=note.peer, topic=note.topic, detail=note.detail)
            return
        self.writer.row(
            note.kind,
            now_us,
            peer=note.peer,
            topic=note.topic,
            publisher=who.publisher,
            incarnation=who.incarnation,
            sequence=who.sequence,
            detail=note.detail,
        )

    def sent(self, now_us: int, peers: tuple[Peer, ...], who: EventId, hops: int, topic: str, size: int) -> None:
        if self.full:
            for peer in peers:
                self._copy("send", now_us, peer, who, hops, topic, size)

    def received(self, peer: Peer, ids: Sequence[EventId], hops: int, size: int) -> None:
        """Copies of events that came together, as so many bytes."""
        now_us = self.writer.now_us()
        for who in ids if self.full else ():
            self._copy("receive", now_us, peer, who, hops, None, size // len(ids))

    def _copy(self, kind: str, now_us: int, peer: Peer, who: EventId, hops: int, topic: str | None, size: int) -> None:
        self.writer.row(
            kind,  # type: ignore[arg-type]
            now_us,
            peer=peer,
            topic=topic,
            publisher=who.publisher,
            incarnation=who.incarnation,
            sequence=who.sequence,
            hops=hops,
            bytes=size,
        )

    def refused(self, peer: Peer | None, why: str) -> None:
        """Something from outside was turned away."""
        now_us = self.writer.now_us()
        if self._rejects.take(why, now_us):
            self.writer.row("reject", now_us, peer=peer, detail=why)

    def tick(self) -> None:
        if self.journal is not None:
            self.journal.tick()
        self.writer.tick()

    def close(self) -> None:
        if self.journal is not None:
            self.journal.close()
        self.writer.close()


def open_recorder(
    config: Config, name: str, incarnation: int, clock: Clock, journal: Journal | None, scribe: Scribe
) -> Recorder | None:
    """None where no trace can ever be kept; otherwise its level may change while the node runs."""
    if config.trace.folder is None:
        return None
    head = Head(
        config.network,
        peer_of(name),
        name=name,
        incarnation=incarnation,
        level=config.trace.level,
        host=host(),
        offset_us=clock.offset_us,
    )
    budget = Budget(config.trace.keep_s, config.trace.keep_bytes)
    segment_bytes = min(SEGMENT_BYTES, config.trace.keep_bytes // 4)  # what is not finished is not pruned
    writer = SegmentWriter(
        config.trace.folder, head, now_us=clock.now_us, segment_bytes=segment_bytes, budget=budget, do=scribe.do
    )
    return Recorder(writer, journal)
