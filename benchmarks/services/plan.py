"""What is measured: the hierarchy and the parameters of section 6.2.1, and which events are published how."""

import random
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from gossamer.core.topics import Topic
from gossamer.protocols.camcast.node import MembershipName

ROOT, MIDDLE, BOTTOM = ".", ".d", ".d.g"
LEVELS: tuple[Topic, ...] = (ROOT, MIDDLE, BOTTOM)
UPPER = (MIDDLE, ROOT)
"Where the inter-community chance decides what arrives; the bottom does not depend on it."
SIZES: dict[MembershipName, tuple[int, int, int]] = {
    "unstructured": (7, 27, 84),
    "semi-structured": (7, 28, 79),
    "structured": (7, 28, 79),
}
"N_a, N_d and N_g."
LINKS = 4
CLIMBS = (0.01, 0.03, 0.07, 0.1, 0.2, 0.5, 1.0)
SETTINGS: dict[str, Any] = {
    "camcast": {"links": LINKS, "targets": 2, "fanout_extra": 0.0, "small": 0},  # z = 4, a = 2, c = 0
    "scamp": {"extra_copies": 0},
    "recovery": {"method": "none"},
    "spool": {"durability": "off"},  # without a log nothing is caught up with either
    # What few acknowledged is not spread again. All nodes share a core or less: whoever is slow is waited for, since
    # calls that are given up and made again would keep it busy for ever.
    "timeouts": {"ack_s": 3600.0, "leave_s": 0.2, "idle_s": 60.0, "dial_s": 60.0, "handshake_s": 60.0},
    "metrics": {"bind": "off"},
}
"The same for every node: what gossip alone delivers is measured, so nothing else may."


class Plan(Struct, frozen=True):
    """One network and its events."""

    name: str
    service: MembershipName
    sizes: tuple[int, int, int]
    climbs: tuple[float, ...]
    events: int
    "At each of these chances."
    seed: int
    publishers: int = 8
    every_s: float = 0.5
    "From one event to the next: the last one has arrived wherever it will."
    contacts: int = 3
    "Nodes that a newcomer knows: drawn among those that are up."
    join_every_s: float = 0.25
    "From one arrival to the next, or longer, if a node takes longer to start."
    warmup_s: float = 10.0
    "From the last arrival to the first event, as in simulation;"
    patience_s: float = 60.0
    "or longer, if nodes are not ready by then, but not beyond this."

    def arrivals(self) -> list[tuple[str, Topic]]:
        """Names and topics of all nodes, in the order in which they come."""
        everybody = [
            (f"{level}-{number}", topic)
            for level, topic, size in zip("adg", LEVELS, self.sizes, strict=True)
            for number in range(size)
        ]
        return random.Random(f"{self.seed} arrivals").sample(everybody, len(everybody))

    def known(self, name: str, up: Sequence[str]) -> list[str]:
        """Whom a newcomer knows."""
        return random.Random(f"{self.seed} {name}").sample(up, min(self.contacts, len(up)))

    def chances(self) -> list[float]:
        """Of every event, in turn: mixed, so that the time of day at which it was published says nothing."""
        every = [climb for climb in self.climbs for _ in range(self.events)]
        return random.Random(f"{self.seed} chances").sample(every, len(every))


def plans(
    services: Sequence[MembershipName],
    networks: int,
    events: int,
    seed: int,
    sizes: tuple[int, int, int] | None = None,
    climbs: tuple[float, ...] = CLIMBS,
) -> list[Plan]:
    return [
        Plan(f"{service}-{number}", service, sizes or SIZES[service], climbs, events, seed + number)
        for number in range(1, networks + 1)
        for service in services
    ]
