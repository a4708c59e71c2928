"""A dispatcher that has just found its place does not know yet what others want: what it publishes carries no tags, and
is found by comparing ids."""

import pytest

from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import Message
from gossamer.core.messages import Carrier
from gossamer.core.patterns import Pattern
from gossamer.protocols.dispatch.node import dispatch_node
from gossamer.protocols.recovery.messages import Again
from gossamer.protocols.recovery.params import Params
from gossamer.sim.network import Network
from gossamer.sim.town import Town

LOST: dict[EventId, None] = {}
PUBLISHER, READERS = 0, range(1, 8)


class Losing(Network):
    """Some events arrive nowhere, unless somebody asked for them."""

    def transit(self, sender: Peer, target: Peer, message: Message) -> list[int]:
        spread = isinstance(message, Carrier) and type(message) is not Again
        lost = spread and message.carried.event.id in LOST  # type: ignore[attr-defined]
        return [] if lost else super().transit(sender, target, message)


@pytest.mark.parametrize("wait_s", [0, 0.1, 1])
def test_what_a_dispatcher_publishes_as_soon_as_it_is_back_is_found(
    wait_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gossamer.sim.town.Network", Losing)
    LOST.clear()
    town = Town(lambda me: dispatch_node(me, 1, recovery=Params.live()), None, 1)
    town.start(PUBLISHER, ".other")
    for reader in READERS:
        town.start(reader, Pattern(".e", f"p > {reader % 3}"))
    town.run(8)
    town.crash(PUBLISHER)
    town.run(5)
    town.restart(PUBLISHER)
    town.run(wait_s)
    LOST[town.next_id(PUBLISHER)] = None
    tagged = bool(town.node(PUBLISHER).patterns(".e", {"p": 5}))
    assert tagged == (wait_s == 1)
    event_id = town.publish(PUBLISHER, ".e", {"p": 5})
    town.run(15)
    assert town.missing(event_id) == []
