"""The codec: what nodes say survives the wire, and nothing that arrives can do more than be refused."""

from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct, field

import gossamer.protocols
from gossamer.core.errors import PeerFault
from gossamer.core.events import Carried, Event
from gossamer.core.ids import EventId
from gossamer.core.messages import Carrier
from gossamer.protocols.camcast.messages import Carry, ContactList
from gossamer.protocols.hpmcast.messages import LevelGossip
from gossamer.wire.codec import Codec
from gossamer.wire.frame import SAID_BYTES_MAX
from wire.instances import instances


def spoken() -> dict[str, tuple[type[Struct], ...]]:
    """The messages of every protocol that has any."""
    names = [
        f"{gossamer.protocols.__name__}.{found.name}.messages" for found in iter_modules(gossamer.protocols.__path__)
    ]
    unions = {name: import_module(name).Message for name in names if found_module(name)}
    return {name: get_args(union) or (union,) for name, union in unions.items()}


def found_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # the protocol is a file, not a folder
        return False


PROTOCOLS = spoken()
TYPES = [each for types in PROTOCOLS.values() for each in types]
CODEC = Codec(TYPES)
MESSAGES = st.sampled_from(TYPES).flatmap(instances)


def test_there_are_messages_to_test() -> None:
    assert "gossamer.protocols.camcast.messages" in PROTOCOLS
    assert len(TYPES) >= 7


@pytest.mark.parametrize("of", TYPES, ids=lambda each: str(each.__struct_config__.tag))
def test_every_message_survives_the_wire(of: type[Struct]) -> None:
    @settings(max_examples=50)
    @given(instances(of))
    def survives(message: Struct) -> None:
        arrived = CODEC.decode(CODEC.encode(message))
        assert type(arrived) is of
        assert arrived == message

    survives()


def test_no_two_protocols_use_the_same_tag_and_each_begins_with_its_protocols_name() -> None:
    tags = [each.__struct_config__.tag for each in TYPES]
    assert len(set(tags)) == len(tags)
    for module, types in PROTOCOLS.items():
        for each in types:
            assert str(each.__struct_config__.tag).startswith(module.split(".")[-2] + "."), each


def test_messages_cannot_be_changed_on_the_way() -> None:
    assert all(each.__struct_config__.frozen for each in TYPES)


def test_the_same_message_is_always_the_same_bytes() -> None:
    message = Carry(Carried(Event(EventId(1, 2, 3), ".a", b"x", {"b": 1, "a": 2}), 4, (5, 6)))
    assert CODEC.encode(message) == CODEC.encode(CODEC.decode(CODEC.encode(message)))


# -- what is not a message ---------------------------------------------------------------------------------------


def refused_or_understood(data: bytes) -> None:
    """The only two things that may happen. What is understood can be passed on: nothing in it breaks the encoder."""
    with suppress(PeerFault):
        message = CODEC.decode(data)
        CODEC.encode(message)
        if carried := getattr(message, "carried", None):
            CODEC.encode(msgspec.structs.replace(message, carried=carried.hop()))


@settings(max_examples=300)
@given(st.binary(max_size=200))
def test_rubbish_is_the_peers_fault(data: bytes) -> None:
    refused_or_understood(data)


@given(MESSAGES, st.data())
def test_a_message_cut_short_is_the_peers_fault(message: Struct, data: st.DataObject) -> None:
    whole = CODEC.encode(message)
    with pytest.raises(PeerFault, match="not a message"):
        CODEC.decode(whole[: data.draw(st.integers(0, len(whole) - 1))])


@given(MESSAGES, st.binary(min_size=1, max_size=5))
def test_a_message_with_something_behind_it_is_the_peers_fault(message: Struct, more: bytes) -> None:
    with pytest.raises(PeerFault):
        CODEC.decode(CODEC.encode(message) + more)


@settings(max_examples=300)
@given(MESSAGES, st.lists(st.integers(0, 10_000), min_size=1, max_size=4))
def test_flipped_bits_are_refused_or_make_another_message(message: Struct, flips: list[int]) -> None:
    data = bytearray(CODEC.encode(message))
    for flip in flips:
        data[flip // 8 % len(data)] ^= 1 << flip % 8
    refused_or_understood(bytes(data))


def test_every_single_flipped_bit_of_one_message_is_refused_or_makes_another() -> None:
    whole = CODEC.encode(Carry(Carried(Event(EventId(1, 2, 3), ".a", b"x", {"b": 1.5}, 0.5), 4, (5, 6))))
    for bit in range(8 * len(whole)):
        data = bytearray(whole)
        data[bit // 8] ^= 1 << bit % 8
        refused_or_understood(bytes(data))


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.sampled_from(TYPES), st.data())
def test_fields_of_the_wrong_type_are_the_peers_fault(of: type[Struct], data: st.DataObject) -> None:
    fields = {name: data.draw(PLAIN) for name in of.__struct_fields__}
    refused_or_understood(msgspec.msgpack.encode({"type": of.__struct_config__.tag, **fields}))


def altered(message: Struct, change: Callable[[dict[str, Any]], None]) -> bytes:
    said = msgspec.to_builtins(message, builtin_types=(bytes,))
    change(said)
    return msgspec.msgpack.encode(said)


CONTACTS = ContactList(".a", ".", (1, 2))


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="nothing at all"),
        pytest.param(msgspec.msgpack.encode({"type": "camcast.unheard_of"}), id="an unknown tag"),
        pytest.param(altered(CONTACTS, lambda said: said.pop("type")), id="no tag"),
        pytest.param(altered(CONTACTS, lambda said: said.pop("peers")), id="a missing field"),
        pytest.param(altered(CONTACTS, lambda said: said.update(peers="12")), id="text for a list"),
        pytest.param(altered(CONTACTS, lambda said: said.update(peers=[1.5])), id="a fraction for a peer"),
        pytest.param(altered(CONTACTS, lambda said: said.update(topic="soccer")), id="a topic without a dot"),
        pytest.param(altered(CONTACTS, lambda said: said.update(topic=".a" * 200)), id="an over-long topic"),
        pytest.param(CODEC.encode(CONTACTS).replace(b"\xa2.a", b"\xa2\xff\xfe"), id="text that is not UTF-8"),
        pytest.param(CODEC.encode(CONTACTS).replace(b"contacts", b"\xff\xfentacts"), id="a tag that is not UTF-8"),
        pytest.param(b"\x91" * 100_000, id="a hundred thousand lists in each other"),
        pytest.param(
            CODEC.encode(CONTACTS).replace(b"\x87", b"\x88", 1) + b"\xa1x" + b"\x91" * 100_000 + b"\xc0",
            id="the same in a field nobody reads",
        ),
        pytest.param(
            CODEC.encode(CONTACTS).replace(b"\x92\x01\x02", b"\xdd\xff\xff\xff\xff\x01\x02"), id="a lie of length"
        ),
    ],
)
def test_what_is_not_a_message_is_the_peers_fault(data: bytes) -> None:
    with pytest.raises(PeerFault, match="not a message"):
        CODEC.decode(data)


def test_a_field_that_a_later_version_adds_is_passed_over() -> None:
    assert CODEC.decode(altered(CONTACTS, lambda said: said.update(mood="good"))) == CONTACTS


CARRIERS = [each for each in TYPES if "carried" in each.__struct_fields__]


@pytest.mark.parametrize("of", CARRIERS, ids=lambda each: str(each.__struct_config__.tag))
def test_what_a_message_says_beside_its_event_survives_apart_from_it(of: type[Struct]) -> None:
    @settings(max_examples=50)
    @given(instances(of))
    def survives(message: Any) -> None:
        said = CODEC.said(message)
        assert bool(said) == CODEC.says_more(of)
        assert len(said) <= SAID_BYTES_MAX
        assert CODEC.carrier(of, message.carried, said) == message

    survives()


@pytest.mark.parametrize(
    "said", [b"", b"\x90", b"\xc1", b"\x93\x01\x01", b"\x93\x00\xca\x3f\x80\x00\x00\x01", b"\x91" * 5000]
)
def test_what_says_something_else_beside_its_event_is_the_peers_fault(said: bytes) -> None:
    with pytest.raises(PeerFault):
        CODEC.carrier(LevelGossip, Carried(Event(EventId(1, 2, 3), ".a")), said)


def test_a_message_with_a_default_that_is_made_anew_cannot_carry_events() -> None:
    class Odd(Carrier, frozen=True, tag="odd"):
        others: list[int] = field(default_factory=list)

    with pytest.raises(TypeError, match="Odd"):
        Codec([Odd])
