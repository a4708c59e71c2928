"""Between a node and its trace: steps, and what happens beside them, become rows; a journal gets them too."""

from collections.abc import Callable, Sequence
from pathlib import Path

from gossamer.core.errors import Misuse
from gossamer.core.ids import EventId, Peer, peer_of
from gossamer.core.machine import Effect, Given
from gossamer.core.topics import Topic
from gossamer.core.trace import Head, Level, Values
from gossamer.live.config.config import Config
from gossamer.live.keys.files import AUDIT_PUBLIC
from gossamer.live.reading.deliveries import Delivery, Gap
from gossamer.live.running.clock import Clock
from gossamer.live.watching.journal import Journal
from gossamer.live.watching.pruning import Budget
from gossamer.live.watching.scribe import Scribe
from gossamer.live.watching.traces import SEGMENT_BYTES, SegmentWriter, host
from gossamer.parts.telling import Telling
from gossamer.wire.values import Sealer


class Recorder:
    """One node's. Payloads never enter, but for the journal."""

    def __init__(self, writer: SegmentWriter, journal: Journal | None) -> None:
        self.writer, self.journal = writer, journal
        self.full = writer.head.level in ("full", "journal")
        self.telling = Telling(writer.row)

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
        self.telling.effects(now_us, given, effects)

    def gave(self, topic: Topic, item: Delivery | Gap) -> None:
        """A reader of this topic was told of a loss, or was given again what it had not acknowledged."""
        now_us = self.writer.now_us()
        if isinstance(item, Delivery):
            self.telling.delivered(now_us, item, item.hops, "redelivered")
        elif not item.topic:  # what may still be found is told by the machine's own row
            self.telling.lost(now_us, topic, item.lost, item.why)

    def sent(self, now_us: int, peers: tuple[Peer, ...], who: EventId, hops: int, topic: str, size: int) -> None:
        if self.full:
            for peer in peers:
                self.telling.copy("send", now_us, peer, who, hops, topic, size)

    def received(self, peer: Peer, ids: Sequence[EventId], hops: int, size: int) -> None:
        """Copies of events that came together, as so many bytes."""
        now_us = self.writer.now_us()
        for who in ids if self.full else ():
            self.telling.copy("receive", now_us, peer, who, hops, None, size // len(ids))

    def refused(self, peer: Peer | None, why: str) -> None:
        """Something from outside was turned away."""
        self.telling.refused(self.writer.now_us(), peer, why)

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
    values, sealer = values_told(config)
    head = Head(
        config.network,
        peer_of(name),
        name=name,
        incarnation=incarnation,
        level=config.trace.level,
        host=host(),
        offset_us=clock.offset_us,
        values=values,
    )
    budget = Budget(config.trace.keep_s, config.trace.keep_bytes)
    segment_bytes = min(SEGMENT_BYTES, config.trace.keep_bytes // 4)  # what is not finished is not pruned
    writer = SegmentWriter(
        config.trace.folder,
        head,
        now_us=clock.now_us,
        segment_bytes=segment_bytes,
        budget=budget,
        sealer=sealer,
        do=scribe.do,
    )
    return Recorder(writer, journal)


def values_told(config: Config) -> tuple[Values, Callable[[], Sealer] | None]:
    """What traces tell of attributes, and what seals them: to the key that audits, where there is one."""
    key = audit_key(config)
    values = config.trace.values
    if values == "auto":
        values = "off" if key is None else "sealed"
    if values != "sealed":
        return values, None
    if key is None:
        raise Misuse(
            'trace.values is "sealed", and no key is there to seal to: make one with `gossamer keys audit`, copy '
            f"{AUDIT_PUBLIC} to this node's keys, or name it as trace.audit_key"
        )
    from gossamer.live.keys.auditing import FileSealer, read_public  # a node without keys need not load ciphers

    public = read_public(key)
    return values, lambda: FileSealer(public)


def audit_key(config: Config) -> Path | None:
    if config.trace.audit_key is not None:
        return config.trace.audit_key
    among = None if config.keys is None else config.keys / AUDIT_PUBLIC
    return among if among is not None and among.exists() else None
