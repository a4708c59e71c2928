"""What of an event is looked at on its way (6.1.1, event coverage): topic and attributes, never the payload; where
views say topics only, not the attributes either."""

from typing import Any, NoReturn

import pytest

from gossamer.core.events import Attribute, Carried, Event
from gossamer.core.ids import EventId
from gossamer.core.patterns import Pattern
from gossamer.protocols.hpmcast.levels import Gossiped
from gossamer.protocols.hpmcast.upkeep import Upkeep
from protocols.hpmcast.towns import HierarchyTown


class Touched(Exception):
    """Somebody looked."""


def touch(*_: Any) -> NoReturn:
    raise Touched


class Closed(bytes):
    """A payload nobody may look at."""

    __len__ = __iter__ = __getitem__ = __contains__ = __eq__ = __hash__ = __bool__ = decode = touch  # type: ignore[assignment]


class Unread(dict[str, Attribute]):
    """Attributes nobody may look at."""

    get = __getitem__ = __iter__ = __contains__ = __len__ = items = keys = values = touch  # type: ignore[assignment]


def test_an_event_reaches_all_that_want_it_and_nobody_on_its_way_looks_at_the_payload() -> None:
    town = HierarchyTown(range(27), lambda peer: [Pattern(".m", f"x > {peer % 9}")], (3, 3, 3))
    town.run(12)
    town.world.codec = None  # what writes to sockets must look at it
    payload = Closed(b"not for you")
    event_id = town.publish(0, ".m", {"x": 5}, payload=payload)
    town.run(8)
    assert sorted(town.delivered(event_id)) == [peer for peer in range(27) if peer % 9 < 5]
    with pytest.raises(Touched):
        len(payload)


def judged(town: HierarchyTown, level: int) -> float:
    """The share of a view that wants an event, as the first participant finds by matching."""
    it = Gossiped(Carried(Event(EventId(0, 0, 1), ".m", attributes=Unread(x=5))), level)
    town.hpmcast(0).measure(it)
    return it.prob


def test_where_views_say_topics_only_the_attributes_are_not_looked_at_either() -> None:
    town = HierarchyTown(range(16), lambda peer: [Pattern(".m", f"x > {peer}")], (2, 2, 2, 2))
    town.run(15)
    assert judged(town, 4) == 1.0
    for level in (1, 2):
        with pytest.raises(Touched):
            judged(town, level)


def test_where_filters_stay_exact_they_are_looked_at_on_every_level() -> None:
    town = HierarchyTown(
        range(16), lambda peer: [Pattern(".m", f"x > {peer}")], (2, 2, 2, 2), upkeep=Upkeep(weakest="exact")
    )
    town.run(15)
    for level in (1, 2, 3, 4):
        with pytest.raises(Touched):
            judged(town, level)
