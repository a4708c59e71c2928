"""The census of each community, gossiped among the members a membership layer knows: push and pull, one at a time."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct

from gossamer.core.draws import SIZE, chance, distinct, draw, fold
from gossamer.core.ids import Peer
from gossamer.core.layer import Handler, Layer
from gossamer.core.roles import Members
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.parts.size import Census
from gossamer.protocols.scamp.messages import Gone, Marks
from gossamer.protocols.scamp.params import Params

SKEW_EPOCHS = 1000
"How far another's clock may be ahead, in exchanges of marks."


class Count(Struct, frozen=True):
    """Timer: exchange marks with a member. Stale after the community was left."""

    topic: Topic
    life: int


class Tally:
    """One community's count."""

    def __init__(self, life: int, now_us: int, census: Census) -> None:
        self.life = life
        self.census = census
        self.since_us = now_us
        "When this node entered the epoch."


class Headcount(Layer):
    """Answers `size`. The first node whose epoch is old enough opens the next; the others follow as they hear of it."""

    def __init__(self, node: Stack, members: Members, params: Callable[[Topic], Params]) -> None:
        super().__init__(node)
        self.members = members
        self.params = params
        self.tallies: dict[Topic, Tally] = {}
        self.count = 0

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {Marks: self.on_marks, Count: self.on_count}

    def size(self, topic: Topic) -> int:
        tally = self.tallies.get(topic)
        return tally.census.estimate() if tally else 1

    def lives_by(self, topic: Topic | None) -> Iterator[Struct]:
        if topic is not None and (tally := self.tallies.get(topic)) is not None:
            yield Count(topic, tally.life)

    def joined(self, topic: Topic) -> None:
        self.count += 1
        word = topic_word(topic)
        mark = lambda epoch: draw(self.node.key(SIZE, fold(word, epoch)), 0) >> 32  # noqa: E731
        self.tallies[topic] = Tally(self.count, self.node.now_us, Census(mark))
        start = chance(self.node.key(SIZE, fold(self.node.now_us, self.count)), 1)
        self.out.timer(1 + round(start * self.params(topic).size_every_us), Count(topic, self.count))

    def left(self, topic: Topic) -> None:
        self.tallies.pop(topic, None)

    def leaving(self) -> None:
        self.tallies.clear()

    def on_count(self, timer: Count) -> None:
        tally = self.tallies.get(timer.topic)
        if tally is None or tally.life != timer.life:
            return
        params = self.params(timer.topic)
        self.out.timer(params.size_every_us, timer)
        if self.node.now_us - tally.since_us >= params.epoch_us:
            tally.census.advance()
            tally.since_us = self.node.now_us
        known = self.members.about(timer.topic)
        self.count += 1
        picked = distinct(self.node.key(SIZE, fold(self.node.now_us, self.count)), len(known), 1)
        self.tell([known[i] for i in picked], timer.topic, tally.census, answer=True)

    def on_marks(self, peer: Peer, marks: Marks) -> None:
        tally = self.tallies.get(marks.topic)
        if tally is None:
            self.out.send([peer], Gone(marks.topic))
            return
        census, before = tally.census, tally.census.epoch
        if marks.epoch > self.last_epoch(marks.topic):
            self.out.note("reject", peer=peer, topic=marks.topic, detail="an epoch that cannot have come yet")
            return
        if not census.hear(marks.epoch, marks.packed, marks.last):
            self.out.note("reject", peer=peer, topic=marks.topic, detail="not a list of marks")
            return
        if census.epoch != before:
            tally.since_us = self.node.now_us
        news = (census.epoch, census.packed(), census.last) != (marks.epoch, marks.packed, marks.last)
        if marks.answer and news:
            self.tell([peer], marks.topic, census, answer=False)

    def last_epoch(self, topic: Topic) -> int:
        """The highest number an epoch may have by now, had epochs been as short as exchanges since time began. Whoever
        names a higher one would have everybody count up from there, and none be left to count with."""
        return SKEW_EPOCHS + max(0, self.node.now_us) // self.params(topic).size_every_us

    def tell(self, peers: Sequence[Peer], topic: Topic, census: Census, answer: bool) -> None:
        self.out.send(peers, Marks(topic, census.epoch, census.packed(), census.last, answer))


def topic_word(topic: Topic) -> int:
    """64 bits that stand for a topic in draws; built-in `hash` of text differs from process to process."""
    word = 0
    for byte in topic.encode():
        word = fold(word, byte)
    return word
