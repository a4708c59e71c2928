"""A node's parts, put together: each is given whom it needs. `Node` is what users see of it."""

import logging
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from gossamer.core.draws import fold
from gossamer.core.ids import EventId, Peer, peer_of
from gossamer.core.machine import Contacted, Leave, Message, Note, Started, StartPublishing
from gossamer.core.messages import Carrier
from gossamer.core.stack import Stack
from gossamer.core.topics import topic
from gossamer.core.trace import Level
from gossamer.live.arriving.arrivals import Arrivals
from gossamer.live.arriving.bodies import Bodies
from gossamer.live.arriving.control_messages import Asked, ControlMessages
from gossamer.live.arriving.faults import losing_of
from gossamer.live.arriving.incoming import Incoming
from gossamer.live.arriving.messages import Messages
from gossamer.live.arriving.permissions import Permissions
from gossamer.live.arriving.receipts import Receipts
from gossamer.live.arriving.records import Records
from gossamer.live.arriving.requests import Requests
from gossamer.live.arriving.revoking import Revoking
from gossamer.live.arriving.seals import Seals
from gossamer.live.config.config import Config
from gossamer.live.config.tables import within_memory
from gossamer.live.keys.trust import Trust
from gossamer.live.links.address_book import AddressBook
from gossamer.live.links.connections import Attached, Connections
from gossamer.live.links.control import CLIENT_CONTROL, NODE_CONTROL
from gossamer.live.links.seeds import Seeds
from gossamer.live.links.transports import Transport
from gossamer.live.publishing.handover import HandOver
from gossamer.live.publishing.publishing import Publishing
from gossamer.live.publishing.sealing import Sealing
from gossamer.live.reading.limits import reading_limits
from gossamer.live.reading.log_reading import LogReading
from gossamer.live.reading.readers import Readers
from gossamer.live.reading.retrieval import Retrieval
from gossamer.live.reading.subscriptions import Subscriptions
from gossamer.live.running.clock import Clock
from gossamer.live.running.driver import Driver
from gossamer.live.running.former_life import former_life, old_acquaintances
from gossamer.live.running.performers import Performers
from gossamer.live.running.spread_rules import rules_of
from gossamer.live.spool import Spool
from gossamer.live.watching.journal import open_journal
from gossamer.live.watching.metrics import Metrics
from gossamer.live.watching.recorder import open_recorder
from gossamer.live.watching.scribe import Scribe
from gossamer.live.watching.watched_loop import WatchedLoop
from gossamer.protocols.assemble import BY_CONTENT
from gossamer.wire.codec import Codec
from gossamer.wire.journal import Settings

log = logging.getLogger("gossamer.node")

SEEDS_PATIENCE_S = 2.0
"How long the start waits for seeds to answer; they are called on afterwards."
BEAT_S = 1.0
SETTLE_S = 0.5
"So long a publisher looks around on a topic that is new to it before it takes the members it knows for all there are."


class Clients(Attached, Asked, Protocol):
    """Whoever serves clients."""


class Station:
    """Everything a running node consists of."""

    def __init__(
        self,
        config: Config,
        trust: Trust,
        spool: Spool | None,
        clock: Clock,
        metrics: Metrics,
        make_transport: Callable[[Trust, float], Transport],
        clients: Clients,
        loop: WatchedLoop,
    ) -> None:
        self.config, self.trust, self.spool, self.clock, self.metrics = config, trust, spool, clock, metrics
        self.clients, self.loop = clients, loop
        self.me: Peer = peer_of(trust.name)
        self.incarnation = spool.incarnation if spool is not None else clock.now_us()
        self._version = self.incarnation  # of its last record: greater than those of every life before
        self.hierarchy = config.hierarchy.order()
        self.book, self.bodies = AddressBook(config.limits.records_max, clock.now_us), Bodies()
        self.begun = False
        self.seed = fold(self.me, self.incarnation)
        granted = trust.lives_at(self.me)
        self.design = config.design_at(granted)
        self.scribe = Scribe(loop)
        self.journal = open_journal(
            config, trust.name, self.incarnation, self.seed, self._in_force, granted, self.scribe
        )
        self.machine: Stack = self.design.node(
            self.me,
            self.seed,
            self.hierarchy,
            lambda name: self.config.params_of(name),
            lambda: self.config.scamp,
            config.search,
            spell=trust.spell if self.journal is None else self.journal.noting(trust.spell),
            recovery=lambda name: self.config.recovery_of(name),
            catchup=config.catching_up,
        )
        messages = self.design.messages
        self.codec = Codec(dict.fromkeys((*messages, *NODE_CONTROL, *CLIENT_CONTROL)))
        self.carriers: dict[str, type[Message]] = {
            str(each.__struct_config__.tag): each for each in messages if issubclass(each, Carrier)
        }
        "Messages that carry an event, by tag."
        self.recorder = open_recorder(config, trust.name, self.incarnation, clock, self.journal, self.scribe)
        self.losing = losing_of(self.me, trust.name, config.faults)
        self.permissions = Permissions(trust)
        self.rules = rules_of(
            self.me,
            self.machine,
            config.community,
            self.design.address,
            self.permissions,
            trust,
            self.book,
        )
        self.seals = Seals(self.me, trust, self.rules)
        self.sealing = Sealing(trust, self.bodies)
        self.transport = make_transport(trust, config.timeouts.handshake_s)
        self.driver = Driver(
            self.me,
            self.machine,
            clock,
            self.codec,
            self.carriers,
            self.bodies,
            metrics,
            self.recorder,
            self.permissions,
            self.seals,
            loop,
            self._performers,
        )
        self.publishing = Publishing(
            self.me,
            self.incarnation,
            self.driver,
            self.sealing,
            self.connections.outgoing,
            self.bodies,
            spool,
            self.handover,
            metrics,
            config.limits.event_bytes_max,
            within_memory(config.spool, config.spool.outbox_bytes),
            config.spool.outbox_full,
        )
        self.seeds = Seeds(config.seeds, self.connections, self._found_seed)

    # -- two circles, each cut in one place: the one is built by a function that is given the other ---------------

    def _performers(self, driver: Driver) -> Performers:
        """Those who do what the machine asks for, and feed its driver in turn."""
        config = self.config
        self.handover = HandOver(
            self.me,
            driver,
            self.bodies,
            self.spool,
            self.permissions,
            self.rules,
            self.sealing,
            again_s=config.timeouts.ack_s,
            forget_after_s=config.spool.keep_s,
            copies=config.spool.copies,
            settle_s=min(SETTLE_S, config.timeouts.ack_s),
        )
        self.connections = Connections(
            self.me,
            self.transport,
            self.trust,
            self.book,
            self.codec,
            self.metrics,
            self.recorder,
            self.clients,
            given_up=driver.peer_down,
            loop=self.loop,
            incoming=lambda connections: self._incoming(driver, connections),
            network=config.network,
            spread=self.design.title,
            handshake_s=config.timeouts.handshake_s,
            dial_s=config.timeouts.dial_s,
            idle_s=config.timeouts.idle_s,
            queue_bytes=config.limits.link_queue_bytes,
            frame_bytes=config.limits.frame_bytes,
            links_max=config.limits.links_max,
        )
        self.readers = Readers(
            self.spool,
            self.hierarchy,
            self.bodies,
            self.metrics,
            self.recorder,
            Subscriptions(driver, config.spread in BY_CONTENT, lambda name: self.config.recovery_of(name)),
            self.clock.now_us,
            self.trust.name,
            reading_limits(config),
            self.receipts,
            self.loop,
        )
        self.log_reading = LogReading(driver, self.bodies, self.spool, self.readers, self.book)
        retrieval = Retrieval(driver, self.bodies, self.spool)
        return Performers(self.connections.outgoing, self.readers, self.handover, retrieval, self.log_reading)

    def _incoming(self, driver: Driver, connections: Connections) -> Incoming:
        """Those who hear what comes over links, and answer over them."""
        limits, codec, metrics, permissions = self.config.limits, self.codec, self.metrics, self.permissions
        self.requests = Requests(limits.requests_per_s, limits.requests_burst)
        self.records = Records(self.me, self.trust, self.book, permissions, self.seals, driver, self.rules, connections)
        self.revoking = Revoking(self.trust, self.records, codec, driver, connections)
        self.receipts = Receipts(self.spool, self.bodies, driver, connections.outgoing)
        events = Arrivals(
            driver,
            self.trust,
            self.book,
            self.bodies,
            self.carriers,
            codec,
            metrics,
            self.recorder,
            permissions,
            self.rules,
            self.receipts,
        )
        messages = Messages(
            self.book,
            codec,
            self.carriers,
            metrics,
            driver,
            ControlMessages(self.handover, connections, self.revoking, self.clients),
            permissions,
            self.seals,
            self.requests,
            self.losing,
        )
        return Incoming(self.records, events, messages, self.revoking, self.spool, self.losing, self.loop, self.clients)

    # -- what a configuration asks for ----------------------------------------------------------------------------

    def _in_force(self) -> Settings:
        config = self.config
        return Settings(config.camcast, config.topics, config.scamp, config.recovery, config.recovery_topics)

    def keep_trace(self, level: Level) -> None:
        """Another level of traces from now on. Who begins in the middle says first what it takes part in."""
        if level == "journal" and (self.recorder is None or self.recorder.journal is None):
            log.warning("%s: a journal begins with a node's life: restart it to get one", self.trust.name)
        recorder = self.recorder
        if recorder is None:
            return
        recorder.keep(level)
        if level != "off" and not recorder.writer.seq:
            now_us = self.clock.now_us()
            roles = [Note("relay")] if self.machine.spread.relays else []
            recorder.effects(now_us, Started(), [Note("start"), *roles])
            recorder.effects(now_us, Started(), self.readers.subscriptions.notes())

    # -- life ---------------------------------------------------------------------------------------------------

    async def listen(self) -> str:
        """Takes calls; where."""
        bound = await self.transport.listen(self.config.bind, self.connections.answer, self.connections.turned_away)
        self.addresses = self.config.advertised(bound)
        self.renew_record()
        return bound

    def renew_record(self) -> None:
        """This node's record, anew: its address or its keys have changed. Whoever is linked hears of it."""
        self._version = max(self.clock.now_us(), self._version + 1)
        if self.spool is not None:
            self.spool.renewed(self._version)
        own = self.trust.record(self.addresses, self._version, self.incarnation)
        self.book.add(self.trust.admit(own, time.time()), own)
        self.connections.renew(own)

    async def begin(self) -> None:
        """Reaches the seeds, and takes up where a former life ended."""
        contacts = await self.seeds.reach(SEEDS_PATIENCE_S)
        memory: tuple[EventId, ...] = ()
        waiting = 0
        if self.spool is not None:
            memory, waiting = await former_life(self.spool)
            contacts = tuple(dict.fromkeys((*contacts, *await old_acquaintances(self.spool, self.records))))
        former = await self.log_reading.former(self.records)
        self.begun = True
        for given in (Started(contacts, memory), *former):
            self.driver.feed(given)
        for name in self.config.subscribe:
            self.readers.subscriptions.add(topic(name))
        if self.readers.durables is not None:
            await self.readers.durables.begin(lambda name: self.permissions.may(self.me, "subscribe", name))
        self.announce(self.config.publish)
        await self.handover.backlog.take_up(waiting)
        self._beat_due_s = self.loop.time()
        self._beat()

    def announce(self, names: Sequence[str]) -> None:
        """Joins communities to be published to. Where that is not granted, events are handed to members instead."""
        for name in map(topic, names):
            if self.permissions.may(self.me, "subscribe", name):
                self.driver.feed(StartPublishing(name))

    def _found_seed(self, peer: Peer) -> None:
        if self.begun:
            self.driver.feed(Contacted((peer,)))

    def _beat(self) -> None:
        """Once a second: the clock is looked at, and a quiet node says in its trace that it is alive."""
        if not self.driver.closed:
            self.loop.call_later(BEAT_S, self._beat)  # first: it goes on, whatever happens now
            now_s = self.loop.time()
            self.metrics.loop_lag_us = max(0, round((now_s - self._beat_due_s) * 1e6))
            self._beat_due_s = now_s + BEAT_S
            self.clock.check()
            if self.recorder is not None:
                self.recorder.tick()

    async def close(self, leave: bool) -> None:
        """Hands over what was published, says goodbye, writes everything down."""
        patience_s = self.config.timeouts.leave_s
        if leave:
            await self.publishing.handed_over(patience_s, hopefully=True)
            self.driver.feed(Leave())
            self.driver.tick()
        self.publishing.close()
        self.handover.close()
        await self.seeds.close()
        await self.connections.close(patience_s)
        self.driver.close()
        await self.readers.close()
        if self.recorder is not None:
            self.recorder.close()
        self.scribe.close()
