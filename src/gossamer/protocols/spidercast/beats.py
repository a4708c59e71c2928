"""Heartbeats: every neighbour is told how both tasks do, and what this node wants if that changed.

They go both ways, so a neighbour's own heartbeat is its sign of life, and nobody answers one. Each says which links its
sender has with the receiver: what a lost message left at one end only is found and ended.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from gossamer.core.draws import TICK, chance
from gossamer.core.ids import Peer
from gossamer.core.layer import Handler, Layer
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.parts.liveness import Unanswered
from gossamer.parts.wants import Wants
from gossamer.protocols.spidercast.links import Links
from gossamer.protocols.spidercast.messages import Beat, LeaveLink, Standing
from gossamer.protocols.spidercast.task import Task

YOUNG_BEATS = 2
"Heartbeats after which the other end of a new link must have heard of it."


class BeatDue(Struct, frozen=True):
    """Timer: time for heartbeats."""


class Beats(Layer):
    """Tells neighbours that this node is there, and notices those that are not."""

    def __init__(self, node: Stack, links: Links) -> None:
        super().__init__(node)
        self.links = links
        self.unanswered = Unanswered()
        self.ignorant: dict[Peer, None] = {}
        "Neighbours that think this node wants something else."
        self.begun = False

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {Beat: self.on_beat, BeatDue: self.on_beat_due}

    def started(self, contacts: Sequence[Peer]) -> None:
        if not self.begun:
            self.begun = True
            start = chance(self.node.key(TICK, self.node.now_us), 0)
            self.out.timer(1 + round(start * self.links.params.beat_us), BeatDue())

    def lives_by(self, topic: Topic | None) -> Sequence[Struct]:
        return [BeatDue()] if topic is None and self.begun else []

    def link_down(self, peer: Peer) -> None:
        self.unanswered.heard(peer)
        self.ignorant.pop(peer, None)

    def on_beat_due(self, timer: BeatDue) -> None:
        self.out.timer(self.links.params.beat_us, timer)
        for peer in self.unanswered.lost(self.links.params.beats_missed):
            self.give_up(peer)
        neighbours = self.links.neighbours()
        self.unanswered.asked(neighbours)
        for peer, wants in neighbours.items():
            self.beat(peer, wants, tell=peer in self.ignorant)

    def give_up(self, peer: Peer) -> None:
        """Not heard of for too long. If it lives after all, it learns that it is no neighbour any more."""
        for task in self.links.tasks:
            if peer in task.neighbours:
                self.out.send([peer], LeaveLink(task.number))
        self.node.tell(lambda layer: layer.peer_down(peer))

    def tell(self) -> None:
        """This node wants something else: neighbours are not left to wait."""
        for peer, wants in self.links.neighbours().items():
            self.ignorant[peer] = None
            self.beat(peer, wants, tell=True)

    def beat(self, peer: Peer, known: Wants, tell: bool) -> None:
        greedy, random = (Standing(task.degree, task.target, peer in task.neighbours) for task in self.links.tasks)
        self.out.send([peer], Beat(greedy, random, known.word, self.links.wants.packed if tell else None))

    def on_beat(self, peer: Peer, beat: Beat) -> None:
        for task, standing in zip(self.links.tasks, (beat.greedy, beat.random)):
            self.hear(peer, task, standing)
        if not self.links.linked(peer):
            return
        self.unanswered.heard(peer)
        if beat.wants is not None:
            self.read(peer, beat.wants)
        if beat.known == self.links.wants.word:
            self.ignorant.pop(peer, None)
        else:
            self.ignorant[peer] = None

    def read(self, peer: Peer, packed: bytes) -> None:
        """A neighbour wants something else. One that changes its mind too often is not read: it says so again."""
        wants = self.links.read(peer, packed)
        if wants is not None:
            self.links.rethink(peer, wants)

    def hear(self, peer: Peer, task: Task, standing: Standing) -> None:
        link = task.neighbours.get(peer)
        if link is None:
            if standing.linked and peer not in task.quarantine:  # else its answer to our request is on the way
                self.out.send([peer], LeaveLink(task.number))
        elif standing.linked or self.node.now_us - link.since_us < YOUNG_BEATS * self.links.params.beat_us:
            link.tells(standing.degree, standing.target)
        else:
            self.links.remove(task, peer)
