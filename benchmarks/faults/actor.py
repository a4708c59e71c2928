"""One process of a run: `python -m benchmarks.faults.actor PART`. It uses the public API and nothing else, and writes
down what it did before it does the next thing."""

import asyncio
import os
import signal
import sys
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

import gossamer
from benchmarks.faults import ledger as words
from benchmarks.faults.ledger import Ledger, read
from benchmarks.faults.parts import Part, Publishing, Reading

AGAIN_S = 0.2
"Until a client calls its node again, or a refused publication is tried again."
HAND_OVER_EVERY = 40
IDLE_S = 0.02
COUNTED = ("gossamer_parasites_total", "gossamer_spool_lost_total", "gossamer_spool_pending", "gossamer_gaps_total")


class Actor:
    def __init__(self, part: Part) -> None:
        self.part = part
        self.ledger = Ledger(Path(part.ledger))
        self.go = asyncio.Event()
        if part.go:
            self.go.set()
        self.numbers: Callable[[], dict[str, float]] = dict
        self.accepted = [line[1] for line in read(Path(part.ledger)) if line[0] == words.PUBLISHED]
        "What was published, in former lives too; of these, so many were handed over:"
        self.handed = 0

    async def live(self) -> None:
        self.ledger.write(words.LIFE, os.getpid())
        asyncio.get_running_loop().add_reader(0, self.told)
        if self.part.attach:
            await self.attach()
        else:
            await self.take_part()

    def told(self) -> None:
        """What whoever started us says; silence for ever: it is gone, and so are we."""
        text = os.read(0, 1000)
        if not text:
            os._exit(1)
        if b"go" in text:
            self.go.set()
        if b"tell" in text:
            self.ledger.write(words.NUMBERS, self.numbers())

    async def take_part(self) -> None:
        async with gossamer.Node(**self.part.settings) as node:
            self.numbers = lambda: numbers_on(node.page())
            self.ledger.write(words.UP, node.address)
            async with asyncio.TaskGroup() as work:
                if reading := self.part.reading:
                    work.create_task(self.read(node, reading))
                if publishing := self.part.publishing:
                    work.create_task(self.publish(node, publishing))
                work.create_task(asyncio.Event().wait())

    async def attach(self) -> None:
        reading = self.part.reading
        assert reading
        while True:
            try:
                async with gossamer.Client(self.part.attach, **self.part.settings) as client:
                    self.ledger.write(words.UP, self.part.attach)
                    await self.read(client, reading)
            except gossamer.errors.TransportDown as down:
                self.ledger.write(words.BROKEN, str(down))
                await asyncio.sleep(AGAIN_S)

    async def read(self, source: "gossamer.Node | gossamer.Client", reading: Reading) -> None:
        async with source.subscribe(reading.topic, name=reading.name, where=reading.where) as inbox:
            self.ledger.write(words.OPEN, reading.name)
            in_hand: deque[gossamer.Delivery] = deque()
            while True:
                item = await self.next(inbox, in_hand, reading.lag)
                if isinstance(item, gossamer.Gap):
                    self.ledger.write(words.GAP, item.lost, item.topic, item.why)
                    continue
                self.ledger.write(words.GOT, event_in(item), item.redelivered)
                in_hand.append(item)

    async def next(self, inbox: Any, in_hand: "deque[gossamer.Delivery]", lag: int) -> Any:
        """The next item. Meanwhile the oldest in hand are acknowledged: half of them if they are more than the lag, all
        if nothing comes."""
        coming = asyncio.ensure_future(anext(inbox))
        try:
            while in_hand:
                await asyncio.wait([coming], timeout=0.0 if len(in_hand) > lag else IDLE_S)
                if coming.done() and len(in_hand) <= lag:
                    break
                oldest = [in_hand.popleft() for _ in range((len(in_hand) + 1) // 2)]
                await inbox.ack(*oldest)
                for item in oldest:
                    self.ledger.write(words.ACKED, event_in(item))
            return await coming
        finally:
            coming.cancel()

    async def publish(self, node: gossamer.Node, publishing: Publishing) -> None:
        await self.go.wait()
        names, accepted = (f"{self.part.name}:{i}" for i in range(publishing.count)), {*self.accepted}
        wanted = [name for name in names if name not in accepted]
        since = 0
        for start in range(0, len(wanted), publishing.burst):
            burst = wanted[start : start + publishing.burst]
            await asyncio.gather(*(self.publish_one(node, publishing, each) for each in burst))
            since += len(burst)
            if since >= HAND_OVER_EVERY:
                since = 0
                await self.hand_over(node)
            await asyncio.sleep(publishing.burst / publishing.per_s)
        self.ledger.write(words.DONE)
        while not await self.hand_over(node):
            await asyncio.sleep(AGAIN_S)

    async def publish_one(self, node: gossamer.Node, publishing: Publishing, name: str) -> None:
        """Until it is accepted, always under the same key: so it is one event, however often it is tried."""
        self.ledger.write(words.TRYING, name)
        body = name + " " * publishing.body
        while True:
            try:
                await node.publish(publishing.topic, body, key=name, attributes={"number": int(name.split(":")[1])})
            except gossamer.errors.TransportDown as down:
                self.ledger.write(words.REFUSED, name, str(down))
                await asyncio.sleep(AGAIN_S)
            else:
                self.ledger.write(words.PUBLISHED, name)
                self.accepted.append(name)
                return

    async def hand_over(self, node: gossamer.Node) -> bool:
        """Everything accepted before the question is on the disks of enough members, if the answer is yes."""
        until = len(self.accepted)
        if answer := bool(await node.handed_over(2.0)):
            self.ledger.write(words.HANDED, self.accepted[self.handed : until])
            self.handed = until
        return answer


def event_in(item: gossamer.Delivery) -> str:
    return item.payload.split()[0].decode()


def numbers_on(page: bytes) -> dict[str, float]:
    lines = (line.rpartition(" ") for line in page.decode().splitlines())
    return {name: float(value) for name, _, value in lines if name in COUNTED}


async def main(part: Part) -> None:
    actor = Actor(part)
    living = asyncio.create_task(actor.live())
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, living.cancel)
    try:
        await living
    except asyncio.CancelledError:
        actor.ledger.write(words.LEFT)


if __name__ == "__main__":
    asyncio.run(main(msgspec.json.decode(sys.argv[1], type=Part)))
