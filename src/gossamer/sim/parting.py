"""Who left a community, and who cannot know that yet.

A copy that was sent before its target unsubscribed comes unasked, and so does the first that somebody sends afterwards
who was not told: it is answered, and after that nothing more may come from there.
"""

from gossamer.core.ids import Peer
from gossamer.core.machine import SECOND_US, Given, Note, Started
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.sim.world import World

TOLD_US = SECOND_US
"How long somebody's copies may go on after the first one in vain: until its answer came."


class Parting:
    """Of every process, the communities it left, or did not come back to."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.mine: dict[Peer, tuple[Topic, ...]] = {}
        self.left: dict[Peer, dict[Topic, None]] = {}
        self.vain: dict[Peer, dict[Peer, tuple[int, bool]]] = {}
        "By target: when each sender first sent something in vain, and whether one was sent too late after that."

    def stepped(self, peer: Peer, given: Given) -> None:
        node = self.world.machines[peer]
        if not isinstance(node, Stack) or node.spread.relays:
            return
        mine, before = node.interest.mine(), self.mine.get(peer, ())
        if mine is not before or type(given) is Started:
            if gone := [topic for topic in before if topic not in mine]:
                self.left.setdefault(peer, {}).update(dict.fromkeys(gone))
            self.vain.pop(peer, None)
            self.mine[peer] = mine

    def sent(self, sender: Peer, target: Peer, topic: Topic) -> None:
        """An event goes out: in vain, if its target is concerned with it no more."""
        node = self.world.machines.get(target)
        if target in self.left and isinstance(node, Stack) and not node.interest.communities(topic):
            first_us, _ = self.vain.setdefault(target, {}).get(sender, (self.world.now_us, False))
            self.vain[target][sender] = first_us, self.world.now_us > first_us + TOLD_US

    def lost(self, sender: Peer, target: Peer) -> None:
        """What may have been an answer never came."""
        if sender in self.vain:
            self.vain[sender].pop(target, None)

    def excuses(self, peer: Peer, parasite: Note) -> bool:
        node = self.world.machines[peer]
        if not isinstance(node, Stack) or parasite.topic is None or parasite.peer is None:
            return False
        concerned = [each for each in self.left.get(peer, ()) if node.hierarchy.includes(each, parasite.topic)]
        _, late = self.vain.get(peer, {}).get(parasite.peer, (0, False))
        return bool(concerned) and not late
