"""A node's parts, put together: who tells whom. `Node` is what users see of it."""

import contextlib
import logging
import time
from collections.abc import Callable, Sequence

from gossamer.core.draws import fold
from gossamer.core.errors import PeerFault
from gossamer.core.ids import EventId, Peer, peer_of
from gossamer.core.machine import Contacted, Leave, Message, Note, Started, StartPublishing
from gossamer.core.messages import Carrier
from gossamer.core.stack import Stack
from gossamer.core.topics import topic
from gossamer.core.trace import Head, Level
from gossamer.live.bodies import Bodies
from gossamer.live.book import Book
from gossamer.live.clock import Clock
from gossamer.live.config import Config
from gossamer.live.control import CLIENT_CONTROL, NODE_CONTROL
from gossamer.live.deliveries import Delivery, Gap
from gossamer.live.driver import Driver
from gossamer.live.faults import Losing
from gossamer.live.gauges import look_up
from gossamer.live.handover import HandOver
from gossamer.live.hearing import Hearing
from gossamer.live.journal import open_journal
from gossamer.live.metrics import Metrics
from gossamer.live.office import Office
from gossamer.live.participant import take_part
from gossamer.live.publishing import Publishing
from gossamer.live.readers import Readers
from gossamer.live.recorder import Recorder
from gossamer.live.requests import Requests
from gossamer.live.retrieval import Retrieval
from gossamer.live.seeds import Seeds
from gossamer.live.spool import Spool, Waiting
from gossamer.live.subscriptions import Subscriptions
from gossamer.live.switchboard import Switchboard
from gossamer.live.traces import SegmentWriter, host
from gossamer.live.transports import Transport
from gossamer.live.trust import Trust
from gossamer.protocols.assemble import BY_CONTENT
from gossamer.protocols.dispatch.layer import Dispatch
from gossamer.wire.codec import Codec
from gossamer.wire.journal import Settings

log = logging.getLogger("gossamer.node")

SEEDS_PATIENCE_S = 2.0
"How long the start waits for seeds to answer; they are called on afterwards."
BEAT_S = 1.0
CONTACTS_MAX = 16
"Peers of a former life to begin with, beside the seeds."
REMEMBERED = 100_000
"Events of a former life that are not news."


class Station:
    """Everything a running node consists of."""

    def __init__(
        self,
        config: Config,
        trust: Trust,
        spool: Spool | None,
        clock: Clock,
        metrics: Metrics,
        make_transport: Callable[[Trust], Transport],
    ) -> None:
        self.config, self.trust, self.spool, self.clock, self.metrics = config, trust, spool, clock, metrics
        self.me: Peer = peer_of(trust.name)
        self.incarnation = spool.incarnation if spool is not None else clock.now_us()
        self.hierarchy = config.hierarchy.order()
        self.book, self.bodies = Book(config.limits.records_max), Bodies()
        self.begun = False
        self.seed = fold(self.me, self.incarnation)
        granted = trust.lives_at(self.me)
        self.design = config.design_at(granted)
        self.journal = open_journal(config, trust.name, self.incarnation, self.seed, self._in_force, granted)
        self.machine: Stack = self.design.node(
            self.me,
            self.seed,
            self.hierarchy,
            lambda name: self.config.params_of(name),
            lambda: self.config.scamp,
            config.search,
            spell=trust.spell if self.journal is None else self.journal.noting(trust.spell),
            recovery=lambda name: self.config.recovery_of(name),
        )
        messages = self.design.messages
        self.codec = Codec(dict.fromkeys((*messages, *NODE_CONTROL, *CLIENT_CONTROL)))
        self.carriers: dict[str, type[Message]] = {
            str(each.__struct_config__.tag): each for each in messages if issubclass(each, Carrier)
        }
        "Messages that carry an event, by tag."
        self.recorder = self._recorder()
        self.driver = Driver(
            self.me, self.machine, self.clock, self.codec, self.carriers, self.bodies, metrics, self.recorder
        )
        self.office = Office(config.network, "node", self.driver, trust, self.codec, metrics)
        self.office.spread = self.design.title
        self.transport = make_transport(trust)
        self.transport.handshake_s = config.timeouts.handshake_s
        self.board = self._switchboard()
        self.hearing = self._hearing()
        self.handover = HandOver(
            self.me, self.driver, self.bodies, spool, config.timeouts.ack_s, forget_after_s=config.spool.keep_s
        )
        self.publishing = self._publishing()
        self.readers = Readers(
            spool,
            self.hierarchy,
            self.bodies,
            metrics,
            Subscriptions(self.driver, config.spread in BY_CONTENT, lambda name: self.config.recovery_of(name)),
            config.limits.inbox_items,
            config.limits.inbox_bytes,
        )
        self.seeds = Seeds(config.seeds, self.board, self._found_seed)
        self._join()

    def _in_force(self) -> Settings:
        config = self.config
        return Settings(config.camcast, config.topics, config.scamp, config.recovery, config.recovery_topics)

    def _recorder(self) -> Recorder | None:
        config = self.config.trace
        if config.folder is None or config.level == "off":
            return None
        head = Head(
            self.config.network,
            self.me,
            name=self.trust.name,
            incarnation=self.incarnation,
            level=config.level,
            host=host(),
            offset_us=self.clock.offset_us,
        )
        return Recorder(SegmentWriter(config.folder, head, now_us=self.clock.now_us), self.journal)

    def _switchboard(self) -> Switchboard:
        limits, timeouts = self.config.limits, self.config.timeouts
        return Switchboard(
            self.me,
            self.office,
            self.transport,
            self.trust,
            self.book,
            self.metrics,
            handshake_s=timeouts.handshake_s,
            dial_s=timeouts.dial_s,
            idle_s=timeouts.idle_s,
            queue_bytes=limits.link_queue_bytes,
            frame_bytes=limits.frame_bytes,
            links_max=limits.links_max,
        )

    def _hearing(self) -> Hearing:
        return Hearing(
            self.me,
            self.trust,
            self.book,
            self.bodies,
            self.codec,
            self.carriers,
            self.metrics,
            self.machine,
            self.clock,
            self.driver.feed,
            self.driver.meet,
            self.office.control,
            Requests(self.config.limits.requests_per_s, self.config.limits.requests_burst),
        )

    def _publishing(self) -> Publishing:
        return Publishing(
            self.me,
            self.incarnation,
            self.driver,
            self.trust,
            lambda act, topic: self.hearing.may(self.me, act, topic),
            self.bodies,
            self.spool,
            self.handover,
            self.metrics,
            self.config.limits.event_bytes_max,
        )

    def _join(self) -> None:
        """Who tells whom."""
        self.driver.board = self.office.board = self.board
        self.office.hearing, self.office.handover = self.hearing, self.handover
        self.board.bye = self.office.bye
        self.driver.told = self.handover.told
        spread, pending = self.machine.spread, self.machine.publications.pending
        if isinstance(spread, Dispatch):
            self.handover.is_unwanted = lambda event_id: event_id not in pending and spread.linked()
            self.handover.knows_all = spread.settled
        if self.config.spread == "spidercast":  # topics stand in what neighbours say as words, which no grant is about
            self.driver.may_read = lambda peer, topic: self.hearing.may(peer, "subscribe", topic)
            self.driver.sealed = self.hearing.seals.sealed
        take_part(self)
        self.driver.restored = self.handover.restored
        self.driver.deliver = self.readers.deliver
        self.driver.noted, self.driver.missing = self._noted, self.readers.missing
        self.readers.gave = self._gave
        if self.spool is not None:
            self.office.met = self.spool.remember
            self.driver.fetch = Retrieval(self.driver, self.bodies, self.spool).fetch
        if loss := self.config.faults.loss:
            self.hearing.losing = Losing(self.me, self.config.faults)
            log.warning("%s loses %g %% of what it hears, as [faults] says", self.trust.name, 100 * loss)
        self.hearing.arrivals.ours = self.office.arrived_straight
        self.board.on_refusal = self._refused
        self.transport.turned_away = self._turned_away
        if self.recorder is not None:
            self.hearing.arrivals.copy_met = self.recorder.received if self.recorder.full else None
        self.metrics.before.append(lambda: look_up(self))

    def _turned_away(self, reason: str, where: str, detail: str) -> None:
        log.info("turned away a caller from %s: %s", where, detail)
        self.board.refused(None, reason)

    def _refused(self, peer: Peer | None, reason: str) -> None:
        if self.recorder is not None:
            self.recorder.refused(self.clock.now_us(), peer, reason)

    def _gave(self, name: str, item: Delivery | Gap) -> None:
        if self.recorder is not None:
            self.recorder.gave(self.clock.now_us(), name, item)

    def _noted(self, note: Note) -> None:
        if note.kind == "parasite":
            self.metrics.parasites += 1
        elif note.kind == "relay" and note.event is not None:  # without one it declares the role
            self.metrics.relays += 1
        elif note.kind == "recover":
            self.metrics.recovered += 1
        elif note.kind == "drop" and note.event is not None:
            self.handover.dropped(note.event)
        elif note.kind == "reject":
            self.metrics.refuse(note.detail or "bad message")

    def keep_trace(self, level: Level) -> None:
        """Another level of traces from now on. Who begins in the middle says first what it takes part in."""
        if level == "journal" and (self.recorder is None or self.recorder.journal is None):
            log.warning("%s: a journal begins with a node's life: restart it to get one", self.trust.name)
        if self.recorder is not None:
            self.recorder.keep(level)
        elif (recorder := self._recorder()) is not None:
            self.recorder = self.driver.recorder = recorder
            now_us = self.clock.now_us()
            roles = [Note("relay")] if self.machine.spread.relays else []
            recorder.effects(now_us, Started(), [Note("start"), *roles])
            recorder.effects(now_us, Started(), self.readers.subscriptions.notes())
        if self.recorder is not None:
            self.hearing.arrivals.copy_met = self.recorder.received if self.recorder.full else None

    # -- life ---------------------------------------------------------------------------------------------------

    async def listen(self) -> str:
        """Takes calls; where."""
        bound = await self.transport.listen(self.config.bind, self.board.answer)
        self.addresses = self.config.advertised(bound)
        self.renew_record()
        return bound

    def renew_record(self) -> None:
        """This node's record, anew: its address or its keys have changed. Whoever is linked hears of it."""
        self.office.own = self.trust.record(self.addresses, self.clock.now_us())
        self.book.add(self.trust.admit(self.office.own, time.time()), self.office.own)
        for line in self.board.lines.values():
            line.mentions[self.me] = None
            self.board.touched(line)

    async def begin(self) -> None:
        """Reaches the seeds, and takes up where a former life ended."""
        contacts = await self.seeds.reach(SEEDS_PATIENCE_S)
        memory: tuple[EventId, ...] = ()
        waiting: list[Waiting] = []
        if self.spool is not None:
            memory, waiting = await self._former_life(self.spool)
            contacts = tuple(dict.fromkeys((*contacts, *await self._old_acquaintances(self.spool))))
        self.begun = True
        self.driver.feed(Started(contacts, memory))
        for name in self.config.subscribe:
            self.readers.subscriptions.add(topic(name))
        self.announce(self.config.publish)
        self.publishing.resume(waiting)
        self._beat_due_s = self.driver.loop.time()
        self._beat()

    async def _old_acquaintances(self, spool: Spool) -> list[Peer]:
        """Peers a former life was linked to, as far as their records are still good: a node finds its network again
        even where no seed answers."""
        found = []
        for peer, data in (await spool.remembered())[-CONTACTS_MAX:]:
            with contextlib.suppress(PeerFault):
                if self.hearing.admit(data).peer == peer != self.me:
                    found.append(peer)
        return found

    def announce(self, names: Sequence[str]) -> None:
        """Joins communities to be published to. Where that is not granted, events are handed to members instead."""
        for name in map(topic, names):
            if self.hearing.may(self.me, "subscribe", name):
                self.driver.feed(StartPublishing(name))

    async def _former_life(self, spool: Spool) -> tuple[tuple[EventId, ...], list[Waiting]]:
        """What is not news, and what still has to be handed over. A publication that was not delivered here yet, to
        readers of this same node, is news to them."""
        seen = await spool.seen(REMEMBERED)
        outbox = await spool.outbox(REMEMBERED)
        own = [event_id for each in outbox for event_id in each.ids]
        news = {*own} - await spool.delivered(own)
        self.handover.shelved = len(await spool.outbox(1, outbox[-1].number)) if outbox else 0  # there may be more
        return tuple(each for each in seen if each not in news), outbox

    def _found_seed(self, peer: Peer) -> None:
        if self.begun:
            self.driver.feed(Contacted((peer,)))

    def _beat(self) -> None:
        """Once a second: the clock is looked at, and a quiet node says in its trace that it is alive."""
        if not self.driver.closed:
            now_s = self.driver.loop.time()
            self.metrics.loop_lag_us = max(0, round((now_s - self._beat_due_s) * 1e6))
            self._beat_due_s = now_s + BEAT_S
            self.clock.check()
            if self.recorder is not None:
                self.recorder.tick()
            self.driver.loop.call_later(BEAT_S, self._beat)

    async def close(self, leave: bool) -> None:
        """Hands over what was published, says goodbye, writes everything down."""
        patience_s = self.config.timeouts.leave_s
        if leave:
            await self.publishing.handed_over(patience_s)
            self.driver.feed(Leave())
            self.driver.tick()
        self.publishing.close()
        self.handover.close()
        await self.seeds.close()
        await self.board.close(patience_s)
        self.driver.closed = True
        self.readers.close()
        if self.recorder is not None:
            self.recorder.close()
