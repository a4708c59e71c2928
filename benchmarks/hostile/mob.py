"""One process of attackers: `python -m benchmarks.hostile.mob ADDRESS KEYS ATTACK...`, until it is told to stop."""

import asyncio
import logging
import os
import sys
from pathlib import Path

from benchmarks.hostile.attacks import ATTACKS, IDENTITIES
from benchmarks.hostile.wires import GONE, Wire
from gossamer.live.keys.keyring import Keyring

PAUSE_S = 0.05
NICE = 19
"They get the time that node and honest client leave: the node is measured, not the scheduler."


async def attack(name: str, address: str, keys: Path) -> None:
    ring = Keyring.load(keys / IDENTITIES[name])
    while True:
        wire = Wire(address, ring)
        try:
            await ATTACKS[name](wire)
        except GONE:
            await asyncio.sleep(PAUSE_S)
        finally:
            if hasattr(wire, "writer"):
                wire.close()


async def main(address: str, keys: str, *names: str) -> None:
    await asyncio.gather(*(attack(name, address, Path(keys)) for name in names))


if __name__ == "__main__":
    os.nice(NICE)
    logging.getLogger("asyncio").setLevel(logging.ERROR)  # that connections are cut is no news here
    asyncio.run(main(*sys.argv[1:]))
