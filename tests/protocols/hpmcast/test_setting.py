"""What an experiment on hpmcast may be, and what is drawn from its seed."""

from typing import Any

import numpy as np
import pytest

from gossamer.core.errors import Misuse
from gossamer.protocols.hpmcast.experiment.setting import HierarchySetting
from gossamer.protocols.hpmcast.kernel import arrays
from gossamer.protocols.hpmcast.params import Params


@pytest.mark.parametrize(
    ("chosen", "says"),
    [
        ({"branching": ()}, "1 to 60 levels"),
        ({"branching": (4, 0)}, "branching must be at least 1"),
        ({"branching": (1 << 40, 1 << 40)}, "addresses"),
        ({"branching": (1 << 20, 1 << 20)}, "participants"),
        ({"populated": 0.0}, "populated"),
        ({"populated": 0.5, "addresses": ((1, 2, 3),)}, "either given by addresses or drawn"),
        ({"addresses": ((1, 2),)}, "needs digits like "),
        ({"addresses": ((1, 2, 22),)}, "needs digits like "),
        ({"addresses": ((1, 2, 3), (1, 2, 3))}, "ascending order"),
        ({"interest": 1.5}, "interest"),
        ({"interest": float("nan")}, "interest"),
        ({"local": 1.5}, "local"),
        ({"loss": 1.0}, "loss"),
        ({"crashed": -0.1}, "crashed"),
        ({"attempts": 0}, "attempts"),
        ({"publisher": 22**3}, "publisher"),
        ({"publisher": -1}, "publisher"),
    ],
)
def test_nonsense_is_refused_in_one_sentence(chosen: dict[str, Any], says: str) -> None:
    with pytest.raises(Misuse, match=says) as refusal:
        HierarchySetting(**chosen)
    assert "\n" not in str(refusal.value)


def test_a_regular_hierarchy_is_said_in_two_numbers_or_one_per_level() -> None:
    assert HierarchySetting.regular(16, 3).branching == (16, 16, 16)
    assert HierarchySetting.regular([4, 8, 16]).branching == (4, 8, 16)
    with pytest.raises(Misuse, match="leave levels out"):
        HierarchySetting.regular([4, 8], 3)
    for levels in (0, 61, 10**12):
        with pytest.raises(Misuse, match="levels must be 1 to 60"):
            HierarchySetting.regular(2, levels)


def test_one_level_variants_take_the_same_population() -> None:
    flat = HierarchySetting.regular(5, 3, params=Params.pmcast(), populated=0.5)
    deep = HierarchySetting.regular(5, 3, populated=0.5)
    assert (flat.levels, deep.levels) == (1, 3)
    assert flat.inhabited(7) == deep.inhabited(7)


@pytest.mark.parametrize("seed", range(5))
def test_arrays_draw_what_the_setting_says(seed: int) -> None:
    setting = HierarchySetting.regular(6, 3, populated=0.6, interest=0.3, local=0.2 * seed, crashed=0.2)
    room = arrays.prepare(setting, seed)
    places = setting.inhabited(seed)
    assert arrays.inhabited(setting, seed).tolist() == places
    who = range(len(places))
    publisher = setting.publishes(seed, len(places))
    assert room.how[arrays.PUBLISHER] == publisher
    assert room.ground.wants.tolist() == [setting.wants(seed, each, places[each]) for each in who]
    down = [each != publisher and setting.is_down(seed, each) for each in who]
    assert (room.state.known == arrays.DOWN).tolist() == down
    assert 0 < sum(down) < len(places)


def test_addresses_are_drawn_in_blocks_and_none_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    setting = HierarchySetting.regular(7, 3, populated=0.4)
    for block in (1, 50, 343, 1000):
        monkeypatch.setattr(arrays, "BLOCK", block)
        assert arrays.inhabited(setting, 3).tolist() == setting.inhabited(3)


def test_a_hierarchy_nobody_was_drawn_into_has_one_participant() -> None:
    setting = HierarchySetting.regular(2, 1, populated=1e-9)
    assert setting.inhabited(1) == arrays.inhabited(setting, 1).tolist() == [0]


def test_interest_is_as_frequent_as_it_is_said_to_be() -> None:
    setting = HierarchySetting.regular(100, 3, interest=0.3)
    assert np.mean(arrays.prepare(setting, 1).ground.wants) == pytest.approx(0.3, abs=0.002)


@pytest.mark.parametrize("local", [0.0, 0.5, 1.0])
def test_neighbours_want_the_same_as_often_as_is_said_and_interest_stays_as_frequent(local: float) -> None:
    """Two neighbours go by their group with the square of `local`, and agree by chance else."""
    setting = HierarchySetting.regular((50, 50, 20), interest=0.3, local=local)
    wants = np.concatenate([arrays.prepare(setting, seed).ground.wants for seed in range(3)]).astype(bool)
    assert wants.mean() == pytest.approx(0.3, abs=0.02)
    pairs = wants.reshape(-1, 2)
    both = 0.3 * local**2 + 0.09 * (1 - local**2)
    assert pairs.all(axis=1).mean() == pytest.approx(both, abs=0.02)
