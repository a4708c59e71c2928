"""From a file to the points of its sweep."""

import tomllib

import pytest

from gossamer.core.errors import GossamerError, SpecError
from gossamer.lab import grid
from gossamer.lab.grid import path_of, points, put
from lab.samples import EXAMPLE, SOURCE, example, point

# Names of fields


@pytest.mark.parametrize(
    ("dotted", "keys"),
    [
        ("faults.fraction", ["faults", "fraction"]),
        ('topics.".d".size', ["topics", ".d", "size"]),
        ("topics.'.d'.size", ["topics", ".d", "size"]),
        ('params.".d.g".electors', ["params", ".d.g", "electors"]),
        ('network.".".success_up', ["network", ".", "success_up"]),
        ("params", ["params"]),
        (" faults . fraction ", ["faults", "fraction"]),
    ],
)
def test_a_dotted_name_is_read_as_toml_reads_it(dotted: str, keys: list[str]) -> None:
    assert path_of(dotted) == keys


def test_a_field_is_set_where_its_name_says() -> None:
    raw = example()
    put(raw, 'topics.".d".size', 7, SOURCE)
    put(raw, 'network.".d.g".success', 0.5, SOURCE)
    assert raw["topics"][".d"] == {"size": 7}
    assert raw["topics"]["."] == {"size": 10}
    assert raw["network"][".d.g"] == {"success": 0.5}


@pytest.mark.parametrize("dotted", ["", ".", "a..b", ".d.size", "faults.", 'topics.".d.size', "two words"])
def test_what_is_no_name_is_said_to_be_none(dotted: str) -> None:
    with pytest.raises(SpecError, match=r"is not a field name; write it like faults\.fraction") as wrong:
        put(example(), dotted, 1, SOURCE)
    assert "\n" not in str(wrong.value)


def test_a_name_of_two_lines_is_no_name() -> None:
    with pytest.raises(SpecError):
        put(example(), "faults.fraction = 1\nb", 1, SOURCE)


def test_a_field_of_what_is_no_table_is_refused() -> None:
    with pytest.raises(SpecError, match=r"mine\.toml: faults\.kind\.x names no field: kind is not a table"):
        put(example(), "faults.kind.x", 1, SOURCE)


# Points


def test_without_a_sweep_there_is_one_point_with_nothing_swept() -> None:
    assert point().swept == {}
    assert point().name == "{}"


def test_a_sweep_makes_every_combination_the_last_field_fastest() -> None:
    made = points(example(sweep={"faults.fraction": [0.0, 0.5], "params.links": [3, 4, 5]}), SOURCE)
    assert [tuple(each.swept.values()) for each in made] == [(0.0, 3), (0.0, 4), (0.0, 5), (0.5, 3), (0.5, 4), (0.5, 5)]
    for each in made:
        assert each.spec.faults.fraction == each.swept["faults.fraction"]
        assert each.spec.params["links"] == each.swept["params.links"]


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ('topics.".d".size', [0, 5, 500]),
        ('params.".d".electors', [1, 2.5]),
        ('network.".d.g".success_up', [0.1, 0.9]),
        ("network.success", [0.5, 1.0]),
        ("publish.topic", [".", ".d", ".d.g"]),
        ("publish.climb", [0.0, 1.0]),
        ("publish.events", [1, 2]),
        ("faults.kind", ["stillborn", "dynamic"]),
        ("params.preset", ["camcast", "damulticast", "live"]),
        ("experiment.engine", ["kernel", "machine"]),
        ("experiment.seed", [1, 2]),
    ],
)
def test_any_field_can_be_swept(field: str, values: list[object]) -> None:
    plain = {"faults": {"kind": "stillborn", "fraction": 0.1}, "params": {}}
    made = points(example(sweep={field: values}, **plain), SOURCE)
    assert [each.swept for each in made] == [{field: value} for value in values]
    assert len({str(each.spec) for each in made}) == len(values)


def test_cases_set_several_fields_at_once_and_are_named() -> None:
    cases = {
        "camcast": {},
        "broadcast": {"experiment.protocol": "gossip", "params": {"preset": "broadcast"}},
        "small": {"topics": {".d.g": {"size": 9}}},
    }
    made = points(example(sweep={"faults.fraction": [0.1, 0.2]}, cases=cases), SOURCE)
    assert [tuple(each.swept.values()) for each in made] == [
        *[("camcast", 0.1), ("camcast", 0.2)],
        *[("broadcast", 0.1), ("broadcast", 0.2)],
        *[("small", 0.1), ("small", 0.2)],
    ]
    assert [each.spec.experiment.protocol for each in made[::2]] == ["camcast", "gossip", "camcast"]
    assert made[4].spec.setting().processes == 9
    assert made[0].spec.setting().processes == 1110


def test_a_swept_value_wins_over_a_case() -> None:
    (only,) = points(example(sweep={"faults.fraction": [0.2]}, cases={"a": {"faults.fraction": 0.1}}), SOURCE)
    assert only.spec.faults.fraction == 0.2


def test_points_do_not_share_what_one_of_them_changes() -> None:
    raw = tomllib.loads(EXAMPLE)
    raw["sweep"] = {'params.".d".links': [3, 4]}
    before = str(raw)
    first, second = points(raw, SOURCE)
    assert first.spec.params[".d"] == {"links": 3}
    assert second.spec.params[".d"] == {"links": 4}
    assert str(raw) == before


def test_a_points_name_is_the_same_for_the_same_values_in_any_order() -> None:
    one = points(example(sweep={"params.links": [3], "faults.fraction": [0.25]}), SOURCE)[0]
    other = points(example(sweep={"faults.fraction": [0.25], "params.links": [3]}), SOURCE)[0]
    assert one.name == other.name == '{"faults.fraction":0.25,"params.links":3}'


def test_the_point_that_is_wrong_is_named() -> None:
    raw = example(sweep={"params.links": [3, 0]}, cases={"odd": {"network.success": 0.5}})
    with pytest.raises(SpecError, match=r"mine\.toml at case = odd, params\.links = 0: links must be at least 1"):
        points(raw, SOURCE)


def test_a_sweep_of_too_many_points_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grid, "POINTS_MAX", 5)
    raw = example(sweep={"faults.fraction": [0.1, 0.2, 0.3], "params.links": [3, 4]})
    with pytest.raises(SpecError, match=r"mine\.toml: the sweep has 6 points; 5 is the most"):
        points(raw, SOURCE)


def test_too_many_points_are_refused_before_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    monkeypatch.setattr(grid, "POINTS_MAX", 5)
    monkeypatch.setattr(grid, "_point", lambda *given: made.append(given))
    with pytest.raises(SpecError):
        points(example(sweep={"experiment.seed": list(range(50))}), SOURCE)
    assert len(made) <= 5


# [sweep] and [cases] that are no such thing

SHAPELESS = {
    "one value": {"sweep": {"faults.fraction": 0.3}},
    "a name without quotes": {"sweep": {"faults": {"fraction": [0.1, 0.2]}}},
    "no table": {"sweep": [0.1]},
    "a case that is no table": {"cases": {"a": 3}},
}


@pytest.mark.parametrize("what", SHAPELESS)
def test_a_sweep_of_the_wrong_shape_is_refused_in_a_sentence(what: str) -> None:
    with pytest.raises(GossamerError, match=r"^mine\.toml: .*(sweep|cases)"):
        points({**example(), **SHAPELESS[what]}, SOURCE)


def test_a_sweep_over_nothing_is_refused() -> None:
    with pytest.raises(SpecError, match=r"faults\.fraction"):
        points(example(sweep={"faults.fraction": []}), SOURCE)


def test_a_value_swept_twice_is_refused_or_counts_once() -> None:
    made = points(example(sweep={"faults.fraction": [0.1, 0.1]}), SOURCE)
    if len(made) != 1:
        pytest.fail("the same point twice")
