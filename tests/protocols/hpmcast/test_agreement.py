"""The kernel of hpmcast may not drift: whatever the machines do, it does, seed by seed and message by message."""

import math
from random import Random
from typing import Any

import numpy as np
import pytest

from gossamer.fast import hpmcast as fast
from gossamer.protocols.hpmcast import messages
from gossamer.protocols.hpmcast.experiment.results import HierarchyResult
from gossamer.protocols.hpmcast.experiment.setting import HierarchySetting
from gossamer.protocols.hpmcast.kernel import arrays
from gossamer.protocols.hpmcast.params import Params
from gossamer.sim import hpmcast as sim
from gossamer.wire.codec import Codec

SHAPES = ((4, 4, 4), (3, 5, 4), (8, 7), (2, 3, 2, 4), (40,), (2, 2, 2, 2, 2, 2))
INTERESTS = (0.02, 0.1, 0.3, 0.6, 1.0)


def small(number: int, **changed: Any) -> HierarchySetting:
    """A setting of at most 64 participants; `changed` may also name parameters."""
    params: dict[str, Any] = {"delegates": 1 + number % 4, "fanout": 1 + number % 3}
    params |= {name: changed.pop(name) for name in Params.__struct_fields__ if name in changed}
    plain: dict[str, Any] = {
        "branching": SHAPES[number % len(SHAPES)],
        "interest": INTERESTS[number % len(INTERESTS)],
        "populated": (1.0, 0.7, 0.35)[number // 2 % 3],
        "loss": (0.0, 0.2)[number // 3 % 2],
        "crashed": (0.0, 0.15)[number // 5 % 2],
    }
    return HierarchySetting(**{**plain, **changed}, params=Params(**params))


def compare(setting: HierarchySetting, seed: int, codec: Codec | None = None) -> HierarchyResult:
    """Who has the event, and every count of both; what the kernel says."""
    room, world = fast.play(setting, seed), sim.play(setting, seed, codec)
    where = f"seed {seed}, {setting}"
    assert np.flatnonzero(room.state.known == arrays.KNOWN).tolist() == sorted(world.has), where
    kernel = fast.result(setting, seed, room)
    assert kernel._asdict() == world.result()._asdict(), where
    return kernel


@pytest.mark.parametrize("variant", ["hpmcast", "pmcast", "rfpbcast"])
def test_machines_and_kernel_agree_run_by_run(variant: str) -> None:
    results = [compare(small(seed, variant=variant), seed) for seed in range(200)]
    assert sum(result.messages > 0 for result in results) > 120
    assert sum(0 < result.delivered < result.interested for result in results) > 20
    assert (sum(result.spurious_count for result in results) > 0) == (variant != "pmcast")


VARIANTS: dict[str, dict[str, Any]] = {
    "a floor": {"audience_floor": 4},
    "a floor higher than any view": {"audience_floor": 100},
    "a floor where everybody is told anyway": {"audience_floor": 100, "variant": "rfpbcast"},
    "a few are told at once": {"direct": 3},
    "many are told at once": {"direct": 12, "expected_loss": 0.2, "loss": 0.2},
    "a floor, and a few at once": {"audience_floor": 6, "direct": 2},
    "small LANs": {"lan": 5},
    "estimated": {"estimated": True},
    "estimated, with a floor": {"estimated": True, "audience_floor": 5},
    "aware of loss and crashes": {"expected_loss": 0.3, "expected_crashed": 0.2, "loss": 0.3, "crashed": 0.2},
    "fixed rounds, filtered by who sends": {"variant": "pmcast", "rounds": 6},
    "fixed rounds, filtered by who receives": {"variant": "rfpbcast", "rounds": 3, "hops": 2},
    "a reliability": {"reliability": 0.9, "expected_loss": 0.2},
    "a reliability, estimated, with a floor": {"reliability": 0.99, "estimated": True, "audience_floor": 3},
    "few hops": {"hops": 2},
    "few repetitions": {"repetitions": 1, "fanout": 4},
    "hops and repetitions": {"hops": 4, "repetitions": 2, "audience_floor": 8},
    "a reliable medium at the top": {"attempts": 4, "loss": 0.5},
    "neighbours want the same": {"local": 0.7},
    "nobody wants it": {"interest": 0.0},
    "one participant": {"branching": (1, 1), "populated": 1.0},
    "more picks than there are participants": {"fanout": 70},
    "addresses that are given": {
        "branching": (256, 256, 256, 256),
        "populated": 1.0,
        "addresses": ((3, 2, 230, 23), (18, 2, 78, 1), (128, 3, 2, 230), *((128, 178, 73, x) for x in range(3, 30, 4)),
                      (128, 178, 88, 10), (128, 178, 88, 13)),
    },
}  # fmt: skip


@pytest.mark.parametrize("variant", VARIANTS)
def test_they_agree_whatever_is_chosen(variant: str) -> None:
    for seed in range(20):
        compare(small(seed, **VARIANTS[variant]), 1000 + seed)


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_they_agree_on_many_seeds_whatever_is_chosen(variant: str) -> None:
    for seed in range(200):
        compare(small(seed, **VARIANTS[variant]), 2000 + seed)


def anything(seed: int) -> HierarchySetting:
    """A setting nobody thought of: levels of one subsystem, groups smaller than R, every option beside every other."""
    pick = Random(seed)
    branching = [pick.choice((1, 2, 2, 3, 4, 5, 7, 16, 40)) for _ in range(pick.randint(1, 6))]
    while math.prod(branching) > 64:
        branching[branching.index(max(branching))] //= 2
    params: dict[str, Any] = {
        "variant": pick.choice(("hpmcast", "hpmcast", "hpmcast", "hpmcast", "pmcast", "rfpbcast")),
        "delegates": pick.choice((1, 2, 3, 4, 7, 20)), "fanout": pick.choice((1, 2, 3, 6, 30)),
        "audience_floor": pick.choice((0, 0, 1, 4, 50)), "estimated": pick.random() < 0.25,
        "hops": pick.choice((0, 0, 1, 2, 6)), "repetitions": pick.choice((0, 0, 1, 5)),
        "expected_loss": pick.choice((0.0, 0.05, 0.5)), "expected_crashed": pick.choice((0.0, 0.0, 0.5)),
    }  # fmt: skip
    if not params["estimated"]:
        params |= {"direct": pick.choice((0, 0, 1, 4, 100)), "lan": pick.choice((0, 0, 3, 100))}
    params["reliability"] = pick.choice((0.0, 0.0, 0.0, 0.5, 0.99))
    if params["variant"] != "hpmcast" and pick.random() < 0.3:
        asking = {"audience_floor": 0, "estimated": False, "direct": 0, "lan": 0, "reliability": 0.0}
        params |= asking | {"rounds": pick.choice((1, 3, 12))}
    where: dict[str, Any] = {"branching": tuple(branching), "populated": pick.choice((1.0, 0.8, 0.4, 0.1))}
    if pick.random() < 0.3:
        radix = [pick.choice((1, 2, 5, 256)) for _ in branching]
        some = {tuple(pick.randrange(min(each, 4)) for each in radix) for _ in range(pick.randint(1, 50))}
        where = {"branching": tuple(radix), "addresses": tuple(sorted(some))}
    there = len(where.get("addresses", ())) or math.prod(branching)
    publisher = pick.randrange(there) if pick.random() < 0.2 else None
    return HierarchySetting(
        **where, params=Params(**params), publisher=publisher, interest=pick.choice((0.0, 0.02, 0.1, 0.3, 0.6, 1.0)),
        loss=pick.choice((0.0, 0.05, 0.5)), crashed=pick.choice((0.0, 0.0, 0.2, 0.99)), attempts=pick.choice((1, 1, 4)),
    )  # fmt: skip


def test_they_agree_on_what_nobody_thought_of() -> None:
    results = [compare(anything(seed), seed) for seed in range(400)]
    assert sum(result.messages > 0 for result in results) > 150
    assert sum(0 < result.delivered < result.interested for result in results) > 20


@pytest.mark.slow
def test_they_agree_on_many_things_nobody_thought_of() -> None:
    for seed in range(400, 8000):
        compare(anything(seed), seed)


def test_what_is_compared_with_the_kernel_goes_through_the_codec_too() -> None:
    for seed in range(10):
        compare(small(seed), seed, Codec([messages.LevelGossip]))


@pytest.mark.parametrize("reason", ["levels.GOSSIP", "levels.LOOK"])
def test_a_machine_that_draws_anything_else_would_be_noticed(reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"gossamer.protocols.hpmcast.{reason}", 30)
    with pytest.raises(AssertionError):
        compare(small(1, estimated=True, interest=0.3, populated=1.0, branching=(4, 16)), 1)
