"""A process for the test to kill: accepts publications and says of each that it was, once it was."""

import asyncio
import sys
from pathlib import Path

from gossamer.core.ids import EventId
from gossamer.live.spool import Kept, Outgoing, Spool


async def main(folder: Path) -> None:
    spool = await Spool.open(folder)
    print("incarnation", spool.incarnation, flush=True)
    sequence = 0

    async def publish() -> None:
        nonlocal sequence
        while True:
            sequence += 1
            event_id = EventId(7, spool.incarnation, sequence)
            spool.keep([Kept(event_id, ".soccer", b"body of %d" % event_id.sequence, 1, spool.incarnation)])
            await spool.accept([Outgoing(event_id, ".soccer", b"body of %d" % event_id.sequence, str(sequence))])
            print("accepted", event_id.sequence, flush=True)

    await asyncio.gather(*(publish() for _ in range(8)))


asyncio.run(main(Path(sys.argv[1])))
