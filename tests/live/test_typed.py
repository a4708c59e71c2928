"""Topics as types, on nodes and clients: objects go in and come out, and nothing that is sent ends a reader's loop."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import msgspec
import pytest

import gossamer
from gossamer import Client, Filterable, Gap, Node, Typed, Unreadable, delivery_of, topic_of
from gossamer.core import typed
from gossamer.core.errors import Misuse, PeerFault
from gossamer.live.clients.arguments import subscription
from gossamer.live.config.config import load
from gossamer.live.links.control import CLIENT_CONTROL, TYPES_MAX, Read
from gossamer.live.links.transports.memory import Memory
from gossamer.live.pubsub import PubSub
from gossamer.live.running.reloading import take_over
from gossamer.testing import Network
from gossamer.wire.codec import Codec
from live.watching import PATIENCE_S, assert_replayed

pack = msgspec.msgpack.encode


def sports() -> Any:
    """The types of a program; each call is another program that says the same."""

    class Sport(Typed):
        pass

    class City(Typed):
        name: str

    class Soccer(Sport):
        team: str
        minute: Annotated[int, Filterable] = 0
        name: str = ""

    class Derby(Soccer, parents=(Soccer, City)):
        pass

    return SimpleNamespace(Sport=Sport, City=City, Soccer=Soccer, Derby=Derby)


@asynccontextmanager
async def attached(network: Network, node: Node) -> AsyncIterator[Client]:
    async with Client(node.address, transport=Memory(network.memory)) as client:
        yield client


def with_each(act: Callable[[PubSub[Any], Network, Any], Awaitable[None]], **settings: Any) -> None:
    """The same with a node, and with a client of one."""

    async def scenario() -> None:
        for uses_client in (False, True):
            kinds = sports()
            async with Network() as network, asyncio.timeout(PATIENCE_S):
                node = await network.node("a", timeouts={"leave_s": 0.05}, **settings)
                if uses_client:
                    async with attached(network, node) as client:
                        await act(client, network, kinds)
                else:
                    await act(node, network, kinds)

    asyncio.run(scenario())


def test_objects_come_as_what_they_are() -> None:
    async def act(user: PubSub[Any], network: Network, kinds: Any) -> None:
        async with user.subscribe(kinds.Sport) as inbox:
            published = [kinds.Soccer("Roma", 88), kinds.Derby("Lazio", 3, "Rome"), kinds.Sport()]
            ids = [await user.publish(each) for each in published]
            got = [await anext(inbox) for _ in published]
            assert {delivery_of(each).id: each for each in got} == dict(zip(ids, published, strict=True))
            assert {type(each) for each in got} == {kinds.Soccer, kinds.Derby, kinds.Sport}
            assert delivery_of(got[0]).topic == topic_of(type(got[0]))
            assert (await user.publish(got[0])).sequence == 4  # an object that came may go on

    with_each(act)


def test_a_subtype_that_the_reader_does_not_know_comes_as_the_nearest_base_it_knows() -> None:
    async def act(user: PubSub[Any], network: Network, kinds: Any) -> None:
        async with user.subscribe(kinds.Sport, ordered=True) as inbox:
            topic = ".sport.soccer.indoor.final"
            await user.publish(topic, pack({"team": "Roma", "minute": 1, "hall": "west"}))
            assert await anext(inbox) == kinds.Soccer("Roma", 1)
            await user.publish(".sport.tennis", pack({"sets": [6, 3]}))
            assert await anext(inbox) == kinds.Sport()

    with_each(act)


def test_an_unknown_subtype_that_is_elsewhere_by_name_comes_as_the_nearest_base_that_is_known_to_lie_above() -> None:
    async def act(user: PubSub[Any], network: Network, kinds: Any) -> None:
        async with user.subscribe(kinds.Sport) as inbox:
            await user.publish(".football.indoor", pack({"team": "Roma", "minute": 1}))
            by_name = not isinstance(user, Node)  # a client does not know its node's hierarchy
            assert await anext(inbox) == (kinds.Sport() if by_name else kinds.Soccer("Roma", 1))

    with_each(act, hierarchy={"parents": {".football": [".sport.soccer"]}})


def test_what_does_not_fit_is_an_item_and_the_loop_goes_on() -> None:
    async def act(user: PubSub[Any], network: Network, kinds: Any) -> None:
        wrong = [
            b"",
            b"rubbish",
            b"\x81\xa1x" + b"\x91" * 100_000,
            pack({"team": 5}),
            pack({"team": "x", "minute": "y"}),
        ]
        async with user.subscribe(kinds.Soccer, ordered=True) as inbox:
            for payload in wrong:
                await user.publish(".sport.soccer", payload)
            await user.publish(kinds.Soccer("Roma"))
            for payload in wrong:
                item = await anext(inbox)
                assert isinstance(item, Unreadable)
                assert item.delivery.payload == payload
                assert item.why
            assert await anext(inbox) == kinds.Soccer("Roma")

    with_each(act)


def test_fields_that_are_filterable_are_asked_for_by_filters() -> None:
    async def act(user: PubSub[Any], network: Network, kinds: Any) -> None:
        async with user.subscribe(kinds.Sport, where="minute > 80") as inbox:
            for minute in (7, 88):
                await user.publish(kinds.Soccer("Roma", minute))
            assert await anext(inbox) == kinds.Soccer("Roma", 88)
        async with user.subscribe(kinds.City, where="minute > 80") as inbox:  # a city has no minute, a derby has
            for minute in (7, 88):
                await user.publish(kinds.Derby("Roma", minute, f"Rome {minute}"))
            assert await anext(inbox) == kinds.City("Rome 88")
        for where in ('team == "Roma"', "minut > 80"):
            with pytest.raises(Misuse, match="nor a type below it has a Filterable field"):
                user.subscribe(kinds.Soccer, where=where)

    with_each(act)


def test_a_durable_reader_acknowledges_objects_and_what_it_could_not_read() -> None:
    async def act(user: PubSub[Any], network: Network, kinds: Any) -> None:
        async with user.subscribe(kinds.Sport, name="billing", ordered=True) as inbox:
            for team in ("Roma", "Lazio"):
                await user.publish(kinds.Soccer(team))
            await user.publish(".sport.soccer", b"rubbish")
            first, second, third = [await anext(inbox) for _ in range(3)]
            assert isinstance(third, Unreadable)
            await inbox.ack(first, third, Gap(1, "of no consequence"))
            for wrong in (kinds.Soccer("Roma"), msgspec.structs.replace(second), "Roma"):
                with pytest.raises(Misuse, match="came from no inbox: acknowledge"):
                    await inbox.ack(wrong)
            mark = await inbox.bookmark()
            assert mark.topic == ".sport"
        async with user.subscribe(kinds.Sport, name="billing", ordered=True) as inbox:
            again = await anext(inbox)
            assert (again, delivery_of(again).redelivered) == (second, True)
            await inbox.ack(again)

    with_each(act)


def test_a_typed_inbox_is_read_inside_async_with_and_only_a_named_one_acknowledges() -> None:
    async def act(user: PubSub[Any], network: Network, kinds: Any) -> None:
        inbox = user.subscribe(kinds.Sport)
        with pytest.raises(Misuse, match="a subscription is open inside `async with"):
            aiter(inbox)
        async with inbox:
            await user.publish(kinds.Sport())
            item = await anext(inbox)
            with pytest.raises(Misuse, match="only a named subscription remembers"):
                await inbox.ack(item)

    with_each(act)


def test_gaps_come_through() -> None:
    async def scenario() -> None:
        kinds = sports()
        async with Network() as network, asyncio.timeout(PATIENCE_S):
            limits, spool = {"inbox_items": 1}, {"durability": "off"}
            node = await network.node("a", limits=limits, spool=spool, timeouts={"leave_s": 0.05})
            async with node.subscribe(kinds.Sport) as inbox:
                await asyncio.gather(*(node.publish(kinds.Soccer("Roma", minute)) for minute in range(5)))
                assert await anext(inbox) == kinds.Soccer("Roma", 0)
                gap = await anext(inbox)
                assert isinstance(gap, Gap)
                assert gap.lost == 4

    asyncio.run(scenario())


def test_an_event_below_two_topics_comes_once_to_each_subscription() -> None:
    async def scenario() -> None:
        kinds = sports()
        async with Network() as network, asyncio.timeout(PATIENCE_S):
            anna, bert = [await network.node(name, timeouts={"leave_s": 0.05}) for name in ("anna", "bert")]
            async with (
                attached(network, bert) as client,
                bert.subscribe(kinds.Sport) as sport,
                bert.subscribe(kinds.City) as city,
                client.subscribe(kinds.City) as far,
            ):
                await anna.publish(kinds.Derby("Roma", 3, "Rome"), climb=1)
                await anna.publish(kinds.City("Turin"), climb=1)
                await anna.publish(kinds.Sport(), climb=1)
                assert {repr(await anext(sport)) for _ in range(2)} == {
                    "Sport()",
                    "Derby(team='Roma', minute=3, name='Rome')",
                }
                for inbox in (city, far):
                    assert sorted([(await anext(inbox)).name for _ in range(2)]) == ["Rome", "Turin"]
                assert bert.metrics.events_delivered == 3  # however many ways lead up

    asyncio.run(scenario())


# The hierarchy of a node and that of the classes


def test_a_file_that_disagrees_with_the_classes_is_refused_at_the_start() -> None:
    async def scenario() -> None:
        sports()
        async with Network() as network:
            with pytest.raises(Misuse) as refused:
                await network.node("a", hierarchy={"parents": {".sport.soccer.derby": [".italy"]}})
            says = r"hierarchy.parents: .sport.soccer.derby lies below .city as "
            assert str(refused.value).startswith(says)
            assert str(refused.value).endswith("say the same in both, and start the node once the class is defined")
            await network.node("a", hierarchy={"parents": {".sport.soccer.derby": [".city"]}})

    asyncio.run(scenario())


def test_a_node_that_started_before_the_class_was_there_refuses_what_would_not_come() -> None:
    async def scenario() -> None:
        async with Network() as network, asyncio.timeout(PATIENCE_S):
            node = await network.node("a", timeouts={"leave_s": 0.05})
            kinds = sports()
            async with attached(network, node) as client:
                for user in (node, client):
                    with pytest.raises(
                        Misuse, match=r"^\.sport\.soccer\.derby lies below \.city as its class says, and "
                    ):
                        await user.publish(kinds.Derby("Roma"))
                    with pytest.raises(Misuse, match="start the node once the class is defined"):
                        async with user.subscribe(kinds.City) as inbox:
                            await anext(inbox)
                    await user.publish(kinds.Soccer("Roma"))  # what nobody disagrees about goes on

    asyncio.run(scenario())


def test_a_journal_knows_what_the_classes_said_and_is_replayed_where_they_are_not_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        kinds = sports()
        async with Network() as network, asyncio.timeout(PATIENCE_S):
            trace = {"folder": str(tmp_path), "level": "journal"}
            settings: Any = {"trace": trace, "timeouts": {"leave_s": 0.05}}
            anna, bert = [await network.node(name, **settings) for name in ("anna", "bert")]
            async with bert.subscribe(kinds.City) as inbox:
                for _ in range(20):
                    await anna.publish(kinds.Derby("Roma", 3, "Rome"), climb=1)
                    assert await anext(inbox) == kinds.City("Rome")

    with monkeypatch.context() as own:
        for table in ("_types", "_inner"):
            own.setattr(typed, table, dict(getattr(typed, table)))
        asyncio.run(scenario())
    assert ".city" not in typed._types
    assert_replayed(tmp_path, 2)


def test_more_types_than_a_node_would_read_of_its_client_are_refused() -> None:
    many = {f".a{number}": (".b",) for number in range(TYPES_MAX + 1)}
    with pytest.raises(Misuse, match=r"4097 types have further parents, and at most 4096 can be told"):
        subscription(".b", "", "", parents=many)
    codec = Codec(CLIENT_CONTROL)
    for wrong in (many, {".a": (".b",) * 17}, {"no topic": (".b",)}):
        with pytest.raises(PeerFault):
            codec.decode(codec.encode(Read(1, ".b", parents=wrong)))


def test_a_reload_does_not_take_what_the_classes_add_for_a_change(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        sports()
        async with Network() as network:
            node = await network.node("a")
            before = node.config
            take_over(node, load(environ={}, overrides={"name": "a", "bind": "memory:0", "scamp": before.scamp}))
            assert node.config.hierarchy == before.hierarchy

    asyncio.run(scenario())
    assert "hierarchy" not in caplog.text


def test_an_object_is_published_alone() -> None:
    async def act(user: PubSub[Any], network: Network, kinds: Any) -> None:
        for more in ({"payload": b"x"}, {"attributes": {}}):
            with pytest.raises(Misuse, match="an object of Soccer is payload and attributes at once"):
                await user.publish(kinds.Soccer("Roma"), **more)
        with pytest.raises(Misuse, match="attribute 'minute' does not fit 64 bits"):
            await user.publish(kinds.Soccer("Roma", 2**63))
        with pytest.raises(Misuse, match=r"publish an object, as in Soccer\(…\), not the class"):
            await user.publish(kinds.Soccer)

    with_each(act)


# Types


PROGRAM = """
import asyncio
from typing import Annotated

import gossamer


class Sport(gossamer.Typed, frozen=True): ...
class City(gossamer.Typed): ...
class Soccer(Sport, frozen=True):
    team: str
    minute: Annotated[int, gossamer.Filterable]
class Derby(Soccer, frozen=True, parents=(Soccer, City), topic=".sport.soccer.derby"): ...


async def read(user: gossamer.Node | gossamer.Client) -> None:
    await user.publish(Soccer(team="Roma", minute=88), key="first")
    async with user.subscribe(Sport, where="minute > 80", name="n") as inbox:
        async for item in inbox:
            reveal_type(item)
            if isinstance(item, Soccer):
                print(item.team, gossamer.delivery_of(item).place)
            await inbox.ack(item)
    async with user.subscribe(".sport") as plain:
        async for event in plain:
            reveal_type(event)
"""
WRONG = """
    Soccer(team=5, minute=1)
    user.subscribe(Soccer, wear="x")
    user.subscribe(int)
    user.publish(Soccer(team="Roma", minute=88), b"payload")
"""


def checked(text: str, folder: Path) -> tuple[list[str], int]:
    from mypy import api  # takes a moment

    (folder / "program.py").write_text(text)
    cache = Path(gossamer.__file__).parents[2] / ".mypy_cache"
    said, wrong, status = api.run(
        ["--strict", f"--cache-dir={cache}", "--no-error-summary", str(folder / "program.py")]
    )
    assert not wrong
    return [line.partition(":")[2] for line in said.splitlines()], status


def test_mypy_has_nothing_to_say_of_the_example(tmp_path: Path) -> None:
    example = Path(gossamer.__file__).parents[2] / "examples" / "goals.py"
    assert checked(example.read_text(), tmp_path) == ([], 0)


def test_mypy_knows_what_an_inbox_of_a_type_gives(tmp_path: Path) -> None:
    said, status = checked(PROGRAM + WRONG, tmp_path)
    reveals = [line.partition("note: ")[2] for line in said if "Revealed type" in line]
    assert (
        "program.Sport | gossamer.live.reading.deliveries.Gap | gossamer.live.reading.typed_inbox.Unreadable"
        in reveals[0]
    )
    assert "gossamer.live.reading.deliveries.Delivery | gossamer.live.reading.deliveries.Gap" in reveals[-1]
    lines = {int(line.partition(":")[0]) for line in said if " error: " in line}
    first = PROGRAM.count("\n") + 2
    assert lines == {*range(first, first + 4)}, said
    assert status == 1
