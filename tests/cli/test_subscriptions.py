"""Durable subscriptions of real processes: truthful after SIGKILL."""

import signal
import subprocess
import sys
from pathlib import Path

from cli.processes import environment, gossamer

LIFE = """
import asyncio, sys
import gossamer

async def main(folder: str, first: bool) -> None:
    spool = {"folder": folder, "durability": "disk"}
    async with gossamer.Node(name="a", bind="127.0.0.1:0", spool=spool, metrics={"bind": "off"}) as node:
        async with node.subscribe(".orders", name="billing") as inbox:
            if first:
                await asyncio.gather(*(node.publish(".orders", str(n)) for n in range(20)))
            async for item in inbox:
                number = int(item.payload)
                print("got", number, item.redelivered, flush=True)
                if first and number % 2 == 0:
                    await inbox.ack(item)
                    print("acked", number, flush=True)
                if number == (9 if first else 19):
                    print("enough", flush=True)
                    await asyncio.sleep(3600)

asyncio.run(main(sys.argv[1], sys.argv[2] == "first"))
"""


def life(folder: Path, which: str) -> list[list[str]]:
    """What a process says until it has had enough; then it is killed."""
    process = subprocess.Popen(
        [sys.executable, "-c", LIFE, str(folder), which], stdout=subprocess.PIPE, text=True, env=environment()
    )
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        if line == "enough\n":
            break
        said.append(line.split())
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    return said


def test_after_sigkill_nothing_is_lost_nothing_skipped_and_every_repeat_is_marked(tmp_path: Path) -> None:
    first, second = life(tmp_path, "first"), life(tmp_path, "second")
    had = {words[1] for words in first if words[0] == "got"}
    acked = {words[1] for words in first if words[0] == "acked"}
    assert (len(had), len(acked)) == (10, 5)
    again = {words[1]: words[2] == "True" for words in second if words[0] == "got"}
    assert {*again} == {str(n) for n in range(20)} - acked
    assert all(again[number] for number in had - acked)


def test_a_wildcard_is_refused_with_what_to_write() -> None:
    for name, wide in ((".soccer.*", ".soccer"), (".#", "."), (".>", "."), (".soccer.+.goals", ".soccer")):
        read = gossamer("subscribe", name)
        assert read.code == 2
        assert read.stderr.startswith(f"gossamer: {name!r} has no wildcards: {wide!r} means all topics below it")
