"""A client may cost its node so much and no more, and never at the expense of another."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path

import pytest

import gossamer
from gossamer.core.errors import Full, GossamerError, Misuse, TransportDown
from gossamer.core.ids import peer_of
from gossamer.live.keys.keyring import Keyring
from gossamer.live.keys.network import Network as Authority
from gossamer.live.running.reloading import reload_keys
from gossamer.wire.frame import OLDEST, VERSION, Hello, hello_frame
from promises import names, waiting
from promises.nodes import disk
from promises.waiting import book, numbers

TOPIC = ".orders"
LIMITS = {"clients_max": 8}


@contextmanager
def authority(folder: Path) -> Iterator[Path]:
    """Keys of one node and two of its clients."""
    made = Authority.init(folder / "net", name="cup")
    for name in ("node", "anna", "bert"):
        made.grant(name, [TOPIC, ".chat"], [TOPIC, ".chat"])
    yield folder / "net" / "nodes"


def node(keys: Path, folder: Path, name: str = "node", topics: Sequence[str] = (TOPIC, ".chat")) -> gossamer.Node:
    quick = {"patience_us": 100_000}
    given = {"keys": str(keys / name), "network": "cup", "bind": "127.0.0.1:0", "subscribe": [*topics]}
    return gossamer.Node(**given, scamp=quick, limits=LIMITS, **disk(folder / "spool"))


def client(keys: Path, name: str, at: gossamer.Node) -> gossamer.Client:
    return gossamer.Client(at.address, keys=keys / name, network="cup", patience_s=2.0)


def test_one_identity_cannot_hold_all_places(tmp_path: Path) -> None:
    async def scenario(keys: Path) -> None:
        async with node(keys, tmp_path) as server, AsyncExitStack() as held:
            for _ in range(LIMITS["clients_max"]):
                try:
                    await held.enter_async_context(client(keys, "anna", server))
                except GossamerError:
                    break
            async with client(keys, "bert", server) as other:
                await other.publish(TOPIC, "0")

    with authority(tmp_path) as keys:
        asyncio.run(scenario(keys))


def test_one_identity_cannot_fill_the_outbox(tmp_path: Path) -> None:
    """Nobody takes what is published here: there is one node, and its user reads nothing."""

    async def scenario(keys: Path) -> None:
        small = {"spool": {"folder": str(tmp_path / "spool"), "outbox_bytes": 1 << 20, "outbox_full": "refuse"}}
        given = {"keys": str(keys / "node"), "network": "cup", "bind": "127.0.0.1:0"}
        async with (
            gossamer.Node(**given, **small) as server,
            client(keys, "anna", server) as anna,
            client(keys, "bert", server) as bert,
        ):
            filling = asyncio.gather(*[anna.publish(TOPIC, bytes(8 << 10)) for _ in range(200)])
            with pytest.raises(Full, match="half of the outbox"):
                await filling
            await bert.publish(TOPIC, "0")
            await server.publish(TOPIC, "1")

    with authority(tmp_path) as keys:
        asyncio.run(scenario(keys))


def test_two_identities_with_one_name_never_meet(tmp_path: Path) -> None:
    async def scenario(keys: Path) -> None:
        async with (
            node(keys, tmp_path) as server,
            client(keys, "anna", server) as anna,
            client(keys, "bert", server) as bert,
        ):
            async with anna.subscribe(TOPIC, name="mine"), bert.subscribe(".chat", name="mine"):
                pass
            for number in range(5):
                await anna.publish(TOPIC, f"{number}")
                await bert.publish(".chat", f"{10 + number}")
            async with bert.subscribe(".chat", name="mine") as chat:
                assert numbers(await book(chat, 5)) == list(range(10, 15))
            async with anna.subscribe(TOPIC, name="mine") as orders:
                assert numbers(await book(orders, 5)) == list(range(5))

    with authority(tmp_path) as keys:
        asyncio.run(scenario(keys))


def test_long_filters_are_metered_and_refusals_counted(tmp_path: Path) -> None:
    def filter_of(number: int) -> str:
        return " or ".join(f"a{number}b{n} > 1" for n in range(500))

    async def open_many(attached: gossamer.Client) -> list[object]:
        async def one(number: int) -> object:
            async with attached.subscribe(TOPIC, where=filter_of(number)) as reader:
                return await asyncio.wait_for(anext(reader), 2)

        return list(await asyncio.gather(*(one(n) for n in range(40)), return_exceptions=True))

    async def scenario(keys: Path) -> None:
        async with node(keys, tmp_path) as server, client(keys, "anna", server) as anna:
            async with asyncio.timeout(waiting.PATIENCE_S):
                answers = await open_many(anna)
            assert any(isinstance(each, GossamerError) for each in answers)
            page = server.page().decode()
            assert any(line.startswith("gossamer_refusals_total{") for line in page.splitlines())

    with authority(tmp_path) as keys:
        asyncio.run(scenario(keys))


def test_a_client_that_expects_another_node_hands_nothing_over(tmp_path: Path) -> None:
    async def scenario(keys: Path) -> None:
        async with node(keys, tmp_path) as server:
            expecting = {names.EXPECTED_NODE: "somebody-else"}
            wrong = gossamer.Client(server.address, keys=keys / "anna", network="cup", **expecting)
            with pytest.raises(Misuse, match="somebody-else"):
                async with wrong:
                    pass

    with authority(tmp_path) as keys:
        asyncio.run(scenario(keys))


def test_a_client_hands_nothing_to_another_client_or_to_a_node_that_may_not_have_it(tmp_path: Path) -> None:
    async def scenario(made: Authority, keys: Path) -> None:
        made.grant("bert", client=True)
        with pytest.raises(Misuse, match="granted to be a client"):
            async with node(keys, tmp_path, "bert"):
                pass
        async with posing(keys / "bert") as address:
            with pytest.raises(TransportDown, match="says it is a node, and its grant is a client's"):
                async with gossamer.Client(address, keys=keys / "anna", network="cup"):
                    pass
        made.grant("narrow", [".chat"], [".chat"])
        async with node(keys, tmp_path / "narrow", "narrow", [".chat"]) as narrow, client(keys, "anna", narrow) as anna:
            with pytest.raises(Misuse, match=r"the grant of narrow.* does not let it publish on .orders: nothing was"):
                await anna.publish(TOPIC, "0")
            with pytest.raises(Misuse, match=r"does not let it subscribe to .orders: nothing was"):
                anna.subscribe(TOPIC)
            await anna.publish(".chat", "0")
            made.grant("narrow", [TOPIC], [TOPIC])
            reload_keys(narrow)
            await waiting.until(lambda: anna.trust.may(peer_of("narrow"), "publish", TOPIC, time.time()), "it is told")
            await anna.publish(TOPIC, "0")

    with authority(tmp_path) as keys:
        asyncio.run(scenario(Authority(tmp_path / "net"), keys))


@asynccontextmanager
async def posing(keys: Path) -> AsyncIterator[str]:
    """Somebody with the keys of a client takes calls as if it were a node."""
    ring = Keyring.load(keys)
    hello = Hello(OLDEST, VERSION, "cup", "node", ring.record(("127.0.0.1:1",), time.time_ns() // 1000))

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(hello_frame(hello))
        await reader.read()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0, ssl=ring.contexts()[0]) as server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
