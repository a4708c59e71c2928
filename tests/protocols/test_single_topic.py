"""With a single topic, CAMCAST is the bare gossip it stands on (001 1.3): the same draws, the same run."""

from collections.abc import Sequence

import pytest
from msgspec import Struct

from gossamer.core.draws import PICK
from gossamer.core.events import Event
from gossamer.core.machine import Publish, Send, Subscribe
from gossamer.core.setting import Faults, Publication, Setting, event_id
from gossamer.core.stack import Stack
from gossamer.core.tally import PARASITES, SENT_UP
from gossamer.fast import engine as fast
from gossamer.protocols import CATALOGUE
from gossamer.protocols.camcast.params import Params as Camcast
from gossamer.protocols.gossip.params import Params as Gossip
from gossamer.sim import engine as sim
from protocols.hierarchies import NO_FAULTS, Shape, chain, setting

ALONE = {"the root": Shape({".": 50}), "a topic": Shape({".news": 50})}
FAULTS = {
    "none": NO_FAULTS,
    "stillborn": Faults("stillborn", 0.3),
    "dynamic": Faults("dynamic", 0.25),
}
BARE = [Gossip.broadcast(), Gossip.multicast()]
CHOICES = [(extra, success) for extra in (5.0, 0.0, -2.0) for success in (1.0, 0.7)]


def both(shape: Shape, bare: Struct, extra: float, success: float, faults: Faults) -> tuple[Setting, Setting]:
    """The same experiment for CAMCAST and for plain gossip."""
    # success_up must not matter: there is nobody above
    camcast = setting(shape, Camcast(fanout_extra=extra), [(success, 0.1)], faults)
    kind = Gossip(audience=bare.audience, fanout_extra=extra)  # type: ignore[attr-defined]
    return camcast, setting(shape, kind, success, faults)


def kernel(name: str, world: Setting, seeds: Sequence[int], sequence: int = 0) -> list[list[list[int]]]:
    table: list[list[list[int]]] = fast.tallies(
        str(CATALOGUE[name].kernel), world, Publication(0, sequence), seeds
    ).tolist()
    return table


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("bare", BARE, ids=["broadcast", "multicast"])
@pytest.mark.parametrize("shape", ALONE)
def test_the_kernels_run_alike(shape: str, bare: Struct, fault: str) -> None:
    for extra, success in CHOICES:
        camcast, gossip = both(ALONE[shape], bare, extra, success, FAULTS[fault])
        for sequence in range(2):
            mine = kernel("camcast", camcast, range(100), sequence)
            assert mine == kernel("gossip", gossip, range(100), sequence)
            assert not any(row[SENT_UP] or row[PARASITES] for rows in mine for row in rows)


@pytest.mark.parametrize("latency", [sim.LOCKSTEP, sim.SCRAMBLED], ids=["lockstep", "scrambled"])
@pytest.mark.parametrize("fault", FAULTS)
def test_the_machines_run_alike(fault: str, latency: sim.Latency) -> None:
    for extra, success in CHOICES[1:4]:
        camcast, gossip = both(ALONE["a topic"], BARE[0], extra, success, FAULTS[fault])
        for seed in range(8):
            mine = sim.spread(CATALOGUE["camcast"], camcast, Publication(0), seed, latency)
            bare = sim.spread(CATALOGUE["gossip"], gossip, Publication(0), seed, latency)
            assert mine.rows == bare.rows
            assert mine.delivered == bare.delivered  # who, and when


def test_they_run_alike_at_any_size() -> None:
    for size in (1, 2, 3, 8, 300, 5000):
        camcast, gossip = both(chain(size), BARE[0], 2.0, 0.9, NO_FAULTS)
        assert kernel("camcast", camcast, range(10)) == kernel("gossip", gossip, range(10))


def first_told(node: Stack, me: int) -> list[tuple[int, ...]]:
    node.step(Subscribe("."), 0)
    effects = node.step(Publish(Event(event_id(me, 0), ".")), 0)
    return [effect.peers for effect in effects if type(effect) is Send]


def test_each_node_tells_the_same_peers_in_the_same_order() -> None:
    camcast, gossip = both(ALONE["the root"], BARE[0], 0.0, 1.0, NO_FAULTS)
    for me in range(50):
        nodes = (CATALOGUE["camcast"].static_node(camcast, me, 7), CATALOGUE["gossip"].static_node(gossip, me, 7))
        mine, bare = (first_told(node, me) for node in nodes)
        assert mine == bare
        assert len(mine[0]) == 3
        assert nodes[0].key(PICK, 1) == nodes[1].key(PICK, 1)


def test_a_second_topic_makes_the_difference() -> None:
    camcast, gossip = both(chain(20, 30), BARE[0], 5.0, 0.9, NO_FAULTS)
    assert kernel("camcast", camcast, range(10)) != kernel("gossip", gossip, range(10))
