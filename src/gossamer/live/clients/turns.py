"""Whose request is next. Identities take turns: whoever asks much waits for itself, and others do not wait for it.

What a client said waits in its session until its turn; as long as something waits, nothing more is read from it.
"""

import asyncio
from typing import TYPE_CHECKING

from gossamer.live.clients.identities import Identity
from gossamer.live.running.clock import monotonic_us

if TYPE_CHECKING:
    from gossamer.live.clients.session import ClientSession

TURN = 64
"Requests served in one turn of the loop, about: a few milliseconds. A long one counts for several."
QUANTUM = 16
"Those of one identity, before others have their turn."
ALONE = 1024
"Requests served in one turn where nobody else asked anything lately: nobody waits for them."
UNDER_WAY_MAX = 2000
UNDER_WAY_BYTES = 32 << 20
"Requests of one identity that may be under way, where nobody else has any, and their payloads."
UNDER_WAY_SHARED = 256
"Where others asked lately: so many of all of them, for they are spooled in the order in which they came."
LATELY_US = 1_000_000


class Turns:
    """Of all clients of one node."""

    def __init__(self) -> None:
        self.ready: dict[Identity, None] = {}
        "Whoever has requests that can be served, in the order of their turns."
        self.lately: dict[Identity, int] = {}
        "Whoever asked something within a second, and when last; longest ago first."
        self._loop = asyncio.get_running_loop()
        self._scheduled = False

    def wait(self, session: "ClientSession") -> bool:
        """This session has requests to be served; whether they will be in the next turn of the loop."""
        identity = session.identity
        identity.waiting.append(session)
        self.lately.pop(identity, None)
        self.lately[identity] = monotonic_us()
        self._go_on(identity)
        return identity in self.ready

    def _go_on(self, identity: Identity) -> None:
        if identity.waiting and not identity.rests and self._has_room(identity):
            self.ready[identity] = None
            self._schedule()

    def _schedule(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._turn)

    def _has_room(self, identity: Identity) -> bool:
        others = len(self.lately) - (identity in self.lately)
        most = UNDER_WAY_MAX if not others else max(1, UNDER_WAY_SHARED // (others + 1))
        return identity.under_way < most and identity.under_way_bytes < UNDER_WAY_BYTES

    def _turn(self) -> None:
        self._scheduled = False
        now_us = monotonic_us()
        self._forget(now_us)
        left, most = (float(TURN), QUANTUM) if len(self.lately) > 1 else (float(ALONE), ALONE)
        for _ in range(len(self.ready)):
            identity = next(iter(self.ready))
            del self.ready[identity]
            if (pause_us := identity.requests.debt_us(now_us)) > 0:
                identity.rests = True
                self._loop.call_later(pause_us / 1e6, self._rested, identity)
                continue
            try:
                cost = self._serve(identity, min(most, left))
                identity.requests.spend(now_us, cost)
                left -= cost
            finally:
                self._go_on(identity)
            if left <= 0:
                break
        if self.ready:
            self._schedule()

    def _rested(self, identity: Identity) -> None:
        identity.rests = False
        self._go_on(identity)

    def _serve(self, identity: Identity, most: float) -> float:
        """Its connections one after the other: several get no more than one would."""
        cost = 0.0
        while identity.waiting and cost < most and self._has_room(identity):
            session = identity.waiting.popleft()
            while cost < most and session.can_go_on() and self._has_room(identity):
                cost += session.serve_next()
            if session.can_go_on():
                identity.waiting.append(session)
            session.settle()
        return cost

    def begun(self, identity: Identity, size: int) -> None:
        """A request of this one is under way."""
        identity.under_way += 1
        identity.under_way_bytes += size

    def done(self, identity: Identity, size: int) -> None:
        identity.under_way -= 1
        identity.under_way_bytes -= size
        self._go_on(identity)

    def _forget(self, now_us: int) -> None:
        """Whoever asked nothing lately leaves its share to others."""
        while self.lately and now_us - self.lately[first := next(iter(self.lately))] > LATELY_US:
            del self.lately[first]
