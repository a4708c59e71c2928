"""What makes many events cheap, and changes nothing that anybody could see: eras and packs.

*An era* lasts as long as nothing but events happens. What was worked out from views, tables, parameters and interest
holds until the next one begins, and need not be worked out again for every event. `Stack.era` counts them.

*A pack* is several events of one publisher that travel together. What is the same for all of them is done once; where
they could differ, they go one by one.
"""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from gossamer.core.events import Carried, Event
from gossamer.core.ids import Peer
from gossamer.core.interest import Interest
from gossamer.core.messages import Carrier
from gossamer.core.roles import Memory


def one_by_one(message: Carrier, peer: Peer, handler: Callable[[Peer, Any], None]) -> None:
    """Gives the events of a pack to one who takes no packs."""
    for one in message.carried.each():
        handler(peer, replace(message, carried=one))


def alike(interest: Interest, seen: Memory, events: Sequence[Event]) -> bool:
    """Whether all of these are news, and whatever is decided of one holds for all."""
    return interest.alike(events) and not seen.has_any([event.id for event in events])


def kept_together(carried: Carried, accept: Callable[[Carried], bool]) -> Carried | None:
    """Those of the events that are accepted one by one."""
    return carried.only([one.event for one in carried.each() if accept(one)])
