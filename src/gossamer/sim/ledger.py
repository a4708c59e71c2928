"""What a world sent, received and kept, counted from outside: the same columns for every design."""

from typing import Any

import msgspec

from gossamer.core.events import Attribute
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import Effect, Given, Message, Note, Received
from gossamer.core.messages import Carrier
from gossamer.core.trace import Kind
from gossamer.sim.world import Watcher

ABOUT_EVENTS = ("gossamer.protocols.recovery.", "gossamer.protocols.flood.")
"Whose messages without an event are words about one: digests, requests, prunings. All others are upkeep."


class Compared(dict[str, Attribute]):
    """Attributes of an event that tell the ledger when a filter looks at one of them."""

    def __init__(self, attributes: dict[str, Attribute], ledger: "Ledger") -> None:
        super().__init__(attributes)
        self.ledger = ledger

    def get(self, name: str, default: Any = None) -> Any:
        self.ledger.looks += 1
        return super().get(name, default)


class Ledger(Watcher):
    """Counts from `open` on: what it takes to find each other is another question."""

    def __init__(self) -> None:
        self.open = False
        self.came: dict[EventId, dict[Peer, int]] = {}
        "Copies of each event that came to each."
        self.copies = self.copy_bytes = self.words = self.word_bytes = self.upkeep = self.upkeep_bytes = 0
        self.looks = 0
        "Comparisons with filters since the last step."
        self.matches: dict[Peer, int] = {}
        "Comparisons each made."
        self.noted: dict[tuple[Kind, Peer], int] = {}
        "What each said of events it got: that it carries them for others, or that nobody asked for them."
        self.load: dict[Peer, int] = {}
        "Copies of events each sent and received."
        self._encoder = msgspec.msgpack.Encoder()
        self._sized: tuple[Message | None, int] = (None, 0)

    def sent(self, sender: Peer, target: Peer, message: Message) -> None:
        if not self.open:
            return
        size = self._size(message)
        if isinstance(message, Carrier):
            self.copies += 1
            self.copy_bytes += size
            self.load[sender] = self.load.get(sender, 0) + 1
        elif type(message).__module__.startswith(ABOUT_EVENTS):
            self.words += 1
            self.word_bytes += size
        else:
            self.upkeep += 1
            self.upkeep_bytes += size

    def _size(self, message: Message) -> int:
        """Bytes as encoded; a message to several is encoded once."""
        if self._sized[0] is not message:
            self._sized = (message, len(self._encoder.encode(message)))
        return self._sized[1]

    def stepped(self, peer: Peer, given: Given, effects: list[Effect], now_us: int) -> None:
        if self.looks:
            self.matches[peer] = self.matches.get(peer, 0) + self.looks
            self.looks = 0
        if type(given) is Received and isinstance(given.message, Carrier):
            self.load[peer] = self.load.get(peer, 0) + 1
            for event in given.message.carried.events:
                copies = self.came.setdefault(event.id, {})
                copies[peer] = copies.get(peer, 0) + 1
        for effect in effects:
            if type(effect) is Note and effect.event is not None:
                self.noted[effect.kind, peer] = self.noted.get((effect.kind, peer), 0) + 1
