"""One system's turn: a network is started, greeted until everybody hears, and measured size by size."""

import asyncio
import random
import socket
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.live import systems
from benchmarks.live.crew import Crew, Failed, Member, Silence
from benchmarks.live.peer import PUBLISHER
from benchmarks.live.results import Measured, Wanted
from benchmarks.live.systems.system import Broker, Net
from benchmarks.live.traffic import Phase, Progress, Received

HELLOS = 3
"Greetings in a row that must reach everybody: gossip needs links before it is at its best."
HELLO_S = 1.0
"If it has not reached everybody by then, a new one is sent."
START_S = 60.0
"Further patience while many interpreters start on few cores: they come up all at once, and late."
WARM_UP = 1
"The first phase, which nobody counts."
UNASKED = range(20_000, 32_000)
"Ports that no system gives to whoever asks for any: one that is free is so still when its process has started."


def free_ports(count: int) -> list[int]:
    """All are held until all are found, so that no two are the same."""
    found: list[int] = []
    with ExitStack() as held:
        for port in random.sample(UNASKED, len(UNASKED)):
            each = held.enter_context(socket.socket())
            with suppress(OSError):
                each.bind(("127.0.0.1", port))
                found.append(port)
            if len(found) == count:
                return found
    raise Failed(f"{count} ports are not free")


async def take(name: str, subscribers: int, wanted: Sequence[Wanted], round: int, out: Path) -> list[Measured]:
    """Every size is there in the result; one that could not be measured says why."""
    taken: list[Measured] = []
    with tempfile.TemporaryDirectory(dir=out, prefix=f"{name}-", ignore_cleanup_errors=True) as folder:
        net = Net(folder, free_ports(1 + subscribers), subscribers)
        system = systems.load(name)
        await asyncio.to_thread(system.prepare, net)
        try:
            async with Crew(name, net, wanted[0].patience_s) as crew:
                turn = await Turn.begun(crew, system.broker(net), subscribers)
                await turn.run(Phase(WARM_UP, wanted[0].size, max(1, wanted[0].messages // 10)))
                for position, each in enumerate(wanted, start=1):
                    taken.append(await turn.measure(name, round, each, WARM_UP + 2 * position))
        except Failed as failed:
            left = wanted[len(taken) :]
            taken += [Measured.failed(name, subscribers, each.size, round, str(failed)) for each in left]
    return taken


class Turn:
    def __init__(self, crew: Crew, publisher: Member, subscribers: Sequence[Member], broker: Sequence[Member]) -> None:
        self.crew = crew
        self.publisher = publisher
        self.subscribers = subscribers
        self.broker = broker
        self.peers = [publisher, *subscribers]

    @classmethod
    async def begun(cls, crew: Crew, broker: Broker | None, count: int) -> "Turn":
        between = [await crew.start_broker(broker)] if broker else []
        await crew.all_say("ready", between)
        publisher = await crew.start(PUBLISHER, PUBLISHER)
        await crew.all_say("ready", [publisher])
        subscribers = [await crew.start(str(index), f"subscriber-{index}") for index in range(1, count + 1)]
        await crew.all_say("ready", subscribers, more_s=START_S)
        turn = cls(crew, publisher, subscribers, between)
        await turn.greet()
        return turn

    async def greet(self) -> None:
        """Until several greetings in a row reached everybody."""
        loop = asyncio.get_running_loop()
        give_up = loop.time() + self.crew.patience_s
        in_a_row = hello = 0
        while in_a_row < HELLOS:
            if loop.time() > give_up:
                raise Failed(f"greetings did not reach all subscribers in {self.crew.patience_s:g} s")
            hello += 1
            in_a_row = in_a_row + 1 if await self.greeted(hello) else 0

    async def greeted(self, hello: int) -> bool:
        waiting = {member.name for member in self.subscribers}
        self.publisher.tell("hello", hello)
        try:
            async with asyncio.timeout(HELLO_S):
                while waiting:
                    member, word, value = await self.crew.next(HELLO_S)
                    if (word, value) == ("heard", hello):
                        waiting.discard(member.name)
        except TimeoutError:
            return False
        return True

    async def measure(self, name: str, round: int, wanted: Wanted, number: int) -> Measured:
        count = len(self.subscribers)
        rush = Phase(number, wanted.size, wanted.messages)
        told, cpu_us, wall_s, copies = await self.run(rush)
        received = sum(each.received for each in told)
        paced: list[Received] = []
        if wanted.paced:
            paced, *_ = await self.run(Phase(number + 1, wanted.size, wanted.paced, wanted.rate))
        return Measured(
            system=name,
            subscribers=count,
            size=wanted.size,
            round=round,
            messages=wanted.messages,
            received=received,
            lost=wanted.messages * count - received + wanted.paced * count - sum(each.received for each in paced),
            duplicates=sum(each.duplicates + each.strays for each in (*told, *paced)),
            wall_s=wall_s,
            cpu_us=cpu_us,
            copies=copies,
            latencies_us=sorted(latency for each in paced for latency in each.latencies_us),
        )

    async def run(self, phase: Phase) -> tuple[list[Received], dict[str, float], float, int | None]:
        """What arrived, CPU time by role, the time from the first send to the last arrival, and copies received."""
        before = await self.ask("begin", phase, "begun")
        cpu_before = self.cpu_us()
        self.publisher.tell("go")
        wall_s = await self.traffic(phase)
        cpu_after = self.cpu_us()
        after = await self.ask("count", None, "counted")
        told = await self.ask("tell", None, "told", self.subscribers)
        cpu = {role: cpu_after[role] - cpu_before[role] for role in cpu_after}
        copies = [after[name]["copies"] - before[name]["copies"] for name in after if "copies" in after[name]]
        return msgspec.convert(list(told.values()), list[Received]), cpu, wall_s, sum(copies) if copies else None

    async def traffic(self, phase: Phase) -> float:
        """Ends when all have all, or nobody got any further for too long: the rest is lost."""
        progress = Progress(len(self.subscribers))
        began_ns: list[int] = []
        last_ns = [time.monotonic_ns()]

        def got(member: Member, count: int) -> None:
            last_ns.append(time.monotonic_ns())
            if progress.note(self.subscribers.index(member), count):
                self.publisher.tell("open", progress.slowest)

        def sent(member: Member, times_ns: list[int]) -> None:
            began_ns.append(times_ns[0])

        paced_s = phase.count / phase.rate if phase.timed else 0.0
        try:
            done = await self.crew.all_say("done", self.subscribers, {"got": got, "sent": sent}, more_s=paced_s)
            last_ns = list(done.values())
        except Silence:
            self.publisher.tell("halt")
        if not began_ns:
            began_ns.append((await self.crew.all_say("sent", [self.publisher]))[PUBLISHER][0])
        return (max(last_ns) - began_ns[0]) / 1e9

    async def ask(self, word: str, value: Any, answer: str, peers: Sequence[Member] = ()) -> dict[str, Any]:
        for member in peers or self.peers:
            member.tell(word, value)
        return await self.crew.all_say(answer, peers or self.peers)

    def cpu_us(self) -> dict[str, float]:
        roles = {"publisher": [self.publisher], "subscribers": self.subscribers, "broker": self.broker}
        return {role: sum(each.cpu_ns() for each in members) / 1e3 for role, members in roles.items()}
