"""The kernel of recovery may not drift: whatever the machines do, it does, seed by seed and message by message."""

from typing import Any

import numpy as np
import pytest

from gossamer.fast import recovery as fast
from gossamer.protocols.dispatch import messages as dispatch_messages
from gossamer.protocols.recovery import messages as recovery_messages
from gossamer.protocols.recovery.experiment.setting import EpidemicSetting
from gossamer.protocols.recovery.kernel import columns as col
from gossamer.protocols.recovery.kernel.columns import METHODS
from gossamer.protocols.recovery.params import Params
from gossamer.sim import recovery as sim
from gossamer.wire.codec import Codec

LOSSES = (0.1, 0.2, 0.3)


def small(method: str, number: int, **changed: Any) -> EpidemicSetting:
    """A setting of 8 to 16 dispatchers; `changed` may also name parameters of recovery."""
    params = {"method": method, "cache": 8 + 4 * (number % 4), "expiry_us": 200_000, "interval_us": 15_000}
    params |= {name: changed.pop(name) for name in Params.__struct_fields__ if name in changed}
    plain = {
        "dispatchers": 8 + number % 9,
        "degree": 2 + number % 4,
        "tree": ("balanced", "random")[number % 2],
        "loss": LOSSES[number % 3],
        "patterns": 6,
        "rate": 10.0,
        "seconds": 0.5,
        "measure_from": 0.05,
        "measure_to": 0.4,
    }
    return EpidemicSetting(**{**plain, **changed}, recovery=Params(**params))


def who_has_what(setting: EpidemicSetting, seed: int, room: Any) -> set[tuple[int, int]]:
    """Deliveries of a kernel's run: dispatchers, and rows of the workload."""
    subscribed = setting.subscribed(seed)
    event, who = np.nonzero(room.desks.known & col.SEEN)
    pairs = zip(who.tolist(), event.tolist())
    return {(d, e) for d, e in pairs if any(tag in subscribed[d] for tag in room.book.tags[e].tolist())}


def compare(setting: EpidemicSetting, seed: int, codec: Codec | None = None) -> Any:
    """Deliveries, every count and every latency of both; what the kernel says."""
    room, seen = fast.play(setting, seed), sim.play(setting, seed, codec)
    kernel, machines = fast.result(setting, seed, room), sim.result(setting, seed, seen)
    where = f"seed {seed}, {setting}"
    assert kernel._replace(expired=None)._asdict() == machines._asdict(), where
    assert who_has_what(setting, seed, room) == set(seen.delivered), where
    assert room.desks.latencies[: room.mail.clock[col.MEASURED]].tolist() == seen.latencies_us, where
    return kernel


@pytest.mark.parametrize("method", METHODS)
def test_machines_and_kernel_agree_run_by_run(method: str) -> None:
    results = [compare(small(method, seed), seed) for seed in range(50)]
    assert min(result.delivery for result in results) < 0.8
    assert sum(result.delivered < result.expected for result in results) > 45
    if method != "none":
        assert sum(result.recovered > 0 for result in results) > 45


BRIEF = {"seconds": 0.02, "measure_from": 0.0, "measure_to": 0.02, "rate": 300.0}
ONE_PATTERN = {"patterns": 1, "subscriptions": 1, "patterns_per_event": 1}
VARIANTS: dict[str, dict[str, Any]] = {
    "a drawn event leaves the cache": {"eviction": "random"},
    "what others want leaves first": {"eviction": "subscriber-first", "cache_relayed": True},
    "relayed events are kept": {"cache_relayed": True},
    "push tells of local patterns": {"push_local": True},
    "the interval adapts": {"adaptive": True, "loss": 0.03, "interval_us": 5_000, "rate": 20.0},
    "a loss starts a round at once": {"immediate": True},
    "at once, and adapting": {"immediate": True, "adaptive": True},
    "a cache of one": {"cache": 1},
    "losses are given up soon": {"expiry_us": 30_000},
    "digests stop at once": {"forward": 0.0},
    "digests go everywhere": {"forward": 1.0},
    "mostly subscribers are asked": {"publisher_share": 0.1},
    "bursts": {"burst": 4.0},
    "storms": {"loss_period_s": 0.3, "loss_share": 0.4},
    "no loss": {"loss": 0.0},
    "rounds as long as messages take": {"interval_us": 5_000, "latency_us": 5_000},
    "messages take longer than rounds": {"interval_us": 7_000, "latency_us": 20_000},
    "many things at the same time": {"interval_us": 20, "latency_us": 20, **BRIEF},
    "a line longer than routes are": {"dispatchers": 50, "degree": 2, "loss": 0.01, "rate": 6.0, "cache": 1},
    "one dispatcher": {"dispatchers": 1},
    "two dispatchers": {"dispatchers": 2, "degree": 1},
    "nobody subscribed": {"subscriptions": 0},
    "everybody wants everything": {"subscriptions": 6, "patterns_per_event": 6},
    "digests that are full": {"dispatchers": 6, "degree": 3, "rate": 200.0, "cache": 700, **ONE_PATTERN},
    "more are missing than are asked for": {
        "dispatchers": 2,
        "degree": 1,
        "rate": 8000.0,
        "loss": 0.999,
        **ONE_PATTERN,
    },
    "links vanish": {"reconfigure_every_s": 0.2},
    "links vanish before others are repaired": {"reconfigure_every_s": 0.04, "immediate": True},
    "links vanish when others appear": {"reconfigure_every_s": 0.05, "burst": 2.0, "cache_relayed": True},
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_they_agree_whatever_is_chosen(variant: str) -> None:
    for number, method in enumerate(METHODS[1:]):
        compare(small(method, number, **VARIANTS[variant]), 100 + number)


def test_what_is_compared_with_the_kernel_goes_through_the_codec_too() -> None:
    every = [*recovery_messages.Message.__args__, *dispatch_messages.Message.__args__]
    for number, method in enumerate(METHODS):
        compare(small(method, number), number, Codec(every))


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_they_agree_in_larger_settings(method: str) -> None:
    for seed in range(20):
        compare(small(method, seed, dispatchers=20, patterns=15, rate=30.0, seconds=3.0, cache=150), seed)


def test_full_digests_and_long_lines_are_among_what_was_compared() -> None:
    full = small("push", 0, **VARIANTS["digests that are full"])
    room = fast.play(full, 100)
    assert room.mail.slots[:, 0].max() == recovery_messages.DIGEST_MAX
    line = small("publisher-pull", 2, **VARIANTS["a line longer than routes are"])
    assert fast.play(line, 102).mail.slots[:, 2].max() > 32


@pytest.mark.parametrize(
    ("module", "reason", "method"),
    [("rounds", "ROUND", "combined"), ("passing", "FORWARD", "push"), ("holding", "EVICT", "push")],
)
def test_a_machine_that_draws_anything_else_would_be_noticed(
    module: str, reason: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"gossamer.protocols.recovery.{module}.{reason}", 30)
    with pytest.raises(AssertionError):
        compare(small(method, 1, eviction="random", cache=4), 1)
