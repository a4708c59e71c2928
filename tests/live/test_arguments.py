"""What publish and subscribe are given: wrong things are told in one sentence, by a node and its client alike, and
nothing is sent. What is right passes whatever it is dressed as."""

import asyncio
import gc
import warnings
from collections.abc import Awaitable, Callable
from enum import IntEnum, StrEnum
from typing import Any

import pytest

from gossamer import Client, Node
from gossamer.core.errors import Misuse
from gossamer.live.clients.arguments import publication, subscription
from gossamer.live.config.tables import EVENT_BYTES_MAX, SpoolConfig
from gossamer.live.links.transports.memory import Memory
from gossamer.live.publishing.accepted import FORGOTTEN
from gossamer.testing import Network

HALF = "\ud800"
"Half of a surrogate pair."

PUBLISHED = {
    "a number as topic": ({"topic": 5}, "a topic is text like '.soccer', not int"),
    "bytes as topic": ({"topic": b".a"}, "a topic is text like '.soccer', not bytes"),
    "no topic": ({"topic": "soccer"}, "topic 'soccer' must start with a dot, like '.soccer'"),
    "a number as payload": ({"payload": 5}, "a payload is bytes or text, not int: encode it first"),
    "half a letter as payload": ({"payload": HALF}, "the payload has letters that UTF-8 cannot write: give it as byte"),
    "a list as attributes": ({"attributes": [1]}, "attributes are a dictionary like {'minute': 88}, not list"),
    "many attributes": (
        {"attributes": dict.fromkeys(map(str, range(65)), 1)},
        "an event has at most 64 attributes, not 65: put them into the payload",
    ),
    "an attribute without a name": (
        {"attributes": {"": 1}}, "an attribute's name has 1 to 128 letters, not 0: choose another"
    ),
    "a number as an attribute's name": (
        {"attributes": {5: 1}}, "an attribute's name is text of up to 128 letters, not int"
    ),
    "a long attribute's name": (
        {"attributes": {"x" * 129: 1}}, "an attribute's name has 1 to 128 letters, not 129: choose another"
    ),
    "nothing as attribute": ({"attributes": {"a": None}}, "attribute 'a' is NoneType: use str, int, float or bool"),
    "a great number": ({"attributes": {"a": 2**63}}, "attribute 'a' does not fit 64 bits: use text"),
    "half a letter as attribute": (
        {"attributes": {"a": HALF}}, "attribute 'a' has letters that UTF-8 cannot write: put it into the payload"
    ),
    "a long key": ({"key": "k" * 257}, "a key has 1 to 256 letters, not 257: choose another"),
    "an empty key": ({"key": ""}, "a key has 1 to 256 letters, not 0: choose another"),
    "a number as key": ({"key": 5}, "a key is text of up to 256 letters, not int"),
    "bytes as key": ({"key": b"k"}, "a key is text of up to 256 letters, not bytes"),
    "half a letter as key": ({"key": HALF}, "a key has letters that UTF-8 cannot write: choose another"),
    "a large payload": ({"payload": bytes(EVENT_BYTES_MAX)}, "bytes is too large, at most 16777216 (and 64 KiB of att"),
    "large attributes": ({"attributes": {"a": "x" * (64 << 10)}}, "bytes is too large, at most 16777216 (and 64 KiB"),
    "large attributes beside a large payload": (
        {"payload": bytes(EVENT_BYTES_MAX - (200 << 10)), "attributes": {"a": "x" * (150 << 10)}},
        "bytes is too large, at most 16777216 (and 64 KiB of attributes) may be published",
    ),
}  # fmt: skip

SUBSCRIBED = {
    "a number as topic": ({"topic": 5}, "a topic is text like '.soccer', not int"),
    "a number as filter": ({"where": 5}, "where is a filter in words like 'price > 100', not int"),
    "no filter": ({"where": "price >"}, "filter, character 8: expected a number"),
    "a long name": ({"name": "n" * 129}, "a subscription's name has 1 to 128 letters, not 129: choose another"),
    "a number as name": ({"name": 5}, "a subscription's name is text of up to 128 letters, not int"),
    "half a letter as name": ({"name": HALF}, "a subscription's name has letters that UTF-8 cannot write"),
    "text for yes": ({"from_start": "yes"}, "from_start is True or False, not str"),
    "a number for yes": ({"ordered": 1}, "ordered is True or False, not int"),
    "nothing for no": ({"recover": None}, "recover is True or False, not NoneType"),
}


def with_both(act: Callable[[Node, Client], Awaitable[None]], **settings: Any) -> None:
    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("a", timeouts={"leave_s": 0.05}, **settings)
            async with Client(node.address, transport=Memory(network.memory)) as client, asyncio.timeout(60):
                await act(node, client)

    asyncio.run(scenario())


def test_what_cannot_be_published_is_refused_before_it_is_sent() -> None:
    async def act(node: Node, client: Client) -> None:
        for case, (given, says) in PUBLISHED.items():
            for one in (node, client):
                with pytest.raises(Misuse) as refused:
                    await one.publish(**{"topic": ".a", **given})  # type: ignore[arg-type]
                assert says in str(refused.value), case
        assert (node.metrics.messages_received, node.metrics.events_published, client.offers) == (0, 0, {})
        assert (await client.publish(".a", "and on it goes")).sequence == 1

    with_both(act)


def test_what_cannot_be_read_is_refused_before_it_is_asked_for() -> None:
    async def act(node: Node, client: Client) -> None:
        for case, (given, says) in SUBSCRIBED.items():
            for one in (node, client):
                with pytest.raises(Misuse) as refused:
                    one.subscribe(**{"topic": ".a", **given})  # type: ignore[arg-type]
                assert says in str(refused.value), case
        assert node.metrics.messages_received == 0

    with_both(act)


def test_the_largest_a_client_may_say_is_read_by_its_node() -> None:
    async def act(node: Node, client: Client) -> None:
        attributes = {f"{number:0>127}日": -(2**63) for number in range(64)}
        async with client.subscribe(".a", name="日" * 128) as reader:
            await client.publish(".a", bytes(EVENT_BYTES_MAX - (20 << 10)), attributes=attributes, key="日" * 256)
            event = await anext(reader)
            assert event.attributes == attributes  # type: ignore[union-attr]
        with pytest.raises(Misuse, match="is too large"):
            await client.publish(".a", bytes(EVENT_BYTES_MAX - 10), attributes={"a": 1})

    with_both(act, subscribe=[".a"])


def test_without_a_spool_nothing_can_remember_a_key() -> None:
    async def act(node: Node, client: Client) -> None:
        says = 'a key is remembered in the spool: set spool.durability to "process" or "disk", or leave the key out'
        for one in (node, client):
            with pytest.raises(Misuse) as refused:
                await one.publish(".a", b"x", key="k")
            assert str(refused.value) == says
            await one.publish(".a", b"x")

    with_both(act, spool=SpoolConfig(durability="off"))


class Places(StrEnum):
    ITALY = ".soccer.italy"


class Word(str):
    """As NumPy's texts are."""


class Halves(IntEnum):
    SECOND = 2


class Share(float):
    """As NumPy's numbers are."""


def test_members_of_enumerations_and_other_numbers_are_what_they_stand_for() -> None:
    given = {"side": Word("home"), "half": Halves.SECOND, "share": Share(0.5), "won": True}
    wish = publication(Places.ITALY, Word("home"), given, Word("home"))  # type: ignore[arg-type]
    assert wish == (".soccer.italy", b"home", {"side": "home", "half": 2, "share": 0.5, "won": True}, "home", None, {})
    assert [type(each) for each in wish.attributes.values()] == [str, int, float, bool]
    read = subscription(Places.ITALY, "", Word("home"))
    assert [type(each) for each in (wish.topic, wish.key, read.topic, read.name)] == [str] * 4


def test_who_forgets_to_wait_for_a_publication_is_told_so_and_nobody_else() -> None:
    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("a")
            await node.publish(".a", b"waited for")
            await asyncio.gather(node.publish(".a", b"gathered"), node.publish(".a", b"keyed", key="k"))
            waiting = node.publish(".a", b"later")
            while not waiting.done():
                await asyncio.sleep(0)
            assert waiting.result().sequence == 4
            with pytest.raises(Misuse):
                node.publish(".a", bytes(17 << 20))
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                node.publish(".a", b"forgotten")
                await node.publish(".a", b"after it")
                gc.collect()
            assert [str(each.message) for each in told] == [FORGOTTEN]

    asyncio.run(scenario())
