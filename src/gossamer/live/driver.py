"""The only performer of effects: gives the machine what happens, does what it answers.

Everything of one turn of the loop is handed on together at its end: deliveries to the inboxes and the spool, rows to
the trace, batches to the links.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct

from gossamer.core.events import Carried
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import (
    Deliver,
    Effect,
    Fetch,
    Fired,
    Given,
    Machine,
    Message,
    Missing,
    Note,
    PeerDown,
    Received,
    Send,
    SetTimer,
)
from gossamer.core.messages import names_of
from gossamer.core.topics import Topic
from gossamer.live.bodies import Bodies, Body
from gossamer.live.clock import Clock
from gossamer.live.metrics import Metrics
from gossamer.live.switchboard import Switchboard
from gossamer.protocols.recovery.messages import Again
from gossamer.wire.codec import Codec
from gossamer.wire.frame import PART_BYTES, Copy, packed

log = logging.getLogger("gossamer.driver")


class Recorder(Protocol):
    """What is written down of a run."""

    full: bool
    "Whether every copy sent is wanted."

    def given(self, now_us: int, given: Given) -> None:
        """Before the step: one that raises must leave its cause."""

    def effects(self, now_us: int, given: Given, effects: list[Effect]) -> None:
        """After the step, if it had any."""

    def raised(self, wrong: BaseException) -> None:
        """After the step, if it failed."""

    def sent(self, now_us: int, peers: tuple[Peer, ...], who: EventId, hops: int, topic: str, size: int) -> None:
        """Copies of an event left."""

    def tick(self) -> None:
        """A turn of the loop is over."""


class Driver:
    """One node's machine, and the loop it lives in."""

    board: Switchboard

    def __init__(
        self,
        me: Peer,
        machine: Machine,
        clock: Clock,
        codec: Codec,
        carriers: dict[str, type[Struct]],
        bodies: Bodies,
        metrics: Metrics,
        recorder: Recorder | None,
    ) -> None:
        self.me, self.machine, self.clock, self.codec = me, machine, clock, codec
        self.tags = {kind: tag for tag, kind in carriers.items()}
        self.bodies, self.metrics, self.recorder = bodies, metrics, recorder
        self.loop = asyncio.get_running_loop()
        self.closed = False
        self.via: Peer = me
        "Whose copy is being met: it needs none back."
        self.may_read: Callable[[Peer, Topic], bool] | None = None
        "Asked of everybody an event is to be sent to; None: nobody becomes a member whose grant was not looked up."
        self.sealed: Callable[[Message], Message] = lambda message: message
        "Puts this node's seal on what it says of itself and others pass on."
        self.restored: Callable[[EventId], Body | None] = lambda event_id: None
        "Finds the body of an event of this node's own that waited for long."
        self.told: Callable[[Sequence[EventId], tuple[Peer, ...], bool], None] = lambda events, peers, again: None
        "Hears to whom events of this node's own went, and whether only because they missed them."
        self.deliver: Callable[[list[Deliver], int], None] = lambda deliveries, now_us: None
        self.noted: Callable[[Note], None] = lambda note: None
        self.missing: Callable[[Missing], None] = lambda missing: None
        self.fetch: Callable[[Fetch], None] = lambda fetch: None
        self._deliveries: list[Deliver] = []
        self._ticking = False

    def feed(self, given: Given) -> None:
        if self.closed:
            return
        self._step(given, self.clock.now_us())

    def refusal(self, topics: Sequence[Topic], gone: Sequence[Topic] = ()) -> str | None:
        return self.machine.refusal(topics, gone)

    def _step(self, given: Given, now_us: int) -> None:
        recorder = self.recorder
        if recorder is not None:
            recorder.given(now_us, given)
        try:
            effects = self.machine.step(given, now_us)
        except BaseException as wrong:
            if recorder is not None:
                recorder.raised(wrong)
            raise
        self.metrics.steps += 1
        if not effects:
            return
        if recorder is not None:
            recorder.effects(now_us, given, effects)
        for effect in effects:
            kind = type(effect)
            if kind is Send:
                self._send(effect)  # type: ignore[arg-type]
            elif kind is Deliver:
                self._deliveries.append(effect)  # type: ignore[arg-type]
            elif kind is SetTimer:
                self._set(effect)  # type: ignore[arg-type]
            elif kind is Missing:
                self.missing(effect)  # type: ignore[arg-type]
            elif kind is Fetch:
                self.fetch(effect)  # type: ignore[arg-type]
            else:
                self.noted(effect)  # type: ignore[arg-type]
        if not self._ticking:
            self._ticking = True
            self.loop.call_soon(self.tick)

    def meet(self, received: Received) -> None:
        """Events not met before, from a peer that needs no copy of them back."""
        self.via = received.peer
        try:
            self.feed(received)
        finally:
            self.via = self.me

    def tick(self) -> None:
        """The end of a turn of the loop in which something happened."""
        self._ticking = False
        if self._deliveries:
            deliveries, self._deliveries = self._deliveries, []
            self.deliver(deliveries, self.clock.now_us())
        if self.recorder is not None:
            self.recorder.tick()

    def _set(self, timer: SetTimer) -> None:
        self.loop.call_later(timer.after_us / 1e6, self.feed, Fired(timer.timer))

    def _send(self, send: Send) -> None:
        message = send.message
        tag = self.tags.get(type(message))
        if tag is None:
            self.metrics.messages_sent += len(send.peers)
            self.board.say(send.peers, self.codec.encode(self.sealed(message)), names_of(message))
            return
        carried = message.carried  # type: ignore[attr-defined]
        if self.may_read is not None:
            if carried.more:  # each may be for others
                self._send_one_by_one(send, carried)
                return
            send = Send(tuple(peer for peer in send.peers if self.may_read(peer, carried.event.topic)), message)
        ids, said = [event.id for event in carried.events], self.codec.said(message)
        pack = self.bodies.pack_of(ids)
        if pack is not None:
            bundle = self.board.bundle(send.peers, pack.publisher, self.via)
            bundle.add_from(pack, ids, carried.hops, tag, carried.route, said)
            self._sent(send, carried, ids, len(pack) // len(pack.ids))
        elif carried.more:
            self._send_one_by_one(send, carried)
        elif (body := self.bodies.get(ids[0]) or self.restored(ids[0])) is None:
            self._look_for(ids[0], send.peers)
        else:
            assert isinstance(body, Body)
            self._send_alone(send.peers, body, Copy(ids[0], body.leaf, carried.hops, tag, carried.route, said))
            self._sent(send, carried, ids, len(body))

    def _send_one_by_one(self, send: Send, carried: Carried) -> None:
        for one in carried.each():
            self._send(Send(send.peers, type(send.message)(one)))

    def _sent(self, send: Send, carried: Carried, ids: list[EventId], size: int) -> None:
        """Copies of so many bytes are on their way."""
        publisher = ids[0].publisher
        if publisher == self.me:
            self.told(ids, send.peers, type(send.message) is Again)
        if self.recorder is not None and self.recorder.full:
            told = tuple(peer for peer in send.peers if peer not in (self.via, publisher))
            now_us = self.clock.now_us()
            for event in carried.events:
                self.recorder.sent(now_us, told, event.id, carried.hops, event.topic, size)

    def _look_for(self, event_id: EventId, peers: tuple[Peer, ...]) -> None:
        """The machine remembers more events than there are bytes at hand: the spool may still have these."""
        log.debug("an event is to be passed on whose bytes are no longer at hand: %s", event_id)
        for peer in peers:
            self.fetch(Fetch(peer, (event_id,)))

    def _send_alone(self, peers: tuple[Peer, ...], body: Body, copy: Copy) -> None:
        if len(body) > PART_BYTES:
            self.board.spread_large(peers, copy, body.sealed, self.via)
        else:
            self.board.bundle(peers, copy.id.publisher, self.via).add(packed(copy), body.packed)

    def peer_down(self, peer: Peer) -> None:
        self.feed(PeerDown(peer))
