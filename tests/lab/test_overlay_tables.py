"""Files about overlays: what they can say, and how they are answered when they say something wrong."""

from math import inf, nan
from pathlib import Path
from typing import Any

import pytest

from gossamer.lab.grid import points
from gossamer.lab.spec import read
from gossamer.lab.studies.overlay.tables import Overlays
from gossamer.lab.trial import point_id
from gossamer.protocols.spidercast.experiment.workload import Workload
from gossamer.protocols.spidercast.params import Params
from lab.overlays import SOURCE, point, small, spec
from lab.small_studies import complaint


def test_a_file_needs_its_head_only_and_means_the_papers_setting() -> None:
    (only,) = points({"experiment": {"name": "least", "protocol": "spidercast"}}, SOURCE)
    assert isinstance(only.spec, Overlays)
    assert only.spec.workload.drawn() == Workload()
    assert only.spec.params.made() == Params.paper()
    assert only.spec.churn is None


def test_every_field_of_the_workload_and_of_the_parameters_arrives() -> None:
    made = spec({
        "workload": {"nodes": 70, "topics": 9, "popularity": "nyse", "subscriptions": [1, 4], "correlated": 0.5,
                     "groups": 3},
        "params": {"greedy": 2, "random": 1, "margin": 4, "view": 0.25, "rendezvous": True, "quarantine": 5,
                   "parting": "figure"},
    })  # fmt: skip
    assert made.workload.drawn() == Workload(
        nodes=70, topics=9, popularity="nyse", subscriptions=(1, 4), correlated=0.5, groups=3
    )
    assert made.params.made() == Params(
        greedy=2, random=1, margin=4, view=0.25, rendezvous=True, quarantine=5, parting="figure"
    )


@pytest.mark.parametrize("view", ["full", 0.05, 1.0, 40])
@pytest.mark.parametrize("selection", ["coverage", "similarity", "random", "ring"])
def test_every_view_and_every_selection_can_be_asked_for(view: Any, selection: str) -> None:
    made = spec({"params.view": view, "params.selection": selection}).params.made()
    assert (made.view, type(made.view), made.selection) == (view, type(view), selection)


def test_one_number_of_subscriptions_is_the_same_for_all() -> None:
    assert spec({"workload.subscriptions": 4}).workload.subscriptions == (4, 4)


def test_an_id_changes_with_every_field() -> None:
    changes: list[dict[str, Any]] = [
        {"workload.nodes": 61}, {"workload.topics": 13}, {"workload.popularity": "rss"}, {"workload.exponent": 0.9},
        {"workload.subscriptions": [2, 6]}, {"workload.correlated": 0.1}, {"params.greedy": 2}, {"params.random": 1},
        {"params.margin": 4}, {"params.adaptive": True}, {"params.view": 0.5}, {"params.view": 5},
        {"params.selection": "ring"}, {"params.rendezvous": True}, {"params.quarantine": 4},
        {"params.parting": "figure"}, {"measure.tdi": 5}, {"measure.diameters": False},
        {"churn.up_s": 50.0}, {"churn.seconds": 900.0}, {"experiment.seed": 2},
        {"experiment.engine": "machine"}, {},
    ]  # fmt: skip
    assert len({point_id(point(each)) for each in changes}) == len(changes)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown field": (small({"params.k": 1}), "there is no field params.k; params has greedy, random, margin, "),
    "another engine": (small({"experiment.engine": "world"}), 'spidercast is studied with "kernel" or "machine"'),
    "no popularity": (small({"workload.popularity": "rs"}), "workload.popularity must be rss, zipf, nyse or uniform, "),
    "no selection": (small({"params.selection": "best"}), "params.selection must be coverage, similarity, random or "),
    "no view": (small({"params.view": "half"}), 'params.view must be "full", a share of all nodes such as 0.05, or so'),
    "no view either": (small({"params.view": True}), "or so many nodes, not true"),
    "an empty view": (small({"params.view": 0}), "a view of so many nodes must be at least 1"),
    "more than all": (small({"params.view": 1.5}), "a view that is a share must be more than 0, at most 1"),
    "no coverage": (small({"params.greedy": -1}), "params.greedy must be 0 to "),
    "nothing to do": (small({"params.greedy": 0}), "params.greedy and params.random are both 0: there would be no "),
    "text for a number": (small({"workload.nodes": "many"}), "workload.nodes must be a whole number, not text"),
    "no nodes": (small({"workload.nodes": 0}), "workload.nodes must be at least 1"),
    "too few topics": (small({"workload.topics": 4}), "workload.subscriptions are two numbers, at least and at most, "),
    "the wrong way round": (small({"workload.subscriptions": [5, 2]}), "workload.subscriptions are two numbers"),
    "no number": (small({"workload.exponent": nan}), "workload.exponent must be a number, not nan"),
    "no end": (small(churn={"seconds": inf}), "churn.seconds must be a number, not inf"),
    "no life": (small(churn={"up_s": 0.0}), "churn.up_s must be more than 0 seconds, not 0.0"),
    "no snapshot": (small(churn={"seconds": 10.0}), "churn.snapshot_every_s must be at most churn.seconds"),
    "rings under churn": (small({"params.selection": "ring"}, churn={}), "[churn] is for neighbours that are chosen"),
    "a file and more": (small({"workload.file": "x.csv"}), "leave out workload.nodes"),
    "no file": (
        {**small(), "workload": {"file": "nowhere.csv"}}, "workload.file nowhere.csv cannot be read: No such file",
    ),
    "too many machines": (
        small({"workload.nodes": 5000}, engine="machine"),
        'experiment.engine "machine" is for at most 2,000 nodes, not 5,000',
    ),
    "too many alike": (small({"measure.tdi": -1}), "measure.tdi must be 0 to 1,000, not -1"),
}  # fmt: skip


@pytest.mark.parametrize(("raw", "says"), WRONG.values(), ids=WRONG)
def test_a_mistake_is_said_in_one_sentence(raw: dict[str, Any], says: str) -> None:
    assert says in complaint(raw, SOURCE)


# Tables of one's own

HEAD = '[experiment]\nname = "own"\nprotocol = "spidercast"\n'


def written(folder: Path, table: str, text: str = "[workload]\nfile = FILE\n") -> Path:
    (folder / "pairs.csv").write_text(table)
    path = folder / "own.toml"
    path.write_text(HEAD + text.replace("FILE", '"pairs.csv"'))
    return path


def test_a_table_is_looked_for_beside_the_experiment_file(tmp_path: Path) -> None:
    (only,) = points(*read(str(written(tmp_path, "node,topic\na,x\nb,x\n"))))
    assert isinstance(only.spec, Overlays)
    assert only.spec.workload.file == str(tmp_path / "pairs.csv")
    assert only.spec.population() == "2 nodes"


@pytest.mark.parametrize(
    "text",
    ['[sweep]\n"workload.file" = [FILE]\n', '[cases.own]\n"workload.file" = FILE\n'],
    ids=["swept", "in a case"],
)
def test_so_it_is_where_it_is_swept_or_stands_in_a_case(tmp_path: Path, text: str) -> None:
    (only,) = points(*read(str(written(tmp_path, "node,topic\na,x\nb,x\n", text))))
    assert isinstance(only.spec, Overlays)
    assert only.spec.workload.file == str(tmp_path / "pairs.csv")


def test_another_table_under_the_same_name_is_another_experiment(tmp_path: Path) -> None:
    ids = []
    for table in ("node,topic\na,x\nb,x\n", "node,topic\na,x\nb,y\n", "node,topic\na,x\nb,x\n"):
        (only,) = points(*read(str(written(tmp_path, table))))
        ids.append(point_id(only))
    assert ids[0] == ids[2] != ids[1]
