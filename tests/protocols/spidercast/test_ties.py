"""Ties that go to the lowest number, not by chance: what the report says of them (`TIES`), on the kernel itself."""

from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest

from gossamer.core import draws
from gossamer.fast import measures
from gossamer.fast.compile import namespace_of
from gossamer.fast.spidercast import KERNEL, overlay
from gossamer.lab.papers.spidercast_connected import TIES_BY_NUMBER
from gossamer.protocols.spidercast.experiment.setting import OverlaySetting
from gossamer.protocols.spidercast.experiment.workload import Workload
from gossamer.protocols.spidercast.kernel import choosing, run
from gossamer.protocols.spidercast.kernel.arrays import prepare

BIASED: Any = np.uint64(0)
"The key by which numbers are drawn that fall with what they are drawn for."


def fair_draw(key: Any, index: Any) -> Any: ...


def fair_key(net: Any, why: Any, turn: Any, which: Any, who: Any) -> Any: ...


def draw(key: Any, index: Any) -> Any:
    return ~index if key == BIASED else fair_draw(key, index)


def key_of(net: Any, why: Any, turn: Any, which: Any, who: Any) -> Any:
    return BIASED if why == draws.CANDIDATE else fair_key(net, why, turn, which, who)


@pytest.fixture
def biased(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The kernel, compiled with other draws for candidates, and kept nowhere."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    others = {"draw": draw, "key_of": key_of, "fair_draw": draws.draw, "fair_key": choosing.key_of}
    for name, function in others.items():
        own = FunctionType(function.__code__, vars(run), name)  # as one of the kernel's own functions
        own.__module__ = run.__name__
        monkeypatch.setattr(run, name, own, raising=False)
    monkeypatch.setattr(run, "BIASED", BIASED, raising=False)
    monkeypatch.setattr(run, "draws", draws, raising=False)
    return namespace_of.__wrapped__(KERNEL)[run.ENTRY]


@pytest.mark.slow  # compiled once more
def test_ties_that_go_to_the_lowest_number_partition_topics_of_a_heavy_skew(biased: Any) -> None:
    found = {}
    for nodes in TIES_BY_NUMBER:
        apart = []
        for seed in (1, 2, 3):
            interests = Workload(nodes=nodes, popularity="zipf", exponent=2.0).interests(seed)
            room = prepare(OverlaySetting(interests=interests), seed)
            assert biased(*room, 1000)
            links = overlay(room, True).links
            measured = measures.measure(interests.starts, interests.topics, 100, links, exact_up_to=-1, tdi_depth=0)
            apart.append(measured.topics_partitioned)
            assert measured.degree_max >= 34  # by chance it is half of that
        found[nodes] = (min(apart), max(apart))
    assert found == TIES_BY_NUMBER
