"""What happens to a message between two machines. Every choice is a keyed draw: a seed is a whole network history."""

import math
from collections.abc import Callable, Iterable
from typing import Protocol

from msgspec import Struct

from gossamer.core.draws import DUPLICATE, LATENCY, LOSS, chance, fold
from gossamer.core.errors import Misuse
from gossamer.core.ids import EventId, Peer, peer_of
from gossamer.core.machine import Message
from gossamer.core.messages import Carrier
from gossamer.parts.bursts import refuse_improbable


class Latency(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long messages take. `spread` is relative: 0 keeps every message at `median_us`."""

    median_us: int = 10_000
    shape: str = "constant"
    "constant · uniform (median ± spread × median) · exponential (that mean) · lognormal (sigma = spread)."
    spread: float = 0.0

    def __post_init__(self) -> None:
        if self.shape not in ("constant", "uniform", "exponential", "lognormal"):
            raise Misuse(f"latency shape {self.shape!r} is unknown: use constant, uniform, exponential or lognormal")
        if self.median_us < 1 or self.spread < 0 or (self.shape == "uniform" and self.spread > 1):
            raise Misuse("latency needs median_us of at least 1 and spread of at least 0 (uniform: at most 1)")

    def draw_us(self, key: int) -> int:
        u: float = chance(key, 0)
        match self.shape:
            case "uniform":
                delay = self.median_us * (1 + self.spread * (2 * u - 1))
            case "exponential":
                delay = -math.log1p(-u) * self.median_us
            case "lognormal":
                normal = math.sqrt(-2 * math.log1p(-u)) * math.cos(2 * math.pi * chance(key, 1))
                delay = self.median_us * math.exp(self.spread * normal)
            case _:
                delay = self.median_us
        return max(1, round(delay))


class Loss(Protocol):
    """Decides which transmissions vanish. The key belongs to this one transmission."""

    def lost(self, sender: Peer, target: Peer, key: int) -> bool: ...


class Independent:
    """Each transmission arrives with a probability that may depend on who sends to whom."""

    def __init__(self, arrives: Callable[[Peer, Peer], float]) -> None:
        self.arrives = arrives

    def lost(self, sender: Peer, target: Peer, key: int) -> bool:
        return bool(chance(key, target) >= self.arrives(sender, target))


class Network:
    """Latency, loss, duplication (reordering comes with latency) and partitions."""

    def __init__(
        self,
        seed: int,
        latency: Latency,
        loss: Loss | None = None,
        duplicated: float = 0.0,
        by_link: Iterable[type[Struct]] = (),
        by_event: bool = False,
    ) -> None:
        """`by_link`: messages whose fate depends on how many of their kind the link has seen, and on nothing else.
        `by_event`: what happens to an event depends on its id, who sends it to whom, and how often it did so before.
        A kernel counts both, so a run that is compared with one does; it keeps an entry per event and link. No other
        run does: there every message has a number, and that decides."""
        refuse_improbable(duplicated=duplicated)
        self.seed = seed
        self.latency = latency
        self.loss = loss
        self.duplicated = duplicated
        self.by_event = by_event
        self.islands: dict[Peer, int] = {}
        self.deaf: list[tuple[frozenset[Peer], frozenset[Peer]]] = []
        "Groups of which the second hears nothing that the first says."
        self.closed: dict[tuple[Peer, Peer], int] = {}
        "Who says nothing to whom, because it was given up, and until when."
        self.sent = 0
        self.copies: dict[tuple[int, Peer, Peer], int] = {}
        "How often each event (`by_event`), and each kind of message (`by_link`), went from one peer to another."
        self._loss_key: int = fold(seed, LOSS)
        self._by_link = {kind: self._key_of(peer_of(str(kind.__struct_config__.tag))) for kind in by_link}
        self._events: dict[EventId, int] = {}
        "What draws about each event begin with (`by_event`)."

    def split(self, *islands: range | list[Peer]) -> None:
        """Partitions the network: peers of different islands cannot hear each other; unnamed ones are island 0."""
        self.islands = {peer: number for number, island in enumerate(islands) for peer in island}

    def cut(self, senders: Iterable[Peer], targets: Iterable[Peer]) -> None:
        """From now on nothing that these senders say reaches these targets; the other way everything does."""
        self.deaf.append((frozenset(senders), frozenset(targets)))

    def heal(self) -> None:
        self.islands, self.deaf = {}, []

    def passes(self, sender: Peer, target: Peer) -> bool:
        """Whether there is a way from one to the other."""
        if self.islands and self.islands.get(sender, 0) != self.islands.get(target, 0):
            return False
        return not any(sender in senders and target in targets for senders, targets in self.deaf)

    def transit(self, sender: Peer, target: Peer, message: Message) -> list[int]:
        """After how many microseconds the message arrives: nowhere if lost, twice if duplicated."""
        key = self._key(sender, target, message)
        if (self.islands or self.deaf) and not self.passes(sender, target):
            return []
        if self.closed and (sender, target) in self.closed:
            return []
        if self.loss is not None and self.loss.lost(sender, target, key):
            return []
        delays = [self._delay_us(key, LATENCY, target)]
        if self.duplicated and chance(fold(key, DUPLICATE), target) < self.duplicated:
            delays.append(self._delay_us(key, DUPLICATE, target))
        return delays

    def _delay_us(self, key: int, why: int, target: Peer) -> int:
        latency = self.latency
        if latency.shape == "constant":  # as in all runs that are compared with a kernel: there is nothing to draw
            return latency.median_us
        return latency.draw_us(fold(fold(key, why), target))

    def _key(self, sender: Peer, target: Peer, message: Message) -> int:
        """What draws about this transmission are made of."""
        kind = self._by_link.get(type(message))
        if kind is not None:
            return fold(fold(kind, self._copies(kind, sender, target)), sender)  # type: ignore[no-any-return]
        if not self.by_event or not isinstance(message, Carrier):
            self.sent += 1
            return self._key_of(self.sent)
        event_id = message.carried.event.id
        event = self._events.get(event_id)
        if event is None:
            event = self._events[event_id] = self._key_of(event_id.word())
        copy = self._copies(event, sender, target)
        key = fold(event, sender)
        return fold(key, copy) if copy else key  # type: ignore[no-any-return]

    def _key_of(self, word: int) -> int:
        return fold(self._loss_key, word)  # type: ignore[no-any-return]

    def _copies(self, what: int, sender: Peer, target: Peer) -> int:
        before = self.copies.get((what, sender, target), 0)
        self.copies[what, sender, target] = before + 1
        return before
