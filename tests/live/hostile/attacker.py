"""A peer that says what it likes: TLS and frames by hand, over a real socket."""

import asyncio
import contextlib
import ssl
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import msgspec
from msgspec import Struct

from gossamer.core.events import Event
from gossamer.core.ids import EventId, peer_of
from gossamer.live.keys.keyring import Keyring
from gossamer.live.keys.trust import split_address
from gossamer.wire.frame import (
    BATCH,
    HEADER,
    HELLO,
    Copy,
    Hello,
    PackCopy,
    batch_frame,
    hello_frame,
    packed,
    read_batch,
)
from gossamer.wire.pack import pack as make_pack
from gossamer.wire.proof import Proof, leaf, levels
from gossamer.wire.sealed import head_of, seal
from live.hostile.arena import PATIENCE_S
from live.keys.making import prove

pack = msgspec.msgpack.encode
GONE = (ConnectionError, ssl.SSLError, asyncio.IncompleteReadError)


class Attacker:
    """One connection. Keys are those of a member gone bad, of a stranger, or none."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def __init__(self, address: str, keys: Keyring | None = None, tls: ssl.SSLContext | None = None) -> None:
        self.address, self.keys = address, keys
        self.tls = tls or (keys.contexts()[1] if keys is not None else None)
        self.version = 1

    async def __aenter__(self) -> "Attacker":
        host, port = split_address(self.address)
        self.reader, self.writer = await asyncio.open_connection(
            host, port, ssl=self.tls, server_hostname="" if self.tls else None, limit=1 << 22
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, wrong: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.writer.transport.abort()
        with contextlib.suppress(*GONE):
            await self.writer.wait_closed()

    # -- talking ------------------------------------------------------------------------------------------------

    def send(self, *data: bytes) -> None:
        self.writer.write(b"".join(data))

    def record(self, addresses: Sequence[str] = (), version: int | None = None) -> bytes:
        assert self.keys is not None
        return self.keys.record(addresses, version or time.time_ns() // 1000)

    def hello(self, **changes: Any) -> Hello:
        record = changes.pop("record", None)
        made = Hello(1, 1, "default", "node", self.record() if record is None else record, 0, "camcast")
        return msgspec.structs.replace(made, **changes)

    async def greet(self, **changes: Any) -> "Attacker":
        """Says hello as an honest peer would, but for these changes, and hears the victim's."""
        self.send(hello_frame(self.hello(**changes)))
        kind, _ = await self.frame()
        assert kind == HELLO
        return self

    def say(self, *messages: Struct | bytes, records: Sequence[bytes] = ()) -> None:
        encoded = [each if isinstance(each, bytes) else pack(each) for each in messages]
        self.send(batch_frame([packed(each) for each in records], [], [], encoded, self.version))

    def spread(self, *copies: tuple[Copy, bytes]) -> None:
        self.send(
            batch_frame(
                [], [packed(copy) for copy, _ in copies], [packed(body) for _, body in copies], [], self.version
            )
        )

    def spread_packs(self, *packs: PackCopy) -> None:
        self.send(batch_frame([], [], [], [], self.version, [packed(each) for each in packs]))

    # -- hearing ------------------------------------------------------------------------------------------------

    async def frame(self) -> tuple[int, bytes]:
        """Kind and body of the next frame."""
        async with asyncio.timeout(PATIENCE_S):
            length, _, kind = HEADER.unpack(await self.reader.readexactly(HEADER.size))
            return kind, await self.reader.readexactly(length - 2)

    async def hears(self, tag: str) -> dict[str, Any]:
        """The next message of this kind."""
        while True:
            kind, body = await self.frame()
            for raw in read_batch(body).messages if kind == BATCH else ():
                said: dict[str, Any] = msgspec.msgpack.decode(raw)
                if said["type"] == tag:
                    return said

    async def is_turned_away(self) -> None:
        """Waits until the victim ends the connection."""
        async with asyncio.timeout(PATIENCE_S):
            with contextlib.suppress(*GONE):
                while await self.reader.read(1 << 16):
                    pass

    async def still_up(self) -> bool:
        """Whether the victim answers."""
        self.say({"type": "camcast.probe", "nonce": 1, "topic": ".soccer"})  # type: ignore[arg-type]
        try:
            await self.hears("camcast.alive")
        except GONE:
            return False
        return True


def flipped(data: bytes) -> bytes:
    """The same but for the last bit."""
    return data[:-1] + bytes([data[-1] ^ 1])


# -- events ------------------------------------------------------------------------------------------------------


def event(
    keys: Keyring,
    sequence: int = 1,
    payload: bytes = b"payload",
    topic: str = ".soccer.italy",
    publisher: str | None = None,
    **changes: Any,
) -> Event:
    """An event of this keyring's node, or one that says it is somebody else's."""
    who = EventId(peer_of(publisher or keys.name), 1, sequence)
    return Event(who, topic, payload, published_us=1_000_000, ordinal=1, **changes)


def signed(keys: Keyring, *events: Event, hops: int = 1) -> list[tuple[Copy, bytes]]:
    """Events under one signature of this keyring's node, as they travel."""
    heads = [head_of(each) for each in events]
    leaves = [leaf(head, each.payload) for head, each in zip(heads, events, strict=True)]
    proofs = prove(keys, leaves)
    return [
        copy_of(each, head, its_leaf, proof, hops)
        for each, head, its_leaf, proof in zip(events, heads, leaves, proofs, strict=True)
    ]


def pack_of(keys: Keyring, *events: Event, hops: int = 1) -> PackCopy:
    """The same, as a pack."""
    heads = [head_of(each) for each in events]
    leaves = [leaf(head, each.payload) for head, each in zip(heads, events, strict=True)]
    tree = levels(leaves)
    made = make_pack(heads, events, tree, keys.stamp)
    return PackCopy(made.mark, hops, "camcast.carry", memoryview(made.content))


def copy_of(event: Event, head: bytes, its_leaf: bytes, proof: Proof | None, hops: int = 1) -> tuple[Copy, bytes]:
    return Copy(event.id, its_leaf, hops, "camcast.carry"), seal(head, event.payload, proof)
