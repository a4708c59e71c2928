"""What members have acknowledged outlives them."""

import asyncio
import signal
from pathlib import Path

from cli.processes import HERE, Stage, fed
from gossamer.live.spool import Spool


def test_whatever_was_handed_over_is_in_the_spool_of_a_member_killed_the_moment_after(
    stage: Stage, tmp_path: Path
) -> None:
    member = stage.daemon("--name", "member", "--bind", HERE, "--subscribe", ".x", "--spool", tmp_path)
    publisher = stage.daemon("--name", "publisher", "--bind", HERE, "--seed", member.address)
    lines = b"".join(b"%d\n" % number for number in range(3001))
    ran = fed(lines, "publish", ".x", "--node", publisher.address, "--wait", "--timeout", 60)
    member.end(signal.SIGKILL)
    assert (ran.code, ran.stdout) == (0, "on disk at 1 members, in memory at 0\n"), ran.stderr

    async def held() -> int:
        spool = await Spool.open(tmp_path)
        try:
            return sum(each.last - each.first + 1 for each in await spool.held())
        finally:
            await spool.close()

    assert asyncio.run(held()) == 3001
