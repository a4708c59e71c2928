"""All readers of a node: which events each gets, which topics the node reads for them, and what the spool keeps.

A reader without a name is offered an event when it is delivered. A durable subscription reads the log: it is offered an
event once the spool has committed it.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, cast

from gossamer.core.machine import Deliver, GivenUp, Missing, Relayed
from gossamer.core.pattern_index import filter_of
from gossamer.core.patterns import Pattern
from gossamer.core.topics import Hierarchy, Topic
from gossamer.live.arriving.bodies import Bodies, Body
from gossamer.live.arriving.receipts import Receipts
from gossamer.live.links.complaints import Complaints
from gossamer.live.reading.audience import Audience
from gossamer.live.reading.deliveries import Delivery, Gap, delivery
from gossamer.live.reading.durables import Durables
from gossamer.live.reading.feed import DurableFeed
from gossamer.live.reading.inbox import Inbox, closed_inbox
from gossamer.live.reading.limits import ReadingLimits
from gossamer.live.reading.subscriptions import Subscriptions
from gossamer.live.spool import Kept, KeptPack, Spool
from gossamer.live.watching.metrics import Metrics
from gossamer.live.watching.recorder import Recorder
from gossamer.live.watching.watched_loop import WatchedLoop
from gossamer.wire.pack import Pack

if TYPE_CHECKING:
    from gossamer.core.filters import Filter

log = logging.getLogger("gossamer.readers")


class Readers:
    """Deliveries of the machine on one side, inboxes on the other."""

    def __init__(
        self,
        spool: Spool | None,
        hierarchy: Hierarchy,
        bodies: Bodies,
        metrics: Metrics,
        recorder: Recorder | None,
        subscriptions: Subscriptions,
        now_us: Callable[[], int],
        owner: str,
        limits: ReadingLimits,
        receipts: Receipts,
        loop: WatchedLoop,
    ) -> None:
        self.spool, self.hierarchy, self.bodies, self.metrics = spool, hierarchy, bodies, metrics
        self.recorder, self.subscriptions, self.receipts = recorder, subscriptions, receipts
        self.limits = limits
        self.durables = (
            None
            if spool is None
            else Durables(spool, hierarchy, subscriptions, now_us, self._gave, owner, limits, loop)
        )
        self.audience = Audience(hierarchy)
        self.inboxes = self.audience.inboxes
        self.complaints = Complaints()
        self._spilled = 0
        self._place = spool.last_place if spool is not None else 0

    # -- deliveries ---------------------------------------------------------------------------------------------

    def last_place(self) -> int:
        return self._place

    def deliver(self, deliveries: list[Deliver | Relayed], now_us: int) -> None:
        """Everything delivered, or relayed, in one turn of the loop."""
        place = first = self._keep(deliveries)
        relays = Relayed in {type(each) for each in deliveries}
        for topic, same in groupby(deliveries, lambda each: each.event.topic):
            for kind, alike in groupby(same, type) if relays else ((Deliver, same),):
                run = [*alike]
                if kind is Deliver:
                    self._offer(topic, cast(list[Deliver], run), place, first, now_us)
                place += len(run)

    def _offer(self, topic: Topic, run: list[Deliver], place: int, first: int, now_us: int) -> None:
        """Events of one topic, from this place on: at once, or once all from the first on are committed."""
        again = [each.again for each in run]
        news = run if True not in again else [each for each in run if not each.again]
        self.metrics.delivered(topic, [now_us - each.event.published_us for each in news])
        durable = self.durables is not None and self.durables.log.concerned(topic)
        if not durable and not self.audience.has(topic):
            return
        items = [delivery(each.event, at, each.hops) for at, each in enumerate(run, place)]
        if self.durables is not None and durable:
            self.durables.log.delivered(topic, items, first)
        if len(news) < len(run):
            items = [item for item, came_again in zip(items, again, strict=True) if not came_again]
        for inbox, wanted in self.audience.divided(topic, items):
            inbox.offer(wanted)

    def _keep(self, deliveries: list[Deliver | Relayed]) -> int:
        """Gives each its place, and to the spool if there is one."""
        first = self._place + 1
        self._place += len(deliveries)
        if self.spool is not None:
            first = self.spool.keep([*self._kept(deliveries, self.spool.lived_us())])
            self._place = first + len(deliveries) - 1
        self.receipts.keeping([each.event.id for each in deliveries])
        return first

    def _kept(self, deliveries: list[Deliver | Relayed], at_us: int) -> Iterator[Kept | KeptPack]:
        """Deliveries for the spool: packs as a whole, if they were delivered so."""
        start = 0
        while start < len(deliveries):
            each, body = deliveries[start], self.bodies.get(deliveries[start].event.id)
            if isinstance(body, Pack) and is_whole(body, deliveries[start : start + len(body.ids)]):
                yield KeptPack(body, each.event.topic, each.hops, at_us, each.event.ordinal)
                start += len(body.ids)
            else:
                sealed = body.sealed if isinstance(body, Body) else body or b""
                yield Kept(each.event.id, each.event.topic, sealed, each.hops, at_us, each.event.ordinal)
                start += 1

    def spills(self) -> int:
        """Times a reader was too slow for memory."""
        return self._spilled + sum(inbox.spills for inbox in self.inboxes)

    # -- readers ----- ------------------------------------------------------------------------------------------

    def open(self, topic: Topic, filter: "Filter | None", from_start: bool, ordered: bool, recover: bool) -> Inbox:
        return Inbox(
            topic,
            self.hierarchy,
            self.spool,
            self.last_place,
            filter=filter,
            after=self.spool.first_place - 1 if from_start and self.spool is not None else None,
            ordered=ordered,
            recover=recover,
            counted=Pattern(topic, filter.text) if filter is not None and self.subscriptions.inside else None,
            items_max=self.limits.items_max,
            bytes_max=self.limits.bytes_max,
            gave=lambda item: self._gave(topic, item),
            entered=self._entered,
            left=self._left,
        )

    def tune(self, limits: ReadingLimits) -> None:
        """For readers from now on, and for durable subscriptions at once."""
        self.limits = limits
        if self.durables is not None:
            self.durables.tune(limits)

    async def _entered(self, inbox: Inbox) -> None:
        self.subscriptions.add(inbox.topic, inbox.where, inbox.recover)
        self.audience.add(inbox)

    def _gave(self, topic: Topic, item: Delivery | Gap) -> None:
        """A reader was told of a loss, or was given again what it had not acknowledged."""
        if isinstance(item, Gap):
            self.metrics.gaps += 1
        else:
            self.metrics.redelivered += 1
        if self.recorder is not None:
            self.recorder.gave(topic, item)

    def missing(self, missing: Missing) -> None:
        """Events of a pattern have not come: whoever reads all of it is told, and whoever reads only a part, which is
        not counted by itself."""
        if not missing.counted:
            self._say_uncounted(missing.pattern)
            return
        topic, lost = missing.pattern.topic, missing.last - missing.first + 1
        why = f"events of {topic} from one publisher have not come: they follow if they are found"
        wide = filter_of(missing.pattern)
        durables = () if self.durables is None else self.durables.reading(topic)
        for reader in (*self.audience.readers(topic), *self.audience.below(topic), *durables):
            if wide is None or may_miss(reader, topic, wide, self.hierarchy):
                reader.offer_gap(Gap(lost, why, topic, missing.publisher))

    def given_up(self, lost: GivenUp) -> None:
        """Nobody has these any more. Durable subscriptions are told by the log, whether they are read now or later."""
        run = lost.run
        count, told = run.last + 1 - run.first, "at most so many" if lost.at_most else "they"
        for reader in self.audience.readers(run.topic):
            reader.offer_gap(Gap(count, f"no member has them any more: {told} are lost", "", run.publisher))

    def _say_uncounted(self, pattern: Pattern) -> None:
        self.metrics.uncounted += 1
        if self.complaints.is_new(f"{pattern.topic} {pattern.where}", "uncounted"):
            log.warning(
                "events of %s %s are not all counted, because they match more patterns than can be: if one is lost, "
                "nothing tells that it is missing, and it is found by comparing ids",
                *(pattern.topic, pattern.where or "(all of them)"),
            )

    def _left(self, inbox: Inbox) -> None:
        if inbox in self.inboxes:
            self.audience.remove(inbox)
            self._spilled += inbox.spills
            self.subscriptions.remove(inbox.topic, inbox.where, inbox.recover)

    async def close(self) -> None:
        for inbox in self.inboxes:
            inbox.fail(closed_inbox())
        if self.durables is not None:
            await self.durables.close(closed_inbox())


def may_miss(reader: Inbox | DurableFeed, topic: Topic, wide: "Filter", hierarchy: Hierarchy) -> bool:
    """Whether events counted by this filter are counted for this reader: it asks for the same, or for less."""
    if reader.where == wide.text:
        return True
    if reader.topic != topic and hierarchy.includes(reader.topic, topic):
        return False  # it reads more than is counted here: that is counted too
    from gossamer.core.filters import EVERYTHING  # a node that filters nothing need not load the grammar

    return wide.covers(EVERYTHING if reader.filter is None else reader.filter)


def is_whole(pack: Pack, deliveries: Sequence[Deliver | Relayed]) -> bool:
    """Whether these are all events of a pack, in their order and alike, and follow each other in their stream."""
    if deliveries[0].event.id != pack.ids[0]:
        return False  # of a pack that was delivered in part every event is asked about
    alike = len({(each.event.topic, each.hops) for each in deliveries}) == 1
    follow = deliveries[-1].event.ordinal - deliveries[0].event.ordinal == len(deliveries) - 1
    return alike and follow and [each.event.id for each in deliveries] == [*pack.ids]
