"""Kernels may not drift: whatever a protocol's machines do, its kernel does, seed by seed.

A protocol that joins the catalogue with a kernel is compared too; it only has to say, in VARIANTS, with which Params.
"""

import ast
import dis
import itertools
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest
from msgspec import Struct

from gossamer.core.events import Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import Deliver, Effect, Given, Note, Publish, Subscribe
from gossamer.core.setting import Faults, Publication, Setting, event_id
from gossamer.core.tally import COLUMNS, LIVE, PARASITES, REACHED, ROUNDS_LAST, SENT_UP
from gossamer.fast import compile as compiling
from gossamer.fast import engine as fast
from gossamer.parts import infection
from gossamer.parts.infection import DEAD, FRESH
from gossamer.protocols import CATALOGUE, Protocol
from gossamer.protocols.camcast.params import Params as Camcast
from gossamer.protocols.flood.params import Params as Flood
from gossamer.protocols.gossip.params import Params as Gossip
from gossamer.sim import engine as sim
from gossamer.sim.network import Independent, Network
from gossamer.sim.world import Watcher, World
from gossamer.wire.codec import Codec
from protocols.hierarchies import SMALL, Shape, setting

KERNELS = [name for name, protocol in CATALOGUE.items() if protocol.kernel]

# What each protocol is compared with: one entry is a Params for all, or several that communities get in turn.
VARIANTS: dict[str, Sequence[Struct | Sequence[Struct]]] = {
    "camcast": (
        Camcast.camcast(),
        Camcast.damulticast(),
        Camcast.live(),
        Camcast(fanout_extra=-1.0, electors=8.0, targets=2.5, links=5),
        (Camcast(fanout_extra=-2.5), Camcast(fanout_extra=0.5, electors=40.0, links=1, links_low=0), Camcast(small=12)),
    ),
    "gossip": (
        Gossip.broadcast(),
        Gossip.multicast(),
        Gossip.hierarchical(5),
        Gossip(fanout_extra=-2.0),
        Gossip(audience="interested", clusters=4, fanout_extra=-1.0, cross_extra=-0.5),
        Gossip.hierarchical(100),  # more clusters than processes: most are empty
    ),
    "flood": (
        Flood(),
        Flood(neighbours=1),
        Flood(neighbours=100),
        (Flood(neighbours=3), Flood(neighbours=2)),
    ),
}

# (success, success_up) for all, or for communities in turn.
NETWORKS: Sequence[Sequence[tuple[float, float]]] = (
    [(1.0, 1.0)],
    [(0.85, 0.85)],
    [(0.6, 0.95)],
    [(0.9, 0.3)],
    [(1.0, 0.5), (0.7, 1.0), (0.8, 0.6)],
)
FAULTS = {
    "none": Faults(),
    "stillborn": Faults("stillborn", 0.3),
    "dynamic": Faults("dynamic", 0.25),
}
CLIMBS = (None, None, 0.0, 0.4, 1.0)
SEEDS_PER_CASE = 10
STRIDE = 7919  # a prime: walks through the product of all choices without favouring the first ones


class Case(Struct, frozen=True):
    """Everything that is chosen about a comparison, but for the seeds."""

    params: Struct | Sequence[Struct]
    network: Sequence[tuple[float, float]]
    publication: Publication


def variants(name: str) -> Sequence[Struct | Sequence[Struct]]:
    if name not in VARIANTS:
        pytest.fail(
            f"protocol {name!r} has a kernel, but nothing says with which Params to compare it: add to VARIANTS"
        )
    return VARIANTS[name]


def cases(name: str, hierarchy: str, count: int, skip: int = 0) -> list[Case]:
    """Some of all combinations, the same each time."""
    homes = range(len(SMALL[hierarchy].sizes))
    choices = itertools.product(variants(name), NETWORKS, homes, CLIMBS, range(3))
    every = [Case(params, network, Publication(home, seq, climb)) for params, network, home, climb, seq in choices]
    return [every[(skip + index) * STRIDE % len(every)] for index in range(count)]


def runs_per_fault(name: str) -> int:
    """CAMCAST, which everything else is compared with, gets its 200 seeds in every fault model."""
    return 200 if name == "camcast" else 70


def settle(hierarchy: str, case: Case, fault: str) -> Setting:
    made = setting(SMALL[hierarchy], case.params, case.network, FAULTS[fault])
    assert made.processes <= 64
    return made


def who_and_when(state: Any) -> dict[int, int]:
    """Which processes the event reached, and in which round, from a kernel's bytes."""
    return {process: int(byte) - 1 for process, byte in enumerate(state) if byte not in (FRESH, DEAD)}


def compare(protocol: Protocol, world: Setting, case: Case, seeds: Sequence[int]) -> None:
    """The first half of the seeds in lockstep, the others with scrambled latencies; every second through the codec."""
    assert protocol.kernel is not None
    codec = Codec(protocol.messages)
    kernel = fast.tallies(protocol.kernel, world, case.publication, seeds)
    for index, seed in enumerate(seeds):
        in_step = index < len(seeds) / 2
        latency = sim.LOCKSTEP if in_step else sim.SCRAMBLED
        machine = sim.spread(protocol, world, case.publication, seed, latency, codec if index % 2 else None)
        reached = who_and_when(fast.history(protocol.kernel, world, case.publication, seed))
        where = f"{protocol.name}, seed {seed}, {'lockstep' if in_step else 'scrambled'}, {world.faults}, {case}"
        if in_step:
            assert machine.rows == kernel[index].tolist(), f"{where}\n{COLUMNS}"
            assert machine.delivered == reached, where
        else:
            timeless = [row[:ROUNDS_LAST] for row in machine.rows]
            assert timeless == kernel[index, :, :ROUNDS_LAST].tolist(), f"{where}\n{COLUMNS}"
            assert machine.delivered.keys() == reached.keys(), where


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("hierarchy", SMALL)
@pytest.mark.parametrize("name", KERNELS)
def test_machines_and_kernel_agree_run_by_run(name: str, hierarchy: str, fault: str) -> None:
    count = runs_per_fault(name) // SEEDS_PER_CASE
    turn = list(FAULTS).index(fault)
    for index, case in enumerate(cases(name, hierarchy, count, skip=turn * count)):
        first = 1000 * (1 + turn) + index * SEEDS_PER_CASE
        compare(CATALOGUE[name], settle(hierarchy, case, fault), case, range(first, first + SEEDS_PER_CASE))


class Who(Watcher):
    """Whom each event reached."""

    def __init__(self) -> None:
        self.reached: dict[EventId, set[int]] = {}

    def stepped(self, peer: Peer, given: Given, effects: list[Effect], now_us: int) -> None:
        for effect in effects:
            if type(effect) is Deliver:
                self.reached.setdefault(effect.event.id, set()).add(peer)
            elif type(effect) is Note and effect.kind == "relay" and effect.event is not None:
                self.reached.setdefault(effect.event, set()).add(peer)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("hierarchy", SMALL)
def test_events_under_way_together_do_not_disturb_each_other(name: str, hierarchy: str) -> None:
    protocol = CATALOGUE[name]
    for seed, case in enumerate(cases(name, hierarchy, 5)):
        world = settle(hierarchy, case, "none")
        publications = [Publication(home, sequence) for home in range(len(world.communities)) for sequence in range(2)]
        who = Who()
        network = Network(seed, sim.SCRAMBLED, Independent(sim.Layout(world, protocol.climbs).arrives), by_event=True)
        machines = World(lambda me, w=world, s=seed: protocol.static_node(w, me, s), network, [who])  # type: ignore[misc]
        for community in world.communities:
            for peer in community.members:
                machines.start(peer)
                machines.give(peer, Subscribe(community.topic))
        for each in publications:
            home = world.communities[each.home]
            machines.give(home.start, Publish(Event(event_id(home.start, each.sequence), home.topic)))
        machines.run()
        for each in publications:
            kernel = who_and_when(fast.history(str(protocol.kernel), world, each, seed))
            assert who.reached[event_id(world.communities[each.home].start, each.sequence)] == kernel.keys()


@pytest.mark.parametrize("name", KERNELS)
def test_the_runs_compared_go_well_badly_and_in_between(name: str) -> None:
    shares: list[float] = []
    climbed = 0
    for hierarchy, fault in itertools.product(SMALL, FAULTS):
        for case in cases(name, hierarchy, 20):
            world = settle(hierarchy, case, fault)
            table = fast.tallies(str(CATALOGUE[name].kernel), world, case.publication, range(10))
            home = table[:, case.publication.home]
            shares.extend(home[:, REACHED] / home[:, LIVE])
            climbed += int(table[:, :, SENT_UP].sum())
    assert min(shares) < 0.2
    assert max(shares) == 1.0
    assert 0.1 < np.mean([share == 1.0 for share in shares]) < 0.9
    assert (climbed > 0) == CATALOGUE[name].climbs


@pytest.mark.parametrize("hierarchy", SMALL)
def test_camcast_never_sends_an_event_to_who_does_not_want_it(hierarchy: str) -> None:
    for fault, case in itertools.product(FAULTS, cases("camcast", hierarchy, 100)):
        table = fast.tallies(
            str(CATALOGUE["camcast"].kernel), settle(hierarchy, case, fault), case.publication, range(20)
        )
        assert not table[:, :, PARASITES].any()


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("fraction", [0.0, 0.02, 0.5, 1.0])
def test_extreme_crash_fractions_agree_too(name: str, fraction: float) -> None:
    case = cases(name, "chain of three", 1)[0]
    world = setting(SMALL["chain of three"], case.params, case.network, Faults("stillborn", fraction))
    compare(CATALOGUE[name], world, case, range(10))


@pytest.mark.parametrize("name", KERNELS)
def test_communities_of_one_and_two_agree_too(name: str) -> None:
    tiny = Shape({".": 1, ".d": 2, ".d.g": 1, ".d.g.h": 2})
    for params, home in itertools.product(variants(name), range(4)):
        case = Case(params, [(0.9, 0.8)], Publication(home))
        compare(CATALOGUE[name], setting(tiny, params, case.network), case, range(6))


def test_a_spread_of_more_rounds_than_a_kernel_can_count_is_refused_not_cut_short() -> None:
    tower = Shape(
        {f".t{level}": 1 for level in range(260)}, {f".t{level}": (f".t{level - 1}",) for level in range(1, 260)}
    )
    params = Camcast(electors=1.0, links=1, links_low=0)
    with pytest.raises(OverflowError, match="253 rounds"):
        fast.tallies(str(CATALOGUE["camcast"].kernel), setting(tower, params), Publication(259), [1])


@pytest.mark.parametrize("drifts", ["PICK", "ELECT", "CLIMB", "LINKS"])
def test_a_machine_that_draws_anything_else_would_be_noticed(drifts: str, monkeypatch: pytest.MonkeyPatch) -> None:
    where = "node" if drifts == "LINKS" else "layer"
    monkeypatch.setattr(f"gossamer.protocols.camcast.{where}.{drifts}", 30)
    case = Case(Camcast(fanout_extra=0.0), [(0.9, 0.9)], Publication(2))
    with pytest.raises(AssertionError):
        compare(CATALOGUE["camcast"], setting(SMALL["chain of three"], case.params, case.network), case, range(20))


# One kernel, however it is run


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_does_the_same_whatever_the_size_of_its_blocks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for fault, case in itertools.product(FAULTS, cases(name, "diamond with a bystander", 10)):
        world = settle("diamond with a bystander", case, fault)
        whole = fast.tallies(str(CATALOGUE[name].kernel), world, case.publication, range(20))
        with monkeypatch.context() as patched:
            patched.setattr(infection, "BLOCK", 7)
            cut = fast.tallies(str(CATALOGUE[name].kernel), world, case.publication, range(20))
        assert (cut == whole).all()


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_does_the_same_with_one_thread_and_with_two(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(infection, "BLOCK", 7)  # several blocks, or there would be nothing to share
    for fault, case in itertools.product(FAULTS, cases(name, "chain of four", 5)):
        world = settle("chain of four", case, fault)
        alone = fast.tallies(str(CATALOGUE[name].kernel), world, case.publication, range(20))
        shared = fast.tallies(str(CATALOGUE[name].kernel), world, case.publication, range(20), threads=2)
        assert (shared == alone).all()


@pytest.mark.parametrize("name", KERNELS)
def test_a_run_does_not_depend_on_the_runs_before_it(name: str) -> None:
    case = cases(name, "chain of three", 1)[0]
    world = settle("chain of three", case, "stillborn")
    kernel = str(CATALOGUE[name].kernel)
    many = fast.tallies(kernel, world, case.publication, [5, 6, 7, 6])
    assert (many[1] == many[3]).all()
    assert (many[2] == fast.tallies(kernel, world, case.publication, [7])[0]).all()


# Same source


def source(protocol: Protocol, file: str) -> ast.Module | None:
    path = Path(str(import_module(protocol.package).__file__)).parent / file
    return ast.parse(path.read_text(), str(path)) if path.exists() else None


def rules_used(tree: ast.Module, package: str, rules: set[str]) -> set[str]:
    """The rules a file uses: `rules.tells` after importing the module, or `tells` after importing the name."""
    imported = {
        alias.asname or alias.name: node.module or ""
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    by_module = imported.get("rules") == package
    used = {name for name, module in imported.items() if module == f"{package}.rules"}
    for node in ast.walk(tree):
        if (
            by_module
            and isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "rules"
        ):
            used.add(node.attr)
    return used & rules


def functions(tree: ast.Module) -> set[str]:
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("name", KERNELS)
def test_layer_and_kernel_decide_by_the_same_rules(name: str) -> None:
    protocol = CATALOGUE[name]
    layer, kernel, rules_file = (source(protocol, f"{file}.py") for file in ("layer", "kernel", "rules"))
    assert layer is not None
    assert kernel is not None
    rules = functions(rules_file) if rules_file else set()
    by_layer, by_kernel = (rules_used(tree, protocol.package, rules) for tree in (layer, kernel))
    assert bool(by_layer) == bool(rules), f"{name}/layer.py uses none of its rules"
    assert by_layer <= by_kernel, f"{name}/kernel.py decides without {by_layer - by_kernel}"
    assert not (functions(layer) | functions(kernel)) & rules, "a rule is written twice"


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("file", ["layer.py", "kernel.py"])
def test_neither_layer_nor_kernel_compares_a_chance_itself(name: str, file: str) -> None:
    tree = source(CATALOGUE[name], file)
    assert tree is not None
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            called = [ast.unparse(call.func) for call in ast.walk(node) if isinstance(call, ast.Call)]
            assert "chance" not in called, f"{name}/{file}:{node.lineno}: give this decision to rules.py"


# The machine code is that of the source as it is now (numba's own cache notices only one of the files)


def reachable(namespace: dict[str, Any], entry: str) -> Iterator[tuple[str, Any]]:
    """Every global name the compiled entry may touch, with its value."""
    seen: set[str] = set()
    unvisited = [entry]
    while unvisited:
        name = unvisited.pop()
        if name in seen or name not in namespace:
            continue
        seen.add(name)
        value = namespace[name]
        yield name, value
        plain = getattr(value, "py_func", value)
        if isinstance(plain, FunctionType):
            unvisited.extend(it.argval for it in dis.get_instructions(plain) if it.opname == "LOAD_GLOBAL")


def defines(module: ModuleType) -> set[str]:
    tree = ast.parse(Path(str(module.__file__)).read_text())
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names.update(each.id for target in node.targets for each in ast.walk(target) if isinstance(each, ast.Name))
    return names


@pytest.mark.parametrize("name", KERNELS)
def test_everything_compiled_stands_in_a_source_the_fingerprint_covers(name: str) -> None:
    kernel = str(CATALOGUE[name].kernel)
    covered = set().union(*(defines(module) for module in compiling._sources(kernel)))
    touched = [each for each, value in reachable(compiling.namespace_of(kernel), compiling.ENTRY) if value is not np]
    assert "round_of_block" in touched
    assert set(touched) <= covered


@pytest.mark.parametrize("name", KERNELS)
def test_a_change_in_any_source_compiles_anew(name: str, tmp_path: Path) -> None:
    modules = compiling._sources(str(CATALOGUE[name].kernel))
    sources = {module.__name__ for module in modules}
    assert sources >= {"gossamer.core.draws", "gossamer.parts.sampling", "gossamer.parts.infection"}
    assert str(CATALOGUE[name].kernel) in sources
    assert (f"{CATALOGUE[name].package}.rules" in sources) == (source(CATALOGUE[name], "rules.py") is not None)

    def fingerprint(changed: str | None, parallel: bool = False) -> str:
        copies = []
        for module in modules:
            copy = ModuleType(module.__name__)
            copy.__file__ = str(tmp_path / f"{module.__name__}.py")
            text = Path(str(module.__file__)).read_text()
            Path(copy.__file__).write_text(f"{text}\n# another rule\n" if module.__name__ == changed else text)
            copies.append(copy)
        return compiling._fingerprint(copies, parallel)

    assert fingerprint(None) == compiling._fingerprint(modules, False)
    assert len({fingerprint(changed) for changed in (None, *sources)}) == 1 + len(modules)
    assert fingerprint(None) != fingerprint(None, parallel=True)
