"""Who is given up: a world's machines are told `PeerDown` when a live driver would tell them.

A live node learns that a peer is gone in two ways. The connection to it breaks: it calls again, a few times. It has
something to say to a peer that it has no connection to: it calls. Who answers no call is given up, the machine is told,
and for a while nothing is sent there: not as long if that peer calls first, or has come back and others tell of it.
Who meets another life of a peer than the one it knew is told so, too, before it hears a word of it. A goodbye is not
news, and a network that merely swallows what is said on an open connection tells nobody anything.
"""

from collections.abc import Sequence

from gossamer.core.draws import CALL, chance, fold
from gossamer.core.ids import Peer
from gossamer.core.machine import SECOND_US, Effect, Given, Leave, Message, PeerDown, Received, Started
from gossamer.core.messages import names_of
from gossamer.sim.world import Watcher, World

ATTEMPTS = 3
BACKOFF_S = 0.15
BLOCK_S = 0.5
BLOCK_MAX_S = 30.0
DIAL_S = 5.0
"As in `live/links/calls.py` and `live/links/switchboard.py`; a test compares them."


class Unreachable(Watcher):
    """Every process's connections, and the calls it makes."""

    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        self.links: dict[Peer, dict[Peer, bool]] = {}
        "Whom each has, or in this life had, a connection to."
        self.met: dict[Peer, dict[Peer, int]] = {}
        "Which life of whom each has met."
        self.failures: dict[tuple[Peer, Peer], int] = {}
        self.failed: dict[tuple[Peer, Peer], tuple[int, int]] = {}
        "When whom gave up whom, and in which of its lives."
        self.calling: dict[tuple[Peer, Peer], None] = {}
        self.calls = 0
        self.key = fold(seed, CALL)

    def known(self, peer: Peer) -> Sequence[Peer]:
        """Whom a process met, the last ones last."""
        return [*self.links.get(peer, {})]

    # -- what happens -------------------------------------------------------------------------------------------

    def stepped(self, peer: Peer, given: Given, effects: list[Effect], now_us: int) -> None:
        kind = type(given)
        if kind is Received:
            if not self.links.get(peer, {}).get(given.peer):  # type: ignore[union-attr]
                self._connect(peer, given.peer)  # type: ignore[union-attr]
            if self.failed:
                for named in names_of(given.message):  # type: ignore[union-attr]
                    self._hear_of(peer, named)
        elif kind is Started:
            self._forget(peer)
        elif kind is Leave:
            self._disconnect(peer)

    def sent(self, sender: Peer, target: Peer, message: Message) -> None:
        """Before anything is heard on a connection, both ends know whose it is."""
        life = self.met.get(target, {}).get(sender)
        if life is not None and life < self.world.lives[sender] and self._reaches(sender, target):
            self._meet(target, sender)

    def crashed(self, peer: Peer, now_us: int) -> None:
        for other in self._disconnect(peer):
            self._call(other, peer)

    def lost(self, sender: Peer, target: Peer, message: Message) -> None:
        if target in self.world.up and (self._is_linked(sender, target) or self._reaches(sender, target)):
            return
        self._call(sender, target)

    # -- connections --------------------------------------------------------------------------------------------

    def _is_linked(self, one: Peer, other: Peer) -> bool:
        return self.links.get(one, {}).get(other, False)

    def _reaches(self, one: Peer, other: Peer) -> bool:
        passes = self.world.network.passes
        return other in self.world.up and passes(one, other) and passes(other, one)

    def _connect(self, one: Peer, other: Peer) -> None:
        for here, there in ((one, other), (other, one)):
            if here in self.world.up:
                known = self.links.setdefault(here, {})
                known.pop(there, None)
                known[there] = True
                self._meet(here, there)
            self._forgive((here, there))

    def _meet(self, me: Peer, peer: Peer) -> None:
        """Whoever comes back as another life is not who it was: what was known of that one is over."""
        known, life = self.met.setdefault(me, {}), self.world.lives.get(peer, 0)
        if known.get(peer, life) < life:
            here = self.world.lives[me]
            self.world.at(
                self.world.now_us, lambda: self.world.is_alive(me, here) and self.world.give(me, PeerDown(peer))
            )
        known[peer] = life

    def _forgive(self, pair: tuple[Peer, Peer]) -> None:
        self.failures.pop(pair, None)
        self.failed.pop(pair, None)
        self.world.network.closed.pop(pair, None)

    def _disconnect(self, peer: Peer) -> list[Peer]:
        """Says who was at the other end."""
        others = [other for other, up in self.links.get(peer, {}).items() if up]
        for other in others:
            self.links[peer][other] = False
            if other in self.links:
                self.links[other][peer] = False
        return others

    def _forget(self, peer: Peer) -> None:
        """A new life knows of no failures. Others remember theirs."""
        self.links[peer], self.met[peer] = {}, {}
        for pair in [pair for pair in self.failures if pair[0] == peer]:
            self._forgive(pair)

    # -- calls --------------------------------------------------------------------------------------------------

    def _call(self, me: Peer, peer: Peer) -> None:
        pair = (me, peer)
        if me not in self.world.up or pair in self.calling or pair in self.world.network.closed:
            return
        self.calling[pair] = None
        attempts = ATTEMPTS if peer in self.links.get(me, {}) else 1
        wait_s = sum(BACKOFF_S * 2**attempt * self._jitter() for attempt in range(attempts))
        if peer in self.world.up:  # nothing comes back, not even a refusal
            wait_s += attempts * DIAL_S
        life = self.world.lives[me]
        self.world.at(self.world.now_us + round(wait_s * SECOND_US), lambda: self._called(me, life, peer))

    def _called(self, me: Peer, life: int, peer: Peer) -> None:
        self.calling.pop((me, peer), None)
        if not self.world.is_alive(me, life):
            return
        if self._reaches(me, peer):
            self._connect(me, peer)
            return
        self._give_up(me, life, peer)

    def _give_up(self, me: Peer, life: int, peer: Peer) -> None:
        pair = (me, peer)
        self.failures[pair] = self.failures.get(pair, 0) + 1
        self.links.setdefault(me, {}).pop(peer, None)
        self.met.setdefault(me, {}).pop(peer, None)
        wait_s = min(BLOCK_MAX_S, BLOCK_S * 2 ** self.failures[pair]) * self._jitter()
        self.failed[pair] = (self.world.now_us, self.world.lives.get(peer, 0))
        self._close(pair, self.world.now_us + round(wait_s * SECOND_US))
        self.world.give(me, PeerDown(peer))

    def _close(self, pair: tuple[Peer, Peer], until_us: int) -> None:
        self.world.network.closed[pair] = until_us
        self.world.at(until_us, lambda: self._open(pair))

    def _hear_of(self, me: Peer, peer: Peer) -> None:
        """Somebody names a peer, and with it comes its record. A newer one means that it is back."""
        pair, closed = (me, peer), self.world.network.closed
        if pair in closed and pair in self.failed:
            failed_us, life = self.failed[pair]
            if self.world.lives.get(peer, 0) > life:
                self._close(pair, min(closed[pair], failed_us + round(BLOCK_S * SECOND_US)))

    def _open(self, pair: tuple[Peer, Peer]) -> None:
        """Enough time has passed, unless it was given up again meanwhile."""
        closed = self.world.network.closed
        if pair in closed and closed[pair] <= self.world.now_us:
            del closed[pair]

    def _jitter(self) -> float:
        self.calls += 1
        return 0.5 + float(chance(self.key, self.calls))
