"""Runs of a study of communities, with any of its engines, and what they cost."""

from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any, NamedTuple

from gossamer.core.setting import Publication, Setting
from gossamer.core.tally import COLUMNS, REACHED
from gossamer.fast import blocks
from gossamer.fast import engine as fast
from gossamer.lab.studies.communities.tables import Communities
from gossamer.protocols import CATALOGUE
from gossamer.sim import engine as sim
from gossamer.sim.camcast_world import CommunitiesTown

KERNEL_S_PER_MESSAGE = 10e-9
BLOCKS_S_PER_MESSAGE = 2e-9
BLOCKS_S_PER_ROUND = 1.0
BLOCKS_ROUNDS = 20
MACHINE_S_PER_MESSAGE = 12e-6
WORLD_S_PER_PROCESS_AND_S = 0.6e-3
S_PER_TRIAL = 30e-6
"Reckoned costs, from `make bench`; only the cutting depends on them, never a result."
NOTHING: dict[str, Any] = {
    "event": 0, "climb": None, "home": False, "climbs": False, "size": 0, "live": 0, "reached": 0,
    "sent_intra": 0, "sent_up": 0, "arrived": None, "arrived_up": 0, "parasites": 0, "rounds_last": None, "memory": 0.0,
    "load_spread": None,
}  # fmt: skip
"What a trial that could not be run did."


class Ran(NamedTuple):
    """One event of one run: a row and a memory figure per community."""

    publication: Publication
    position: int
    "Which of the asked runs."
    rows: Sequence[Sequence[int]]
    memory: Sequence[float]
    load_spread: Sequence[float | None] = ()


def _kernel(spec: Communities, setting: Setting, seeds: Sequence[int], threads: int) -> Iterator[Ran]:
    kernel = str(CATALOGUE[spec.experiment.protocol].kernel)
    memory = import_module(kernel).memory(setting)
    for publication in spec.publications():
        counts: list[list[list[int]]] = fast.tallies(kernel, setting, publication, seeds, threads).tolist()
        yield from (Ran(publication, position, rows, memory) for position, rows in enumerate(counts))


def _machine(spec: Communities, setting: Setting, seeds: Sequence[int], threads: int) -> Iterator[Ran]:
    protocol = CATALOGUE[spec.experiment.protocol]
    memory = import_module(str(protocol.kernel)).memory(setting)
    for publication in spec.publications():
        for position, seed in enumerate(seeds):
            yield Ran(publication, position, sim.spread(protocol, setting, publication, seed).rows, memory)


def _world(spec: Communities, setting: Setting, seeds: Sequence[int], threads: int) -> Iterator[Ran]:
    publications = spec.publications()
    for position, seed in enumerate(seeds):
        town = CommunitiesTown(setting, spec.world, seed)
        events = town.play(publications)
        for publication in publications:
            told = events[publication.sequence]
            yield Ran(publication, position, told.rows, told.memory, town.load_spread())


def _blocks(spec: Communities, setting: Setting, seeds: Sequence[int], threads: int) -> Iterator[Ran]:
    """All blocks in this process, one after the other; `pipeline/blocks.py` deals the same ones out."""
    for position, seed in enumerate(seeds):
        for publication in spec.publications():
            yield of_blocks(
                spec, setting, publication, position, blocks.spread(plan_of(spec, publication, seed)).tolist()
            )


ENGINES = {"kernel": _kernel, "machine": _machine, "world": _world, "blocks": _blocks}


def plan_of(spec: Communities, publication: Publication, seed: int) -> blocks.Plan:
    return blocks.Plan(spec.setting(), publication, seed, spec.blocks.processes)


def of_blocks(
    spec: Communities, setting: Setting, publication: Publication, position: int, rows: Sequence[Sequence[int]]
) -> Ran:
    memory = import_module(str(CATALOGUE[spec.experiment.protocol].kernel)).memory(setting)
    return Ran(publication, position, rows, memory)


def run(spec: Communities, seeds: Sequence[int], threads: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """A row per run, event and community: which of the seeds it is of, and what it says."""
    setting = spec.setting()
    return told(spec, setting, ENGINES[spec.experiment.engine](spec, setting, seeds, threads))


def told(spec: Communities, setting: Setting, found: Iterable[Ran]) -> Iterator[tuple[int, dict[str, Any]]]:
    """What was run, in the words of its rows."""
    counted = spec.experiment.engine != "kernel" or setting.processes <= fast.COUNT_ARRIVALS_UP_TO
    for ran in found:
        for index, (community, row) in enumerate(zip(setting.communities, ran.rows, strict=True)):
            said: dict[str, Any] = dict(zip(COLUMNS, row, strict=True))
            if not counted:
                said["arrived"] = None
            if row[REACHED] == 0:
                said["rounds_last"] = None
            said |= {
                "event": ran.publication.sequence,
                "climb": ran.publication.climb if spec.publish.several else None,
                "group": community.topic,
                "home": index == ran.publication.home,
                "climbs": bool(community.supers),
                "size": community.size,
                "memory": ran.memory[index],
                "load_spread": ran.load_spread[index] if ran.load_spread else None,
            }
            yield ran.position, said


def messages_expected(spec: Communities) -> int:
    """Messages one trial sends when everybody is reached: what its cost is reckoned from."""
    setting = spec.setting()
    picks: int = import_module(str(CATALOGUE[spec.experiment.protocol].kernel)).picks(setting)
    return setting.processes * picks * len(spec.publications())


def trial_s(spec: Communities) -> float:
    """About how long one trial takes on one core."""
    engine = spec.experiment.engine
    if engine == "blocks":
        events = len(spec.publications())
        return messages_expected(spec) * BLOCKS_S_PER_MESSAGE + events * BLOCKS_ROUNDS * BLOCKS_S_PER_ROUND
    per_message = KERNEL_S_PER_MESSAGE if engine == "kernel" else MACHINE_S_PER_MESSAGE
    living_s = lived_s(spec) * WORLD_S_PER_PROCESS_AND_S if engine == "world" else 0.0
    return S_PER_TRIAL + messages_expected(spec) * per_message + living_s


def lived_s(spec: Communities) -> float:
    """Simulated seconds of all processes of a world together: membership costs even when nothing is published."""
    world = spec.world
    processes = spec.setting().processes
    coming_s = (world.join_every_s or 0.0) * processes / 2
    publishing_s = len(spec.publications()) * world.every_s
    return (coming_s + world.warmup_s + publishing_s + world.settle_s) * processes


def memory_bytes(spec: Communities) -> int:
    """A kernel keeps one byte per process, blocks a bit, a machine some kilobytes."""
    each = {"kernel": 1, "blocks": 1 / 8}.get(spec.experiment.engine, 6_000)
    return int(spec.setting().processes * each) + 1_000_000
