"""Who lives where in a world of hpmcast, how far apart, and who wants what: drawn from a seed."""

import math
from collections.abc import Sequence

from gossamer.core.draws import PLACE, draw, fold
from gossamer.core.ids import Peer
from gossamer.core.machine import Message
from gossamer.core.topics import Topic
from gossamer.protocols.hpmcast.addresses import Address, address_of, branch, distance, subsystems, view
from gossamer.sim.hpmcast_conditions import LivingSetting
from gossamer.sim.network import Independent, Latency, Network


class Residents:
    """The participants of one run, numbered by their places in the network."""

    def __init__(self, setting: LivingSetting, seed: int) -> None:
        self.setting, self.seed = setting, seed
        hierarchy = setting.hierarchy
        inhabited = hierarchy.inhabited(seed)
        self.peers = range(len(inhabited))
        self.places = [address_of(place, hierarchy.branching) for place in inhabited]
        self.topics = [f".k{number}" for number in range(setting.world.topics)]
        self.wants = {
            who: tuple(
                topic for number, topic in enumerate(self.topics) if hierarchy.wants(fold(seed, 1 + number), who, place)
            )
            for who, place in enumerate(inhabited)
        }
        flat = hierarchy.levels == 1
        self.branching = (math.prod(hierarchy.branching),) if flat else hierarchy.branching
        homes = [address_of(place, self.branching) for place in inhabited]
        self.addresses: dict[Peer, Address] = dict(zip(self._in_order(), homes, strict=True))
        self.at = {address: peer for peer, address in self.addresses.items()}

    def _in_order(self) -> Sequence[Peer]:
        """Participants in the order in which they are given addresses."""
        match self.setting.world.addresses:
            case "near":
                return self.peers
            case "drawn":
                key = fold(fold(self.seed, PLACE), 1)
                return sorted(self.peers, key=lambda peer: draw(key, peer))
            case "alike":
                return sorted(
                    self.peers, key=lambda peer: ([topic not in self.wants[peer] for topic in self.topics], peer)
                )

    @property
    def levels(self) -> int:
        return len(self.branching)

    def apart(self, one: Peer, other: Peer) -> int:
        """The distance of two addresses."""
        return distance(self.addresses[one], self.addresses[other])

    # -- what views should say ------------------------------------------------------------------------------------

    def views(self, up: Sequence[Peer]) -> dict[tuple[Address, int], list[tuple[Address, list[Peer]]]]:
        """Of everybody below a branch address, on each level: subsystems, and who stands for each."""
        there, redundancy = sorted(self.addresses[peer] for peer in up), self.setting.hierarchy.params.delegates
        found = {}
        for level in range(1, self.levels + 1):
            for of in dict.fromkeys(branch(address, level) for address in there):
                lines = view(there, of, level, redundancy)
                found[of, level] = [(below, [self.at[each] for each in standing]) for below, standing in lines]
        return found

    def joint_interest(self, topic: Topic, up: Sequence[Peer]) -> list[float]:
        """p_i: the share of subsystems in the views of each level, from the lowest, in which somebody wants it."""
        there = [self.addresses[peer] for peer in up]
        shares = []
        for level in range(1, self.levels + 1):
            lines = [
                members
                for of in dict.fromkeys(branch(address, level) for address in there)
                for _, members in subsystems(there, of, level)
            ]
            wanting = sum(any(topic in self.wants[self.at[each]] for each in members) for members in lines)
            shares.append(wanting / len(lines))
        return shares


class Distances(Network):
    """Messages take the longer the farther apart two places are."""

    def __init__(self, residents: Residents) -> None:
        world, self.places = residents.setting.world, residents.places
        levels = range(len(residents.setting.hierarchy.branching) + 1)
        self.times = [
            Latency(
                median_us=max(1, round(1000 * world.near_ms * world.farther ** max(0, apart - 1))),
                shape="lognormal",
                spread=world.jitter,
            )
            for apart in levels
        ]
        loss = residents.setting.hierarchy.loss
        super().__init__(residents.seed, self.times[-1], Independent(lambda sender, target: 1 - loss) if loss else None)

    def between(self, sender: Peer, target: Peer) -> Latency:
        return self.times[distance(self.places[sender], self.places[target])]

    def transit(self, sender: Peer, target: Peer, message: Message) -> list[int]:
        self.latency = self.between(sender, target)
        return super().transit(sender, target, message)
