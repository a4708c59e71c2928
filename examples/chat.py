"""A chat without a server: everybody is a node, rooms are topics, and `.chat` is all rooms at once.

python examples/chat.py anna                                   # says where it can be reached
python examples/chat.py bert --seed 127.0.0.1:PORT --room .chat.tea
"""

import argparse
import asyncio
import sys
from collections.abc import AsyncIterator

import gossamer


async def chat(name: str, room: str, read: str, bind: str, seeds: list[str], keys: str | None) -> None:
    async with gossamer.Node(name=name, bind=bind, seeds=seeds, keys=keys, publish=[room]) as node:
        print(f"{name} is here. Others join with --seed {node.address}", flush=True)
        async with node.subscribe(read, ordered=True) as inbox:
            showing = asyncio.create_task(show(inbox, name))
            async for line in lines():
                await node.publish(room, line, attributes={"from": name})
            showing.cancel()


async def show(inbox: AsyncIterator[gossamer.Delivery | gossamer.Gap], me: str) -> None:
    async for item in inbox:
        if isinstance(item, gossamer.Gap):
            print(f"({item.lost} lines are lost: {item.why})", flush=True)
        elif item.attributes.get("from") != me:
            print(f"{item.topic} {item.attributes.get('from')}: {item.payload.decode(errors='replace')}", flush=True)


async def lines() -> AsyncIterator[str]:
    """What is typed, until Ctrl-D."""
    typed = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(typed), sys.stdin)
    async for line in typed:
        yield line.decode(errors="replace").rstrip("\n")


parser = argparse.ArgumentParser(description="A chat without a server.")
parser.add_argument("name", help="yours; nobody else of the network may have it")
parser.add_argument("--room", default=".chat.lobby", help="the topic you write to")
parser.add_argument("--read", default=".chat", help="the topic you read, with everything below it")
parser.add_argument("--bind", default="127.0.0.1:0")
parser.add_argument("--seed", action="append", default=[], metavar="HOST:PORT", help="somebody who is there already")
parser.add_argument("--keys", help="the folder `gossamer keys grant` made; needed to leave this machine")
asked = parser.parse_args()
asyncio.run(chat(asked.name, asked.room, asked.read, asked.bind, asked.seed, asked.keys))
