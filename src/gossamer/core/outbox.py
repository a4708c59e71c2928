"""What a step comes to: the layers of a node share one list of effects."""

from collections.abc import Iterable
from typing import Any

from gossamer.core.ids import Peer
from gossamer.core.machine import Effect, Message, Note, Send, SetTimer, Timer
from gossamer.core.trace import Kind


class Outbox:
    """Effects of the step under way."""

    def __init__(self) -> None:
        self.effects: list[Effect] = []

    def send(self, peers: Iterable[Peer], message: Message) -> None:
        if told := tuple(peers):
            self.effects.append(Send(told, message))

    def timer(self, after_us: int, timer: Timer) -> None:
        self.effects.append(SetTimer(after_us, timer))

    def note(self, kind: Kind, **about: Any) -> None:
        self.effects.append(Note(kind, **about))

    def take(self) -> list[Effect]:
        effects, self.effects = self.effects, []
        return effects
