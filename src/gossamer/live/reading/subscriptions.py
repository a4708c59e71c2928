"""What the machine subscribes to for a node's readers: each pattern once, and recovery as long as one of them asks."""

from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec.structs import replace

from gossamer.core.errors import Misuse
from gossamer.core.machine import Effect, Given, Note, Subscribe, Tune, Unsubscribe
from gossamer.core.patterns import Pattern
from gossamer.core.topics import Topic
from gossamer.protocols.recovery.params import Params as RecoveryParams


class Fed(Protocol):
    """A machine, through its driver."""

    def feed(self, given: Given) -> None: ...

    def refusal(self, topics: Sequence[Topic], gone: Sequence[Topic] = ()) -> str | None:
        """Why it cannot subscribe to these too, once it has left those."""


class Subscriptions:
    """Counts readers. `inside`: filters run in the network; else the machine hears of topics only."""

    def __init__(self, machine: Fed, inside: bool, recovery: Callable[[Topic], RecoveryParams]) -> None:
        self.feed, self.refusal, self.inside, self.recovery = machine.feed, machine.refusal, inside, recovery
        self.readers: dict[Pattern, int] = {}
        self.topics: dict[Topic, int] = {}
        "How many readers each topic has."
        self.careful: dict[Topic, int] = {}
        "Readers of each topic that ask for what was lost."
        self.careless: dict[Topic, None] = {}
        "Topics that are read, where nobody does."

    def check(self, topics: Sequence[Topic], gone: Sequence[Topic] = ()) -> None:
        """Misuse where the node could not tell others that it wants these too, once a reader of each of those left."""
        left = [topic for topic in gone if self.topics.get(topic) == 1]
        if (why := self.refusal(topics, left)) is not None:
            raise Misuse(why)

    def add(self, topic: Topic, where: str = "", recover: bool = True, since_us: int = 0) -> None:
        """One more wants this, and what was published since then; 0: from now on."""
        self.check([topic])
        pattern = Pattern(topic, where if self.inside else "")
        self.topics[topic] = self.topics.get(topic, 0) + 1
        self.readers[pattern] = self.readers.get(pattern, 0) + 1
        if self.readers[pattern] == 1 or since_us:
            self.feed(Subscribe(pattern.topic, pattern.where, since_us))
        self.careful[topic] = self.careful.get(topic, 0) + recover
        self._recover(topic)

    def remove(self, topic: Topic, where: str = "", recover: bool = True) -> None:
        pattern = Pattern(topic, where if self.inside else "")
        self.careful[topic] -= recover
        self.readers[pattern] -= 1
        if self.readers[pattern] == 0:
            del self.readers[pattern]
            self.feed(Unsubscribe(pattern.topic, pattern.where))
        self.topics[topic] -= 1
        if not self.topics[topic]:
            del self.topics[topic], self.careful[topic]
        self._recover(topic)

    def recovery_of(self, topic: Topic) -> RecoveryParams:
        """What this node does for its own readers about losses of a topic."""
        params = self.recovery(topic)
        return replace(params, method="none") if topic in self.careless else params

    def notes(self) -> list[Effect]:
        """What a trace that begins in the middle has to be told."""
        return [Note("subscribe", topic=each.topic, detail=each.where or None) for each in self.readers]

    def _recover(self, topic: Topic) -> None:
        careless = self.careful.get(topic) == 0
        if careless != (topic in self.careless):
            if careless:
                self.careless[topic] = None
            else:
                del self.careless[topic]
            self.feed(Tune(topic, self.recovery_of(topic)))
