"""The only performer of effects: gives the machine what happens, does what it answers.

Everything of one turn of the loop is handed on together at its end: deliveries to the inboxes and the spool, rows to
the trace, batches to the links.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence

from msgspec import Struct

from gossamer.core.events import Carried
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import (
    Deliver,
    Fetch,
    Fired,
    Given,
    GivenUp,
    Machine,
    Missing,
    Note,
    PeerDown,
    ReadLog,
    Received,
    Relayed,
    Send,
    SetTimer,
    Settled,
)
from gossamer.core.messages import names_of
from gossamer.core.topics import Topic
from gossamer.live.arriving.bodies import Bodies, Body
from gossamer.live.arriving.permissions import Permissions
from gossamer.live.arriving.seals import Seals
from gossamer.live.running.clock import Clock
from gossamer.live.running.performers import Performers
from gossamer.live.watching.metrics import Metrics
from gossamer.live.watching.recorder import Recorder
from gossamer.live.watching.watched_loop import WatchedLoop
from gossamer.protocols.catchup.messages import Brings
from gossamer.protocols.recovery.messages import Again
from gossamer.wire.codec import Codec
from gossamer.wire.frame import PART_BYTES, Copy, packed

log = logging.getLogger("gossamer.driver")

RESENT = (Again, Brings)
"What carries events only to those who miss them."


AGAIN_S = 1.0
"How soon a timer goes off again whose step failed."


class Driver:
    """One node's machine, and the loop it lives in.

    Those who perform its effects feed it in turn: they are built by a function that is given the driver, so that each
    of them is given whom it needs, and so is the driver."""

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
        permissions: Permissions,
        seals: Seals,
        loop: WatchedLoop,
        performers: "Callable[[Driver], Performers]",
    ) -> None:
        self.me, self.machine, self.clock, self.codec = me, machine, clock, codec
        self.tags = {kind: tag for tag, kind in carriers.items()}
        self.bodies, self.metrics, self.recorder = bodies, metrics, recorder
        self.permissions, self.seals = permissions, seals
        self.loop = loop
        self.closed = False
        self.via: Peer = me
        "Whose copy is being met: it needs none back."
        self._deliveries: list[Deliver | Relayed] = []
        self._ticking = False
        self._again: dict[str, asyncio.TimerHandle] = {}
        "Timers whose step failed, as text: they go off once more, unless the machine has set them again itself."
        made = performers(self)
        self.links, self.readers = made.links, made.readers
        self.handover, self.retrieval, self.log = made.handover, made.retrieval, made.log

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
            elif kind is Deliver or kind is Relayed:
                self._deliveries.append(effect)  # type: ignore[arg-type]
            elif kind is SetTimer:
                self._set(effect)  # type: ignore[arg-type]
            elif kind is Missing:
                self.readers.missing(effect)  # type: ignore[arg-type]
            elif kind is Fetch:
                self.retrieval.fetch(effect)  # type: ignore[arg-type]
            elif kind is ReadLog:
                self.log.read(effect)  # type: ignore[arg-type]
            elif kind is GivenUp:
                self.log.give_up(effect)  # type: ignore[arg-type]
            elif kind is Settled:
                self.log.settle(effect)  # type: ignore[arg-type]
            else:
                self._note(effect)  # type: ignore[arg-type]
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
            self.readers.deliver(deliveries, self.clock.now_us())
        if self.recorder is not None:
            self.recorder.tick()

    def _set(self, timer: SetTimer) -> None:
        if self._again and (failed := self._again.pop(repr(timer.timer), None)) is not None:
            failed.cancel()
        self.loop.call_later(timer.after_us / 1e6, self._fire, timer)

    def _fire(self, due: SetTimer) -> None:
        """A step that fails must not end what is done again and again: the timer goes off once more."""
        self._again.pop(repr(due.timer), None) if self._again else None
        try:
            self.feed(Fired(due.timer))
        except Exception as wrong:
            wait_s = max(AGAIN_S, due.after_us / 1e6)
            self._again[repr(due.timer)] = self.loop.call_later(wait_s, self._fire, due)
            self.loop.failed(f"a step of the machine failed, at the timer {type(due.timer).__name__}", wrong)

    def _note(self, note: Note) -> None:
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

    def _send(self, send: Send) -> None:
        message = send.message
        tag = self.tags.get(type(message))
        if tag is None:
            self.metrics.messages_sent += len(send.peers)
            self.links.say(send.peers, self.codec.encode(self.seals.sealed(message)), names_of(message))
            return
        carried = message.carried  # type: ignore[attr-defined]
        if self.permissions.are_needed:  # grants change while somebody is a member
            topic = carried.event.topic
            if carried.more and any(event.topic != topic for event in carried.more):  # each may be for others
                self._send_one_by_one(send, carried)
                return
            may = self.permissions.may
            send = Send(tuple(peer for peer in send.peers if may(peer, "subscribe", topic)), message)
        ids, said = [event.id for event in carried.events], self.codec.said(message)
        pack = self.bodies.pack_of(ids)
        if pack is not None:
            bundle = self.links.bundle(send.peers, pack.publisher, self.via)
            bundle.add_from(pack, ids, carried.hops, tag, carried.route, said)
            self._sent(send, carried, ids, len(pack) // len(pack.ids))
        elif carried.more:
            self._send_one_by_one(send, carried)
        elif (body := self.bodies.get(ids[0]) or self.handover.restored(ids[0])) is None:
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
            self.handover.told(ids, send.peers, type(send.message) in RESENT)
        if self.recorder is not None and self.recorder.full:
            told = tuple(peer for peer in send.peers if peer not in (self.via, publisher))
            now_us = self.clock.now_us()
            for event in carried.events:
                self.recorder.sent(now_us, told, event.id, carried.hops, event.topic, size)

    def _look_for(self, event_id: EventId, peers: tuple[Peer, ...]) -> None:
        """The machine remembers more events than there are bytes at hand: the spool may still have these."""
        log.debug("an event is to be passed on whose bytes are no longer at hand: %s", event_id)
        for peer in peers:
            self.retrieval.fetch(Fetch(peer, (event_id,)))

    def _send_alone(self, peers: tuple[Peer, ...], body: Body, copy: Copy) -> None:
        if len(body) > PART_BYTES:
            self.links.spread_large(peers, copy, body.sealed, self.via)
        else:
            self.links.bundle(peers, copy.id.publisher, self.via).add(packed(copy), body.packed)

    def close(self) -> None:
        """Whatever happens from now on, the machine does not hear of it."""
        self.closed = True

    def peer_down(self, peer: Peer) -> None:
        self.feed(PeerDown(peer))
