"""Peers of the overlay, genuine and granted something else, that say what is not so to a node with keys."""

import asyncio

import msgspec

from gossamer.live.keys.network import Network
from gossamer.protocols.pgrid.messages import Answer, Meet, Reply, Took
from gossamer.wire.frame import BATCH, read_batch
from live.hostile.arena import TOPIC
from live.hostile.attacker import Attacker
from live.hostile.test_overlay import MALLORY, OUTSIDER, GridArena, greeted, grid, registration, sealed


async def answer_with(attacker: Attacker, own: object) -> None:
    while True:
        kind, body = await attacker.frame()
        for raw in read_batch(body).messages if kind == BATCH else ():
            said = msgspec.msgpack.decode(raw)
            if said["type"] == "pgrid.ask":
                replies = (Reply(q[0], "", (), True, 1, 1, 1, (own,) if q[3] else ()) for q in said["questions"])
                attacker.say(Answer(tuple(replies)))


def test_who_is_registered_for_another_topic_is_no_member_of_this_one(network: Network) -> None:
    async def scenario() -> None:
        async with GridArena(network) as arena, Attacker(arena.victim.address, arena.keys("outsider")) as attacker:
            await greeted(attacker)
            keys = arena.keys("outsider")  # granted .cricket, and nothing of .soccer
            (own,) = sealed(keys, registration(keys, OUTSIDER, ".cricket")).registrations
            answering = asyncio.create_task(answer_with(attacker, own))
            for _ in range(40):
                attacker.say(Meet(grid(arena.victim).trie.path + "0", 30, 4, 1, 0, 0, (), True))
                await asyncio.sleep(0.25)
                assert OUTSIDER not in arena.victim.station.machine.members.about(TOPIC)
            answering.cancel()

    asyncio.run(scenario())


def test_took_from_one_that_was_given_nothing_is_no_word(network: Network) -> None:
    async def scenario() -> None:
        async with GridArena(network) as arena, Attacker(arena.victim.address, arena.keys("mallory")) as attacker:
            await greeted(attacker)
            own = grid(arena.victim).registering.own
            attacker.say(Took(tuple(own)), Meet("", 0, 1, 1, 0, 0, (), True))
            await attacker.hears("pgrid.meet")
            assert all(MALLORY not in each.holders for each in own.values())

    asyncio.run(scenario())
