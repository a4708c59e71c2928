"""Lines of stdin for a loop that has other things to do."""

import asyncio
import os
import sys
import threading
from collections.abc import AsyncIterator

from gossamer.core.errors import Misuse
from gossamer.live.config.tables import EVENT_BYTES_MAX

CHUNK = 1 << 16
CHUNKS_MAX = 8
"Read ahead; then the thread waits."


async def lines() -> AsyncIterator[list[bytes]]:
    """Whole lines without their ends, as many as there are; the last one may lack its end.

    A thread reads, since a file cannot be waited for as a pipe can, and straight from the descriptor, since a thread
    that sits in Python's own reader when the process ends takes the process with it."""
    chunks: asyncio.Queue[bytes] = asyncio.Queue()
    room = threading.Semaphore(CHUNKS_MAX)
    loop = asyncio.get_running_loop()
    threading.Thread(target=_read, args=(sys.stdin.fileno(), loop, chunks, room), daemon=True).start()
    rest = bytearray()
    while chunk := await chunks.get():
        room.release()
        first, *others = chunk.split(b"\n")
        rest += first
        if len(rest) > EVENT_BYTES_MAX:
            raise Misuse(f"a line of stdin is longer than an event may be, {EVENT_BYTES_MAX} bytes: use --file")
        if others:
            *whole, last = others
            yield [bytes(rest), *whole]
            rest = bytearray(last)
    if rest:
        yield [bytes(rest)]


def _read(
    descriptor: int, loop: asyncio.AbstractEventLoop, chunks: "asyncio.Queue[bytes]", room: threading.Semaphore
) -> None:
    chunk = b"-"
    while chunk:
        room.acquire()
        try:
            chunk = os.read(descriptor, CHUNK)
        except OSError:
            chunk = b""
        try:
            loop.call_soon_threadsafe(chunks.put_nowait, chunk)
        except RuntimeError:
            return  # the loop is closed: nobody wants more
