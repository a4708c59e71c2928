"""Events have names nobody else uses; what carriers add stands beside them."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.core.events import HOPS_MAX, Carried, Event
from gossamer.core.ids import EventId

EVENT = Event(EventId(7, 1, 3), ".soccer.italy", b"goal", {"minute": 88, "team": "Milan"}, climb=0.5)


def test_an_event_is_named_by_publisher_incarnation_and_sequence() -> None:
    assert EVENT.id == EventId(publisher=7, incarnation=1, sequence=3)
    assert EventId(7, 1, 3) != EventId(7, 2, 3) != EventId(8, 1, 3)


def test_events_of_one_publisher_are_ordered_by_incarnation_then_sequence() -> None:
    ids = [EventId(7, 2, 0), EventId(7, 1, 9), EventId(7, 1, 10), EventId(6, 5, 5)]
    assert sorted(ids) == [EventId(6, 5, 5), EventId(7, 1, 9), EventId(7, 1, 10), EventId(7, 2, 0)]


@given(st.lists(st.tuples(*[st.integers(0, 2**63 - 1)] * 3), unique=True, max_size=50))
def test_different_ids_stand_for_different_words_in_draws(parts: list[tuple[int, int, int]]) -> None:
    words = [EventId(*each).word() for each in parts]
    assert len(set(words)) == len(parts)
    assert all(0 <= word < 2**64 for word in words)


def test_what_the_publisher_said_never_changes() -> None:
    with pytest.raises(AttributeError):
        EVENT.topic = "."  # type: ignore[misc]
    with pytest.raises(AttributeError):
        Carried(EVENT).hops = 3  # type: ignore[misc]


def test_a_plain_event_leaves_climbing_to_its_community() -> None:
    plain = Event(EventId(1, 0, 0), ".")
    assert (plain.payload, plain.attributes, plain.climb) == (b"", {}, None)


def test_a_hop_counts_and_leaves_event_and_route_alone() -> None:
    carried = Carried(EVENT, route=(1, 2))
    further = carried.hop().hop()
    assert (further.event, further.hops, further.route) == (EVENT, 2, (1, 2))
    assert carried.hops == 0


def test_hops_are_not_counted_beyond_what_may_be_said() -> None:
    carried = Carried(Event(EventId(1, 0, 1), ".a"), HOPS_MAX)
    assert carried.hop() == carried


def test_an_event_survives_the_wire() -> None:
    carried = Carried(EVENT, 4, (1, 2**63 - 1))
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(carried), type=Carried) == carried


@pytest.mark.parametrize("hops", [-1, 2**63 - 1])
def test_a_count_of_hops_that_no_honest_carrier_reaches_is_refused_at_the_border(hops: int) -> None:
    """The greatest number that travels would not travel one hop further."""
    with pytest.raises(msgspec.ValidationError):
        msgspec.msgpack.decode(msgspec.msgpack.encode(Carried(EVENT, hops)), type=Carried)


@pytest.mark.parametrize("topic", ["", "soccer", "..", ".soccer.", ".soccer italy", ".a\n", "." + "x" * 256])
def test_an_event_on_no_topic_is_refused_at_the_border(topic: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.msgpack.decode(msgspec.msgpack.encode(Event(EVENT.id, topic)), type=Event)
