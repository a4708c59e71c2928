"""All inboxes of a node: which events each gets, which topics the node reads for them, and what the spool keeps."""

import logging
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from gossamer.core.machine import Deliver, Missing
from gossamer.core.pattern_index import filter_of
from gossamer.core.patterns import Pattern
from gossamer.core.topics import Hierarchy, Topic
from gossamer.live.audience import Audience
from gossamer.live.bodies import Bodies, Body
from gossamer.live.complaints import Complaints
from gossamer.live.deliveries import Delivery, Gap, delivery
from gossamer.live.inbox import Inbox, closed_inbox
from gossamer.live.metrics import Metrics
from gossamer.live.spool import Kept, KeptPack, Spool
from gossamer.live.subscriptions import Subscriptions
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
        subscriptions: Subscriptions,
        items_max: int,
        bytes_max: int,
    ) -> None:
        self.spool, self.hierarchy, self.bodies, self.metrics = spool, hierarchy, bodies, metrics
        self.subscriptions = subscriptions
        self.items_max, self.bytes_max = items_max, bytes_max
        self.audience = Audience(hierarchy)
        self.inboxes = self.audience.inboxes
        self.gave: Callable[[Topic, Delivery | Gap], None] = lambda topic, item: None
        "Told of every loss a reader of this topic was told of, and of every event it was given again."
        self.complaints = Complaints()
        self._spilled = 0
        self._place = spool.last_place if spool is not None else 0

    # -- deliveries ---------------------------------------------------------------------------------------------

    def last_place(self) -> int:
        return self._place

    def deliver(self, deliveries: list[Deliver], now_us: int) -> None:
        """Everything delivered in one turn of the loop."""
        place = self._keep(deliveries, now_us)
        for topic, same in groupby(deliveries, lambda each: each.event.topic):
            run = [*same]
            self._offer(topic, run, place)
            self.metrics.delivered(topic, [now_us - each.event.published_us for each in run])
            place += len(run)

    def _offer(self, topic: Topic, run: list[Deliver], first: int) -> None:
        """Events of one topic, from this place on."""
        if not self.audience.has(topic):
            return
        items = [delivery(each.event, place, each.hops) for place, each in enumerate(run, first)]
        for inbox, wanted in self.audience.divided(topic, items):
            inbox.offer(wanted)

    def _keep(self, deliveries: list[Deliver], now_us: int) -> int:
        """Gives each its place, and to the spool if there is one."""
        first = self._place + 1
        self._place += len(deliveries)
        if self.spool is not None:
            first = self.spool.keep([*self._kept(deliveries, now_us)])
            self._place = first + len(deliveries) - 1
        return first

    def _kept(self, deliveries: list[Deliver], now_us: int) -> Iterator[Kept | KeptPack]:
        """Deliveries for the spool: packs as a whole, if they were delivered so."""
        start = 0
        while start < len(deliveries):
            each, body = deliveries[start], self.bodies.get(deliveries[start].event.id)
            if isinstance(body, Pack) and is_whole(body, deliveries[start : start + len(body.ids)]):
                yield KeptPack(body, each.event.topic, each.hops, now_us)
                start += len(body.ids)
            else:
                sealed = body.sealed if isinstance(body, Body) else body or b""
                yield Kept(each.event.id, each.event.topic, sealed, each.hops, now_us)
                start += 1

    def spills(self) -> int:
        """Times a reader was too slow for memory."""
        return self._spilled + sum(inbox.spills for inbox in self.inboxes)

    # -- subscriptions ------------------------------------------------------------------------------------------

    def open(
        self, topic: Topic, filter: "Filter | None", name: str, from_start: bool, ordered: bool, recover: bool
    ) -> Inbox:
        return Inbox(
            topic,
            self.hierarchy,
            self.spool,
            self.last_place,
            filter=filter,
            name=name,
            after=self.spool.first_place - 1 if from_start and self.spool is not None else None,
            ordered=ordered,
            recover=recover,
            counted=Pattern(topic, filter.text) if filter is not None and self.subscriptions.inside else None,
            items_max=self.items_max,
            bytes_max=self.bytes_max,
            gave=lambda item: self._gave(topic, item),
            entered=self._entered,
            left=self._left,
        )

    async def _entered(self, inbox: Inbox) -> None:
        if inbox.name and self.spool is not None:
            cursor = await self.spool.cursor(inbox.name)
            if cursor is not None:
                inbox.resume(cursor.acked, cursor.offered)
            else:
                inbox.begin(self._place)
        self.subscriptions.add(inbox.topic, inbox.where, inbox.recover)
        self.audience.add(inbox)

    def _gave(self, topic: Topic, item: Delivery | Gap) -> None:
        """A reader was told of a loss, or was given again what it had not acknowledged."""
        if isinstance(item, Gap):
            self.metrics.gaps += 1
        else:
            self.metrics.redelivered += 1
        self.gave(topic, item)

    def missing(self, missing: Missing) -> None:
        """Events of a pattern have not come: whoever reads all of it is told, and whoever reads only a part, which is
        not counted by itself."""
        if not missing.counted:
            self._say_uncounted(missing.pattern)
            return
        topic, lost = missing.pattern.topic, missing.last - missing.first + 1
        why = f"events of {topic} from one publisher have not come: they follow if they are found"
        wide = filter_of(missing.pattern)
        for inbox in (*self.audience.readers(topic), *self.audience.below(topic)):
            if wide is None or may_miss(inbox, topic, wide):
                inbox.offer_gap(Gap(lost, why, topic, missing.publisher))

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

    def close(self) -> None:
        for inbox in self.inboxes:
            inbox.fail(closed_inbox())


def may_miss(inbox: Inbox, topic: Topic, wide: "Filter") -> bool:
    """Whether events counted by this filter are counted for this reader: it asks for the same, or for less."""
    if inbox.where == wide.text:
        return True
    if inbox.topic != topic and inbox.hierarchy.includes(inbox.topic, topic):
        return False  # it reads more than is counted here: that is counted too
    from gossamer.core.filters import EVERYTHING  # a node that filters nothing need not load the grammar

    return wide.covers(inbox.filter or EVERYTHING)


def is_whole(pack: Pack, deliveries: Sequence[Deliver]) -> bool:
    """Whether these are all events of a pack, in their order and alike."""
    if deliveries[0].event.id != pack.ids[0]:
        return False  # of a pack that was delivered in part every event is asked about
    alike = len({(each.event.topic, each.hops) for each in deliveries}) == 1
    return alike and [each.event.id for each in deliveries] == [*pack.ids]
