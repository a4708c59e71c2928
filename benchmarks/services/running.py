"""Networks as processes, some at a time, and none left behind: each ends when we let go of its input."""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from benchmarks.services.network import Said, Told
from benchmarks.services.plan import Plan

ROOT = str(Path(__file__).parents[2])
Watch = Callable[[Plan, Said], None]


class Failed(Exception):
    """A network did not do what its plan says; why, in one sentence."""


async def run_all(plans: Sequence[Plan], folder: Path, jobs: int, watch: Watch) -> list[Told]:
    """What became of each plan. The first that fails ends them all."""
    places = asyncio.Semaphore(jobs)

    async def one(plan: Plan) -> Told:
        async with places:
            return await run_one(plan, folder / plan.name, watch)

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(plan)) for plan in plans]
    except* Failed as failed:
        raise failed.exceptions[0] from None
    return [task.result() for task in tasks]


async def run_one(plan: Plan, folder: Path, watch: Watch) -> Told:
    folder.mkdir(parents=True)
    command = (sys.executable, "-m", "benchmarks.services.network", msgspec.json.encode(plan).decode(), str(folder))
    path = os.pathsep.join(filter(None, [ROOT, os.environ.get("PYTHONPATH")]))
    with (folder / "log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *command, env={**os.environ, "PYTHONPATH": path}, stdin=PIPE, stdout=PIPE, stderr=log,
            start_new_session=True,  # Ctrl-C is for us: we decide what becomes of it
        )  # fmt: skip
    try:
        await listen(process, lambda said: watch(plan, said))
    finally:
        await end(process)
    if process.returncode:
        said = (folder / "log").read_text(errors="replace").strip().splitlines() or ["it said nothing"]
        raise Failed(f"the network {plan.name} ended with {process.returncode}: {said[-1]}")
    return msgspec.json.decode((folder / "told.json").read_bytes(), type=Told)


async def listen(process: Process, watch: Callable[[Said], None]) -> None:
    assert process.stdout is not None
    async for line in process.stdout:
        watch(msgspec.json.decode(line, type=Said))
    await process.wait()


async def end(process: Process) -> None:
    if process.returncode is None:
        process.kill()
    assert process.stdin is not None
    process.stdin.close()
    await process.wait()
