"""Events that arrive, alone or in packs, judged before the machine hears of them.

An event counts only after its publisher's proof held. What is known, by its id and its hash or by the mark of its pack,
is not even decoded.
"""

import time
from collections.abc import Callable, Sequence

from msgspec import Struct

from gossamer.core.errors import PeerFault
from gossamer.core.events import Carried, Event
from gossamer.core.ids import EventId
from gossamer.core.machine import Known, Message, Received
from gossamer.core.topics import Topic
from gossamer.live.arriving.bodies import Bodies
from gossamer.live.arriving.permissions import Permissions
from gossamer.live.arriving.receipts import Receipts
from gossamer.live.keys.trust import Outdated, Stranger, Trust
from gossamer.live.links.address_book import AddressBook
from gossamer.live.links.link import Link
from gossamer.live.running.driver import Driver
from gossamer.live.running.spread_rules import SpreadRules
from gossamer.live.watching.metrics import Metrics
from gossamer.live.watching.recorder import Recorder
from gossamer.wire.codec import Codec
from gossamer.wire.frame import Batch, Copy, PackCopy
from gossamer.wire.pack import Pack, opened, unpack
from gossamer.wire.sealed import TooDeep, unseal

HOPS_MAX = 1 << 20
"More are not believed: one more than the wire allows, and our own copies would be refused."
PACKED_BYTES_MIN = 8
"An event has at least so many bytes in a pack: the mark of a known one alone would cost us more than its sender."


class Arrivals:
    """Between links and machine, for events."""

    def __init__(
        self,
        driver: Driver,
        trust: Trust,
        book: AddressBook,
        bodies: Bodies,
        carriers: dict[str, type[Struct]],
        codec: Codec,
        metrics: Metrics,
        recorder: Recorder | None,
        permissions: Permissions,
        rules: SpreadRules,
        receipts: Receipts,
    ) -> None:
        self.driver, self.me, self.machine = driver, driver.me, driver.machine
        self.trust, self.book, self.bodies = trust, book, bodies
        self.carriers, self.codec, self.metrics, self.recorder = carriers, codec, metrics, recorder
        self.permissions, self.rules, self.receipts = permissions, rules, receipts

    def take(self, link: Link, batch: Batch) -> None:
        """Everything of a batch that is an event."""
        peer = link.peer
        assert peer is not None
        known: list[EventId] = []
        straight: list[EventId] = []
        for copy, body in zip(batch.copies, batch.bodies, strict=True):
            if self.bodies.leaf(copy.id) == copy.leaf or self._known_otherwise(copy.id):
                known.append(copy.id)
            elif not self._news(link, copy, body):
                if link.closed:
                    break
                continue
            if copy.id.publisher == peer:
                straight.append(copy.id)
        recorder = self.recorder if self.recorder is not None and self.recorder.full else None
        if recorder is not None:
            for copy, body in zip(batch.copies, batch.bodies, strict=True):
                recorder.received(peer, (copy.id,), copy.hops, len(body))
        self.metrics.copies_received += len(batch.copies)
        for pack in batch.packs:
            if link.closed:
                break
            ids: Sequence[EventId] | None = self.bodies.packs.get(pack.mark)
            if ids is None:
                ids = self._news_of(link, pack, known)
            elif len(pack.content) < PACKED_BYTES_MIN * len(ids):
                link.strike("forged copy", "a pack without the bytes of its events")
                continue
            else:
                known += ids
            if ids and ids[0].publisher == peer:
                straight += ids
            self.metrics.copies_received += len(ids)
            if recorder is not None:
                recorder.received(peer, ids, pack.hops, len(pack.content))
        if straight:
            self.receipts.arrived(straight)
        if known:
            self.metrics.copies_known += len(known)
            self.driver.feed(Known(peer, tuple(known)))

    def _known_otherwise(self, event_id: EventId) -> bool:
        """An id known from before a restart, or from long ago: there is nothing left to compare a body with."""
        machine = self.machine
        return self.bodies.leaf(event_id) is None and machine.knows(event_id) and not machine.lacks(event_id)

    # -- one event ----------------------------------------------------------------------------------------------

    def _news(self, link: Link, copy: Copy, body: memoryview) -> bool:
        """An event not met before, or not with this body. True: it was genuine, and the machine has it now."""
        carrier = self._carrier(copy)
        if carrier is None:
            return False
        try:
            event, leaf, proof = unseal(body)
        except PeerFault as wrong:
            self._refuse_bytes(link, wrong)
            return False
        if event.id != copy.id or leaf != copy.leaf:
            link.strike("forged copy", f"the body is not that of {copy.id}")
            return False
        publisher = event.id.publisher
        if not self.book.touch(publisher) and publisher != self.me:
            link.decline("unknown publisher")
            return False
        if not self.permissions.may(publisher, "publish", event.topic):
            link.blame(publisher, "publisher not granted", f"it may not publish on {event.topic}")
            return False
        if not self._is_signed(link, lambda now_s: self.trust.check(publisher, leaf, proof, now_s)):
            return False
        if self.bodies.leaf(event.id) is not None:  # with another body, as genuine as this one
            link.blame(publisher, "equivocation", f"two bodies under one id, {event.id}")
            return False
        message = self._message(link, carrier, copy, event)
        if message is None:
            return False
        self.bodies.add(event.id, leaf, body)
        self._meet(link, message)
        if not self.machine.knows(event.id):  # refused for what came beside it: the next copy may be as it should
            self.bodies.forget([event.id])
            return False
        return True

    def _message(self, link: Link, carrier: type[Struct], copy: Copy, event: Event) -> Message | None:
        """What carries an event. None: it says something else beside it than such messages do."""
        try:
            message = self.codec.carrier(carrier, _carried(copy, [event]), copy.said)
        except PeerFault as wrong:
            link.strike("bad message", str(wrong))
            return None
        if link.peer is not None and not self.rules.fits(link.peer, message):
            link.decline("no such level or probability")
            return None
        return message

    def _meet(self, link: Link, message: Message) -> None:
        assert link.peer is not None
        self.driver.meet(Received(link.peer, message))

    def _carrier(self, copy: Copy | PackCopy) -> type[Struct] | None:
        carrier = self.carriers.get(copy.tag)
        if carrier is None:
            self.metrics.unknown_tags += 1
        return carrier

    def _refuse_bytes(self, link: Link, wrong: PeerFault) -> None:
        """Of what is no event, or no pack."""
        if isinstance(wrong, TooDeep):
            link.decline("bad event")
        else:
            link.strike("bad event", str(wrong))

    def _is_signed(self, link: Link, check: Callable[[float], None]) -> bool:
        try:
            check(time.time())
        except (Stranger, Outdated) as wrong:
            link.decline("unknown publisher" if isinstance(wrong, Stranger) else "outdated publisher")
            return False
        except PeerFault as wrong:
            link.strike("bad proof", str(wrong))
            return False
        return True

    # -- a pack -------------------------------------------------------------------------------------------------

    def _news_of(self, link: Link, copy: PackCopy, known: list[EventId]) -> Sequence[EventId]:
        """A pack not met before. Those of its events that are genuine: the machine has them now, or had them before."""
        carrier = self._carrier(copy)
        if carrier is None:
            return ()
        if self.codec.says_more(carrier):
            link.strike("bad message", f"{carrier.__name__} says something of each event: they do not come in packs")
            return ()
        try:
            pack, events = unpack(bytes(copy.content))
        except PeerFault as wrong:
            self._refuse_bytes(link, wrong)
            return ()
        if pack.mark != copy.mark:
            link.strike("forged copy", "the events are not those of the pack")
            return ()
        topics = dict.fromkeys([event.topic for event in events])
        granted = [topic for topic in topics if self.permissions.may(pack.publisher, "publish", topic)]
        if not self._is_genuine(link, pack, granted):
            return ()
        had: Sequence[EventId] = ()
        if len(granted) == len(topics) and self._are_new(pack):
            self.bodies.add_pack(pack)
        else:
            events, had = self._sorted_out(link, pack, events, granted)
            known += had
        if events:
            self._meet(link, carrier(_carried(copy, events)))
            self._forget_unasked(events, len(topics))
        return [*had, *[event.id for event in events]] if len(events) < len(pack.ids) else pack.ids

    def _forget_unasked(self, events: list[Event], topics: int) -> None:
        """What nobody here asks for yet may be asked for when it comes again."""
        if topics == 1 and self.machine.knows(events[0].id):
            return  # of one topic, it holds for all or for none
        if unasked := [event.id for event in events if not self.machine.knows(event.id)]:
            self.bodies.forget(unasked)

    def _is_genuine(self, link: Link, pack: Pack, granted: list[Topic]) -> bool:
        publisher = pack.publisher
        if not self.book.touch(publisher) and publisher != self.me:
            link.decline("unknown publisher")
            return False
        if not granted:
            link.blame(publisher, "publisher not granted", "it may not publish on any topic of this pack")
            return False
        return self._is_signed(link, lambda now_s: self.trust.check(publisher, pack.mark, pack.proof, now_s))

    def _are_new(self, pack: Pack) -> bool:
        return self.bodies.are_new(pack.ids) and not self.machine.knows_any(pack.ids)

    def _sorted_out(
        self, link: Link, pack: Pack, events: list[Event], granted: list[Topic]
    ) -> tuple[list[Event], list[EventId]]:
        """Some events of a genuine pack are known or refused. The others, each by itself from now on, and the known."""
        news, known = [], []
        alone = opened(pack)
        if not alone:
            link.blame(pack.publisher, "equivocation", "a pack of other events than its publisher signed one by one")
            return [], []
        for event in events:
            leaf, sealed = alone[event.id]
            if self.bodies.leaf(event.id) == leaf or self._known_otherwise(event.id):
                known.append(event.id)
            elif event.topic not in granted:
                link.blame(pack.publisher, "publisher not granted", f"it may not publish on {event.topic}")
            elif self.bodies.leaf(event.id) is not None:
                link.blame(pack.publisher, "equivocation", f"two bodies under one id, {event.id}")
            else:
                self.bodies.add(event.id, leaf, sealed)
                news.append(event)
        if len(known) + len(news) == len(events):
            self.bodies.know(pack)
        return news, known


def _carried(copy: Copy | PackCopy, events: Sequence[Event]) -> Carried:
    """Events that came together are one for the machine."""
    return Carried(events[0], min(copy.hops, HOPS_MAX), copy.route, tuple(events[1:]))
