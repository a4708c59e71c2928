"""Who wants what, and what is published: drawn from a seed, the same whatever carries the events."""

from collections.abc import Sequence

from gossamer.core.draws import CHURN, INTEREST, PUBLISH, WORKLOAD, chance, distinct, draw, fold, upper_pick
from gossamer.core.errors import Misuse
from gossamer.core.events import Attribute, Event
from gossamer.core.filters import parse
from gossamer.core.ids import EventId, Peer
from gossamer.core.patterns import Pattern
from gossamer.core.topics import Topic
from gossamer.protocols.hpmcast.addresses import Address, address_of, branch, delegates, subsystems
from gossamer.sim.compared import Workload

SCALE = 100
"Values an attribute may have: filters ask for some that follow each other."


class Crowd:
    """The nodes of one run with what they want, who of them crash, and what the others publish."""

    def __init__(self, workload: Workload, crashed: float, seed: int) -> None:
        self.workload, self.seed = workload, seed
        self.peers = range(workload.nodes)
        self.wants = {peer: self._subscriptions(peer) for peer in self.peers}
        self.crashed = distinct(fold(seed, CHURN), len(self.peers), round(crashed * len(self.peers)))
        self.stayers = [peer for peer in self.peers if peer not in self.crashed]

    def address(self, peer: Peer) -> Address:
        return address_of(peer, self.workload.branching)

    def rank(self, redundancy: int) -> dict[Peer, int]:
        """The highest level of a hierarchy on which each is seen, if the smallest addresses stand for a subsystem."""
        addresses = {self.address(peer): peer for peer in self.peers}
        found = dict.fromkeys(self.peers, 1)
        for level in range(2, len(self.workload.branching) + 1):
            for of in dict.fromkeys(branch(address, level) for address in addresses):
                for _, members in subsystems([*addresses], of, level):
                    found.update({addresses[each]: level for each in delegates(members, redundancy)})
        return found

    # -- what they want -------------------------------------------------------------------------------------------

    def _subscriptions(self, peer: Peer) -> tuple[Pattern, ...]:
        work, key = self.workload, fold(fold(self.seed, INTEREST), peer)
        home = self.address(peer)[0] % work.areas
        topics: dict[Topic, None] = {}
        for number in range(work.subscriptions):
            which = fold(key, number)
            own = chance(which, 0) < work.local
            area = home if own else upper_pick(draw(which, 1), work.areas)
            topics[f".a{area}.t{upper_pick(draw(which, 2), work.topics)}"] = None
        if chance(key, 0) < work.wide:
            topics[f".a{home}"] = None
        return tuple(Pattern(topic, self._filter(fold(key, 1000 + i))) for i, topic in enumerate(topics))

    def _filter(self, key: int) -> str:
        """Some values that follow each other, begun at a multiple of ten so that subscriptions resemble each other."""
        if chance(key, 0) >= self.workload.filtered:
            return ""
        width = max(1, round(self.workload.selectivity * SCALE))
        first = 10 * upper_pick(draw(key, 1), (SCALE - width) // 10 + 1)
        return str(parse(f"level >= {first} and level < {first + width}"))

    # -- what they publish ----------------------------------------------------------------------------------------

    def events(self) -> Sequence[Event]:
        """Events of topics that somebody reads, published by one who does and stays."""
        readers: dict[Topic, list[Peer]] = {}
        for peer in self.stayers:
            for pattern in self.wants[peer]:
                if pattern.topic.count(".") > 1:
                    readers.setdefault(pattern.topic, []).append(peer)
        if not readers:
            raise Misuse("nobody who stays reads a topic: let more nodes subscribe, or fewer crash")
        return [self._event(number, readers) for number in range(self.workload.events)]

    def _event(self, number: int, readers: dict[Topic, list[Peer]]) -> Event:
        key = fold(fold(self.seed, WORKLOAD), number)
        topic = sorted(readers)[upper_pick(draw(key, 0), len(readers))]
        among = readers[topic]
        publisher = among[upper_pick(draw(fold(self.seed, PUBLISH), number), len(among))]
        attributes: dict[str, Attribute] = {"level": upper_pick(draw(key, 1), SCALE)}
        return Event(EventId(publisher, 0, number + 1), topic, bytes(self.workload.payload), attributes)
