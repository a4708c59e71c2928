"""Experiment files: what they can say, and how they are answered when they say something wrong."""

import re
from math import inf, nan
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gossamer.core.errors import GossamerError, Misuse, SpecError
from gossamer.core.setting import Faults, Publication, Setting
from gossamer.core.topics import Hierarchy
from gossamer.lab.grid import points
from gossamer.lab.spec import read, shipped
from gossamer.lab.studies import STUDIES, Spec, check
from gossamer.lab.studies.communities.tables import ELSEWHERE, Communities, params_for
from gossamer.protocols.camcast.params import Params as Camcast
from gossamer.protocols.flood.params import Params as Flood
from lab.samples import EXAMPLE, SOURCE, communities, example, point


def setting(changes: dict[str, Any] | None = None, **tables: Any) -> Setting:
    return communities(changes, **tables).setting()


def refusal(raw: dict[str, Any]) -> str:
    """What is said about a file that is wrong: one sentence, by way of the only error a file may cause."""
    with pytest.raises(SpecError) as wrong:
        points(raw, SOURCE)
    said = str(wrong.value)
    assert said.startswith(SOURCE)
    assert "\n" not in said
    assert "Traceback" not in said
    assert ". " not in said
    return said


# What a file can say


def test_the_example_of_the_documentation_is_understood(tmp_path: Path) -> None:
    path = tmp_path / "stillborn.toml"
    path.write_text(EXAMPLE)
    made = points(*read(str(path)))
    assert [each.swept for each in made] == [{"faults.fraction": share} for share in (0.0, 0.1, 0.2, 0.3)]
    spec = made[3].spec
    assert (spec.experiment.name, spec.experiment.protocol, spec.experiment.engine) == (
        "stillborn",
        "camcast",
        "kernel",
    )
    assert (spec.experiment.runs, spec.experiment.seed) == (1000, 1)
    world = spec.setting()
    assert world.faults == Faults("stillborn", 0.3)
    assert world.processes == 1110
    assert [(each.topic, each.start, each.size, each.supers) for each in world.communities] == [
        (".", 0, 10, ()),
        (".d", 10, 100, (0,)),
        (".d.g", 110, 1000, (1,)),
    ]
    assert all(each.params == Camcast() for each in world.communities)
    assert all((each.success, each.success_up) == (0.85, 0.85) for each in world.communities)
    assert spec.publications() == [Publication(2)]


def test_a_file_needs_little() -> None:
    raw = {
        "experiment": {"name": "least", "protocol": "flood"},
        "topics": {".news": {"size": 3}},
        "publish": {"topic": ".news"},
    }
    (only,) = points(raw, SOURCE)
    head = only.spec.experiment
    assert (head.engine, head.runs, head.seed) == ("kernel", 100, 1)
    (community,) = only.spec.setting().communities
    assert (community.params, community.success, community.success_up) == (Flood(), 1.0, 1.0)
    assert only.spec.setting().faults == Faults("none", 0.0)


def test_upward_messages_arrive_like_the_others_unless_said_otherwise() -> None:
    (root, *_) = setting(network={"success": 0.7}).communities
    assert (root.success, root.success_up) == (0.7, 0.7)
    (root, *_) = setting(network={"success_up": 0.4}).communities
    assert (root.success, root.success_up) == (1.0, 0.4)


def test_a_topic_may_have_a_network_of_its_own() -> None:
    world = setting(network={"success": 0.8, "success_up": 0.6, ".d": {"success": 0.5}, ".d.g": {"success_up": 0.1}})
    assert [(each.success, each.success_up) for each in world.communities] == [(0.8, 0.6), (0.5, 0.6), (0.8, 0.1)]


def test_a_topic_may_have_parameters_of_its_own() -> None:
    params = {"fanout_extra": 2.0, "links": 4, ".d": {"links": 5, "targets": 2}, ".d.g": {"preset": "damulticast"}}
    root, middle, bottom = (each.params for each in setting(params=params).communities)
    assert root == Camcast(fanout_extra=2.0, links=4)
    assert middle == Camcast(fanout_extra=2.0, links=5, targets=2)
    assert bottom == Camcast(fanout_extra=2.0, links=4, table_factor=3.0)


def test_a_preset_comes_first_and_fields_change_it() -> None:
    root, *_ = setting(params={"preset": "live", "electors": 3}).communities
    assert root.params == msgspec.structs.replace(Camcast.live(), electors=3.0)


def test_params_of_one_topic_can_be_asked_for() -> None:
    spec = point(params={".d": {"small": 7}}).spec
    assert params_for(spec, ".d") == Camcast(small=7)
    assert params_for(spec, ".") == Camcast()


def test_an_empty_community_is_skipped_and_links_go_to_the_nearest_populated_ancestor() -> None:
    topics = {".": {"size": 5}, ".d": {"size": 0}, ".d.g": {"size": 0}, ".d.g.h": {"size": 20}}
    world = setting({"publish.topic": ".d.g.h"}, topics=topics)
    assert [(each.topic, each.start, each.size, each.supers) for each in world.communities] == [
        (".", 0, 5, ()),
        (".d.g.h", 5, 20, (0,)),
    ]


def test_a_community_with_nobody_above_has_no_links() -> None:
    world = setting(topics={".": {"size": 0}, ".d": {"size": 3}, ".d.g": {"size": 9}})
    assert [each.supers for each in world.communities] == [(), (0,)]
    world = setting(topics={".d": {"size": 3}, ".d.g": {"size": 9}})  # the root need not even be listed
    assert [each.supers for each in world.communities] == [(), (0,)]


def test_a_topic_may_have_several_parents() -> None:
    topics = {".": {"size": 2}, ".x": {"size": 3}, ".y": {"size": 4}, ".x.d": {"size": 5, "parents": [".y"]}}
    world = setting({"publish.topic": ".x.d"}, topics=topics)
    assert world.communities[3].supers == (1, 2)
    assert world.interested(3) == [True, True, True, True]
    assert world.interested(1) == [True, True, False, False]


def test_an_empty_parent_is_skipped_for_what_is_above_it() -> None:
    topics = {".": {"size": 2}, ".x": {"size": 0}, ".y": {"size": 4}, ".x.d": {"size": 5, "parents": [".y"]}}
    world = setting({"publish.topic": ".x.d"}, topics=topics)
    assert world.communities[2].supers == (1,)  # the root is above .y anyway


def test_events_and_the_chance_to_climb_can_be_said() -> None:
    spec = point({"publish.topic": ".d", "publish.events": 3, "publish.climb": 0.5}).spec
    assert spec.publications() == [Publication(1, 0, 0.5), Publication(1, 1, 0.5), Publication(1, 2, 0.5)]


def test_the_home_of_an_event_counts_populated_communities_only() -> None:
    spec = point({'topics."."': {"size": 0}}).spec
    assert spec.setting().communities[spec.publications()[0].home].topic == ".d.g"


@pytest.mark.parametrize("kind", ["none", "stillborn", "dynamic"])
def test_every_fault_model_can_be_named(kind: str) -> None:
    fraction = 0.0 if kind == "none" else 0.25
    assert setting(faults={"kind": kind, "fraction": fraction}).faults == Faults(kind, fraction)  # type: ignore[arg-type]


def test_a_spec_is_the_same_after_a_trip_through_json() -> None:
    spec = point({"publish.climb": 0.5, 'params.".d"': {"links": 5}}).spec
    assert msgspec.json.decode(msgspec.json.encode(spec), type=Spec) == spec


@pytest.mark.parametrize("name", shipped())
def test_every_shipped_experiment_is_understood(name: str) -> None:
    made = points(*read(name))
    assert made
    for each in made:
        if isinstance(each.spec, Communities):
            world = each.spec.setting()
            assert isinstance(world.hierarchy(), Hierarchy)
            assert all(publication.home < len(world.communities) for publication in each.spec.publications())
    assert made[0].spec.experiment.about
    assert len({each.name for each in made}) == len(made)
    swept = {field for each in made for field in each.fields}
    for figure in made[0].spec.figures:
        assert not figure.x or figure.x in swept
        assert figure.by is None or figure.by in swept


def test_the_shipped_experiments_include_those_people_are_told_of() -> None:
    assert {"camcast/fig15", "demo/crashes", "flood/neighbours"} <= set(shipped())


# What is wrong, and where

WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "unknown protocol": (
        example({"experiment.protocol": "camcats"}),
        r"experiment\.protocol: there is no 'camcats'; use camcast, gossip, flood, recovery, spidercast, hpmcast or ",
    ),
    "a protocol that spreads nothing": (
        example({"experiment.protocol": "scamp"}),
        r"experiment\.protocol: scamp does not spread events by itself",
    ),
    "cyclic parents": (
        example({'topics.".d"': {"size": 100, "parents": [".d.g"]}}),
        r"topics include each other in a circle: \.d → \.d\.g → \.d; remove one of these parents",
    ),
    "its own parent": (
        example({'topics.".d"': {"size": 100, "parents": [".d"]}}),
        r"topics include each other in a circle: \.d → \.d",
    ),
    "an unknown parent": (
        example({'topics.".d"': {"size": 100, "parents": [".x"]}}),
        r'topics\."\.d"\.parents names \.x, which \[topics\] does not list',
    ),
    "negative size": (
        example({'topics.".d"': {"size": -1}}),
        r'topics\."\.d"\.size must be between 0 and 2,147,483,648, not -1',
    ),
    "too large a size": (
        example({'topics.".d"': {"size": 2**31 + 1}}),
        r'topics\."\.d"\.size must be between 0 and 2,147,483,648, not 2,147,483,649',
    ),
    "a topic without its dot": (example({'topics."d"': {"size": 3}}), r"topic 'd' must start with a dot, like '\.d'"),
    "a topic with a hole": (example({'topics.".d..g"': {"size": 3}}), r"topic '\.d\.\.g' has an empty segment"),
    "fraction 1.5": (example({"faults.fraction": 1.5}), r"faults\.fraction must be between 0 and 1, not 1\.5"),
    "fraction below 0": (example({"faults.fraction": -0.1}), r"faults\.fraction must be between 0 and 1, not -0\.1"),
    "fraction that is no number": (
        example({"faults.fraction": nan}),
        r"faults\.fraction must be between 0 and 1, not nan",
    ),
    "fraction without a kind": (
        example({"faults.kind": "none"}),
        r'faults\.fraction needs faults\.kind = "stillborn" or "dynamic"',
    ),
    "success 2": (example({"network.success": 2}), r"network\.success \(\.\) must be between 0 and 1, not 2\.0"),
    "success_up 2 of one topic": (
        example({'network.".d"': {"success_up": 2}}),
        r"network\.success_up \(\.d\) must be between 0 and 1, not 2\.0",
    ),
    "a network for an unknown topic": (
        example({'network.".x"': {"success": 0.5}}),
        r'\[network\."\.x"\] names a topic that \[topics\] does not list',
    ),
    "params for an unknown topic": (
        example({'params.".x"': {"links": 4}}),
        r'\[params\."\.x"\] names a topic that \[topics\] does not list',
    ),
    "an unknown preset": (
        example({"params.preset": "best"}),
        r"params\.preset: camcast has no preset 'best' \(it has: camcast, damulticast, live\)",
    ),
    "a preset where there is none": (
        example({"experiment.protocol": "flood"}, params={"preset": "best"}),
        r"params\.preset: flood has no preset 'best' \(it has: none\)",
    ),
    "an unknown parameter": (
        example({"params.electers": 5}),
        r"params\.electers: camcast has no such parameter; it has fanout_extra, ",
    ),
    "an unknown parameter of one topic": (
        example({'params.".d"': {"electers": 5}}),
        r'params\."\.d"\.electers: camcast has no such parameter; it has fanout_extra, ',
    ),
    "a parameter that makes no sense": (example({"params.links": 0}), r"links must be at least 1, not 0"),
    "runs 0": (example({"experiment.runs": 0}), r"experiment\.runs must be between 1 and 10,000,000, not 0"),
    "a negative seed": (example({"experiment.seed": -1}), r"experiment\.seed must be between 0 and 2\^63 - 1, not -1"),
    "a seed too wide": (example({"experiment.seed": 2**63}), r"experiment\.seed must be between 0 and 2\^63 - 1"),
    "an event of an unknown topic": (
        example({"publish.topic": ".x"}),
        r"publish\.topic is \.x, which \[topics\] does not list",
    ),
    "an event of an empty topic": (
        example({'topics.".d.g"': {"size": 0}}),
        r"publish\.topic is \.d\.g, where nobody is: give it a size of at least 1",
    ),
    "no events": (example({"publish.events": 0}), r"publish\.events must be at least 1, not 0"),
    "climb 2": (example({"publish.climb": 2}), r"publish\.climb must be between 0 and 1, not 2\.0"),
    "an unknown table": (example(fautls={}), r"there is no table \[fautls\]; a file has experiment, topics"),
    "sweep of an unknown table": (
        example(sweep={"fault.fraction": [0.1]}),
        r"at fault\.fraction = 0\.1: there is no table \[fault\]",
    ),
    "sweep of an unknown field": (
        example(sweep={"faults.fractoin": [0.1]}),
        r"at faults\.fractoin = 0\.1: there is no field faults\.fractoin; faults has kind, fraction",
    ),
    "sweep of an unknown parameter": (
        example(sweep={"params.electers": [1]}),
        r"at params\.electers = 1: params\.electers: camcast has no such parameter",
    ),
    "sweep of a field of a field": (
        example(sweep={"faults.fraction.x": [0.1]}),
        r"faults\.fraction\.x names no field: fraction is not a table",
    ),
    "sweep of what is no name": (
        example(sweep={"faults..fraction": [0.1]}),
        r"'faults\.\.fraction' is not a field name; write it like faults\.fraction",
    ),
    "one swept value of many": (
        example(sweep={"faults.fraction": [0.1, 1.5]}),
        r"at faults\.fraction = 1\.5: faults\.fraction must be between 0 and 1, not 1\.5",
    ),
    "a case with an unknown field": (
        example(cases={"a": {"faults.frac": 0.1}}),
        r"at case = a: there is no field faults\.frac",
    ),
    "no protocol": (
        {key: value for key, value in example().items() if key != "experiment"} | {"experiment": {"name": "x"}},
        r"experiment\.protocol is missing",
    ),
    "nothing to publish": (
        {key: value for key, value in example().items() if key != "publish"},
        r"the table \[publish\] is missing",
    ),
    "no topics": (example(topics={}), r"publish\.topic is \.d\.g, which \[topics\] does not list"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_mistake_is_answered_in_one_sentence_that_names_file_and_field(what: str) -> None:
    raw, expected = WRONG[what]
    assert re.search(expected, refusal(raw))


# (file, the field as people write it, what was found there)
OF_THE_WRONG_KIND: dict[str, tuple[dict[str, Any], str]] = {
    "runs in words": (example({"experiment.runs": "many"}), "experiment.runs"),
    "runs as a fraction": (example({"experiment.runs": 1.5}), "experiment.runs"),
    "an unknown engine": (example({"experiment.engine": "spark"}), "experiment.engine"),
    "size in words": (example({'topics.".d"': {"size": "large"}}), 'topics.".d".size'),
    "a bare size": (example({'topics.".d"': 100}), 'topics.".d"'),
    "no size": (example({'topics.".d"': {}}), 'topics.".d".size'),
    "a field no topic has": (example({'topics.".d"': {"sise": 3}}), 'topics.".d".sise'),
    "parents that are no list": (example({'topics.".d"': {"size": 1, "parents": "."}}), 'topics.".d".parents'),
    "success in words": (example({"network.success": "often"}), "network.success"),
    "a misspelt field of one topic's network": (example({'network.".d"': {"succes": 1}}), 'network.".d".succes'),
    "an unknown kind of fault": (example({"faults.kind": "stilborn"}), "faults.kind"),
    "links in words": (example({"params.links": "three"}), "params.links"),
    "half a link for one topic": (example({'params.".d"': {"links": 2.5}}), 'params.".d".links'),
    "a topic that is no text": (example({"publish.topic": 3}), "publish.topic"),
}


@pytest.mark.parametrize("what", OF_THE_WRONG_KIND)
def test_a_value_of_the_wrong_kind_is_refused(what: str) -> None:
    raw, field = OF_THE_WRONG_KIND[what]
    assert field.rpartition(".")[2] in refusal(raw) or '".d"' in field


def test_a_value_of_the_wrong_kind_is_answered_in_the_words_of_the_file() -> None:
    said = {field: refusal(raw) for raw, field in OF_THE_WRONG_KIND.values()}
    jargon = re.compile(r"Expected `|got `|`\$|\[\.\.\.\]|Invalid enum value|`object`|`array`")
    assert [text for field, text in said.items() if field not in text or jargon.search(text)] == []


@pytest.mark.parametrize("table", ["params", "network"])
def test_a_number_where_a_topics_table_belongs_is_refused(table: str) -> None:
    assert ".d" in refusal(example({f'{table}.".d"': 3}))


@pytest.mark.parametrize(("field", "value"), [("fanout_extra", nan), ("fanout_extra", inf), ("electors", nan)])
def test_a_parameter_nothing_can_be_reckoned_with_is_refused(field: str, value: float) -> None:
    assert field in refusal(example({f"params.{field}": value}))


# The file itself


def test_a_file_that_is_not_there_is_answered_with_what_is() -> None:
    with pytest.raises(
        SpecError,
        match=r"cannot read nowhere\.toml \(No such file or directory\): give a path, or a name that `gossamer",
    ):
        read("nowhere.toml")
    with pytest.raises(
        SpecError, match=r"cannot read camcast/fig99 .*: give a path, or one of camcast/baselines, "
    ) as told:
        read("camcast/fig99")
    assert "hpmcast" not in str(told.value)
    with pytest.raises(SpecError, match=r"cannot read hpmcats/fig7 .*: did you mean hpmcast/fig7\?"):
        read("hpmcats/fig7")


def test_what_is_studied_in_other_ways_is_known_where_it_is_named() -> None:
    assert set(ELSEWHERE) == set(STUDIES)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="Is a directory"):
        read(str(tmp_path))


def test_a_file_that_is_no_toml_is_answered_with_the_place(tmp_path: Path) -> None:
    path = tmp_path / "broken.toml"
    path.write_text("[experiment]\nname = \n")
    with pytest.raises(SpecError, match=r"broken\.toml is not TOML: .*line 2") as wrong:
        read(str(path))
    assert "\n" not in str(wrong.value)


def test_a_file_that_is_no_text_is_said_to_be_none(tmp_path: Path) -> None:
    path = tmp_path / "picture.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SpecError, match="is not text: an experiment file is TOML"):
        read(str(path))


def test_a_path_wins_over_nothing_and_a_shipped_name_needs_no_path(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(EXAMPLE)
    assert read(str(path))[1] == str(path)
    assert read("camcast/fig15")[1] == "camcast/fig15"


def test_misuse_inside_a_file_becomes_the_files_error() -> None:
    assert issubclass(SpecError, GossamerError)
    assert not issubclass(SpecError, Misuse)
    with pytest.raises(SpecError, match=r"^here: "):
        check(example({"params.links": 0}), "here")
