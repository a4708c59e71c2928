"""Whole nodes with many topics, that find each other by gossip: a town of them in which some come, go and die."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from gossamer.core.draws import CHURN, PUBLISH, WORKLOAD, distinct, draw, fold, upper_pick
from gossamer.core.ids import Peer
from gossamer.core.topics import Topic
from gossamer.protocols import CATALOGUE
from gossamer.protocols.interests.params import Params as Interests
from gossamer.protocols.recovery.params import Params as Recovery
from gossamer.protocols.spidercast.layer import Spidercast
from gossamer.protocols.spidercast.node import spidercast_node
from gossamer.sim.town import Town

LIVE = replace(Recovery.live(), store=False)


class OverlayTown(Town):
    """`wanted` says what each node subscribes to. If nobody is told who is gone, heartbeats find it out."""

    def __init__(
        self,
        size: int,
        wanted: Callable[[Peer], Sequence[Topic]],
        seed: int = 1,
        loss: float = 0.0,
        recovery: Recovery | None = None,
        interests: Interests | None = None,
        told_of_failures: bool = False,
    ) -> None:
        super().__init__(
            lambda me: spidercast_node(me, seed, recovery=recovery, interests=interests),
            CATALOGUE["spidercast"].spoken,
            seed,
            loss=loss,
            told_of_failures=told_of_failures,
        )
        self.wanted = wanted
        for peer in range(size):
            self.come(peer)

    def come(self, peer: Peer) -> None:
        self.start(peer, *self.wanted(peer), of=2)

    def overlay(self, peer: Peer) -> Spidercast:
        found = self.node(peer).members
        assert isinstance(found, Spidercast)
        return found

    # -- links --------------------------------------------------------------------------------------------------

    def links(self) -> dict[Peer, list[Peer]]:
        return {peer: [*self.overlay(peer).links.neighbours()] for peer in self.up}

    def one_sided(self) -> int:
        links = self.links()
        return sum(peer not in links.get(other, ()) for peer, others in links.items() for other in others)

    def alive(self) -> bool:
        """Whether nobody counts on a neighbour that is gone."""
        return all(other in self.world.up for others in self.links().values() for other in others)

    def apart(self) -> list[Topic]:
        """Topics whose subscribers are not in one piece without the help of others."""
        links = self.links()
        among: dict[Topic, list[Peer]] = {}
        for peer in self.up:
            for topic in self.mine(peer):
                among.setdefault(topic, []).append(peer)
        return [topic for topic, peers in among.items() if not in_one_piece(peers, links)]

    def mine(self, peer: Peer) -> Sequence[Topic]:
        return self.node(peer).interest.mine()

    def connected(self) -> bool:
        return not self.apart()

    def churn(self, seconds: float, changes: int) -> None:
        """Now and then somebody goes, by turns without a word, and somebody else comes."""
        for number in range(changes):
            self.after(seconds * number / changes, lambda number=number: self.change(number))  # type: ignore[misc]

    def change(self, number: int) -> None:
        up = [peer for peer in self.up if peer % 2]
        gone = up[upper_pick(draw(fold(self.seed, CHURN), number), len(up))]
        (self.crash if number % 4 < 2 else self.leave)(gone)
        self.come(1001 + 2 * number)

    # -- events -------------------------------------------------------------------------------------------------

    def publish_some(self, count: int, every: float, stayers: Sequence[Peer]) -> None:
        """Nodes publish on topics of theirs, one after the other."""
        for number in range(count):
            key = fold(fold(self.seed, PUBLISH), number)
            peer = stayers[upper_pick(draw(key, 0), len(stayers))]
            topics = self.mine(peer)
            self.publish(peer, topics[upper_pick(draw(key, 1), len(topics))])
            self.run(every)


def in_one_piece(among: Sequence[Peer], links: dict[Peer, list[Peer]]) -> bool:
    inside = dict.fromkeys(among)
    found = {among[0]: None}
    for at in (ahead := [among[0]]):
        for peer in links[at]:
            if peer in inside and peer not in found and at in links[peer]:
                found[peer] = None
                ahead.append(peer)
    return len(found) == len(inside)


def unrelated(of: int, least: int = 10, most: int = 70) -> Callable[[Peer], list[Topic]]:
    """Ten to seventy topics that have nothing to do with each other, drawn for each node."""

    def topics(peer: Peer) -> list[Topic]:
        key = fold(fold(7, WORKLOAD), peer)
        count = least + upper_pick(draw(key, 0), most - least + 1)
        return [f".t{i}" for i in distinct(fold(key, 1), of, count)]

    return topics
