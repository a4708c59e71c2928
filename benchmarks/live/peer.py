"""One process of a run: `python -m benchmarks.live.peer SYSTEM publisher|INDEX NET`. It is told what to do by lines."""

import asyncio
import os
import sys
import threading
import time
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from benchmarks.live import systems, traffic
from benchmarks.live.lines import parsed, say
from benchmarks.live.systems.system import Net, Publisher, System
from benchmarks.live.traffic import Phase, Reader, Window, body, ring

PUBLISHER = "publisher"


def main(name: str, role: str, told: str) -> None:
    system, net = systems.load(name), msgspec.json.decode(told, type=Net)
    if role != PUBLISHER:
        subscribe(system, net, int(role))
        return
    with asyncio.Runner(loop_factory=fast_loop()) as runner:
        runner.run(publish(system, net))


def fast_loop() -> Any:
    """uvloop for whoever runs on asyncio, where it can be had; None is the standard loop."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


# A subscriber: the system has the main thread, another listens to what is asked


def subscribe(system: System, net: Net, index: int) -> None:
    reader = Reader(say)
    threading.Thread(target=answer, args=(reader,), daemon=True).start()
    system.subscribe(net, index, reader)


def answer(reader: Reader) -> None:
    for text in sys.stdin.buffer:
        match parsed(text):
            case ("begin", phase):
                reader.begin(msgspec.convert(phase, Phase))
                say("begun", reader.counters())
            case ("count", _):
                say("counted", reader.counters())
            case ("tell", _):
                say("told", reader.told())
    os._exit(0)  # whoever started us is gone, or has enough: the system's own threads must not keep us


# The publisher: one thing after the other


async def publish(system: System, net: Net) -> None:
    lines = aiter(commands())
    phase = Phase(traffic.HELLO, 1, 0)
    bodies: list[bytes] = []
    async with system.publisher(net) as publisher:
        say("ready")
        async for word, value in lines:
            match word:
                case "hello":
                    await publisher.send([body(traffic.HELLO, value, traffic.HEAD.size)])
                case "begin":
                    phase = msgspec.convert(value, Phase)
                    bodies = ring(phase)
                    say("begun", publisher.counters())
                case "go" if phase.timed:
                    say("sent", await pace(publisher, phase))
                case "go":
                    say("sent", await rush(publisher, phase, bodies, lines))
                case "count":
                    say("counted", publisher.counters())
        os._exit(0)


async def commands() -> AsyncIterator[tuple[str, Any]]:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    async for text in reader:
        if command := parsed(text):
            yield command


async def rush(
    publisher: Publisher, phase: Phase, bodies: list[bytes], lines: AsyncIterator[tuple[str, Any]]
) -> list[int]:
    """As fast as the system takes them and the slowest subscriber allows. When it began, and when the last was sent."""
    window, sent = Window(phase.window), 0
    began_ns = time.monotonic_ns()
    while sent < phase.count:
        if not (room := window.room(sent)):
            word, reached = await anext(lines)
            if word != "open":
                break  # too much was lost for the window to move
            window.move(reached)
            continue
        slot = sent % len(bodies)
        burst = bodies[slot : slot + min(room, phase.burst, phase.count - sent)]
        await publisher.send(burst)
        sent += len(burst)
    return [began_ns, time.monotonic_ns()]


async def pace(publisher: Publisher, phase: Phase) -> list[int]:
    """At a steady rate, the time of sending in each body."""
    began_ns = time.monotonic_ns()
    for number in range(phase.count):
        due_ns = began_ns + int(number * 1e9 / phase.rate)
        await asyncio.sleep(max(0, due_ns - time.monotonic_ns()) / 1e9)
        await publisher.send([body(phase.number, number % phase.window, phase.size, time.monotonic_ns())])
    return [began_ns, time.monotonic_ns()]


if __name__ == "__main__":
    main(*sys.argv[1:])
