"""What nodes say of themselves is signed once, and anew with a new key; what a revoked key signed goes out of use."""

import asyncio
from pathlib import Path

from msgspec import msgpack
from msgspec.structs import replace

from gossamer.live.arriving.seals import SEALED_MAX, Seals
from gossamer.live.keys.keyring import Keyring
from gossamer.live.keys.network import Network as Keys
from gossamer.live.node import Node
from gossamer.live.running.reloading import reload_keys
from gossamer.live.running.spread_rules import SpreadRules
from gossamer.protocols.hpmcast.messages import LaterRows, PlaceRequest, Seat, SubsystemRow
from gossamer.wire.proof import NO_PACK, Levels, Proof, Stamp
from live.hostile.test_hierarchies import PLACES, TOPIC, are_unharmed, town
from live.keys.making import member, network
from live.test_hpmcast import part_of, settled, until


class Counting:
    """A ring of keys, and how often it signed."""

    def __init__(self, keys: Keyring) -> None:
        self.keys, self.count = keys, 0

    def stamp(self, tree: Levels, pack: bytes = NO_PACK) -> Stamp:
        self.count += 1
        return self.keys.stamp(tree, pack)


def row_of(me: int, stamp: int = 1, about: tuple[int, ...] = (0, 1)) -> SubsystemRow:
    return SubsystemRow(about, me, stamp, (Seat((0, 1), me),), (), 1)


def test_a_row_is_signed_once_however_often_it_is_told(tmp_path: Path) -> None:
    ring = Counting(member(network(tmp_path), "node-7"))
    seals, me = Seals(ring.keys.peer, ring, SpreadRules()), ring.keys.peer  # type: ignore[arg-type]
    row, above = row_of(me), row_of(me, about=(0,))
    told = [seals.sealed(LaterRows((row, above))) for _ in range(3)]
    assert told[0] == told[1] == told[2]
    assert all(each.seal for each in told[0].rows)  # type: ignore[attr-defined]
    assert seals.sealed(PlaceRequest(row, 0)).row == told[0].rows[0]  # type: ignore[attr-defined]
    assert ring.count == 2
    later = seals.sealed(LaterRows((replace(row, stamp=2),))).rows[0]  # type: ignore[attr-defined]
    assert later.seal != told[0].rows[0].seal  # type: ignore[attr-defined]
    seals.sealed(LaterRows((replace(row, author=me + 1),)))  # somebody else's
    assert ring.count == 3
    seals.forget()
    seals.sealed(LaterRows((row,)))
    assert ring.count == 4


def test_few_seals_are_kept_those_used_last(tmp_path: Path) -> None:
    ring = Counting(member(network(tmp_path), "node-7"))
    seals, me = Seals(ring.keys.peer, ring, SpreadRules()), ring.keys.peer  # type: ignore[arg-type]
    for stamp in range(1, SEALED_MAX + 1):
        seals.sealed(LaterRows((row_of(me, stamp),)))
    seals.sealed(LaterRows((row_of(me, 1),)))
    seals.sealed(LaterRows((row_of(me, SEALED_MAX + 1),)))
    assert ring.count == SEALED_MAX + 1
    seals.sealed(LaterRows((row_of(me, 1), row_of(me, 3))))
    assert ring.count == SEALED_MAX + 1
    seals.sealed(LaterRows((row_of(me, 2),)))
    assert ring.count == SEALED_MAX + 2


def made(folder: Path) -> Keys:
    keys = Keys.init(folder / "net")
    for name, address in PLACES.items():
        keys.grant(name, [TOPIC], [TOPIC], address=address)
    return keys


def signed_by(node: Node, author: Node) -> set[bytes]:
    """Short forms of the keys that rows of an author, as a node has them, are signed by."""
    tables = part_of(node).members.tables
    rows = [known.row for known in (*tables.members.values(), *tables.others.values())]
    seals = [row.seal for row in rows if row.author == author.station.me]
    return {msgpack.decode(seal, type=Proof).key for seal in seals}


def test_with_a_new_key_a_node_says_all_its_rows_again_and_the_old_key_can_be_revoked(tmp_path: Path) -> None:
    async def scenario() -> None:
        keys = made(tmp_path)
        async with town(keys) as nodes:
            rotated, others = nodes[0], nodes[1:]
            old = keys.grant("a").fingerprint
            assert signed_by(others[0], rotated) == {old[:8]}  # it lives next door; those farther away have few of them
            new = keys.grant("a", new_key=True).fingerprint
            reload_keys(rotated)
            await until(lambda: signed_by(others[0], rotated) == {new[:8]} >= signed_by(others[1], rotated))
            keys.revoke(key=old.hex())
            reload_keys(others[0])
            await until(lambda: all(node.station.trust.revocations()[0] == 1 for node in nodes))
            await are_unharmed(nodes)
            await until(lambda: settled(nodes))
            assert all(signed_by(node, rotated) <= {new[:8]} for node in others)

    asyncio.run(scenario())


def test_the_rows_of_a_delegate_that_is_revoked_are_replaced(tmp_path: Path) -> None:
    async def scenario() -> None:
        keys = made(tmp_path)
        async with town(keys) as nodes:
            out = nodes.pop(2)
            await until(lambda: all(out.station.me in part_of(node).members.tables.peers() for node in nodes))
            received = out.metrics.copies_received
            keys.revoke("c")
            reload_keys(nodes[0])
            await are_unharmed(nodes)
            await until(lambda: settled(nodes))
            assert not any(signed_by(node, out) for node in nodes)
            assert out.metrics.copies_received == received

    asyncio.run(scenario())
