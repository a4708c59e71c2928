"""Studies on the command line, of every kind but communities: one run as numbers, a whole sweep as files."""

import csv
import json
import re
import shlex
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

pytest.importorskip("pyspark")

import pyarrow.parquet as pq
from rich.console import Console

from cli.running import gossamer
from gossamer.cli.setting_aside import tell_set_aside
from gossamer.lab.book import Line
from gossamer.lab.grid import points
from gossamer.lab.papers import paper
from gossamer.lab.rows import Measure
from gossamer.lab.spec import read
from gossamer.pipeline.places import place_at
from lab.hierarchies import HIERARCHIES
from lab.overlays import OVERLAYS
from lab.recoveries import RECOVERIES
from lab.small_studies import SmallStudy
from pipeline.rows import write_small

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


Summary = list[dict[str, str]]


class Asked(NamedTuple):
    """A small study, what is asked of it, and what has to be in the answer."""

    study: SmallStudy[Any]
    engine: str
    run: str
    "Options of a run, and what is said of it."
    says: tuple[str, ...]
    again: str
    "Options of a run that is shown again."
    needed: set[str]
    figure: str
    as_ever: Callable[[Summary], None]
    "What a sweep always comes to."

    def written(self, folder: Path) -> Path:
        path = folder / self.study.source
        path.write_text(self.study.written(self.engine) + self.study.swept)
        return path


def column(summary: Summary, metric: str, within: str, what: str = "max") -> list[float]:
    """Of the points that say so, one after the other."""
    return [float(row[what]) for row in summary if row["metric"] == metric and within in row["point"]]


def assert_silent_without_loss(summary: Summary) -> None:
    calm = [row for row in summary if json.loads(row["point"])["network.loss"] == 0]
    assert column(calm, "delivery", "", "mean") == [1, 1]
    ((combined,), (push,)) = (column(calm, "gossip_hops_per_s", f'"{method}"') for method in ("combined", "push"))
    assert combined == 0 < push


def assert_rings_hold(summary: Summary) -> None:
    assert column(summary, "topics_partitioned", '"ring"') == [0, 0]


def assert_pmcast_bothers_nobody(summary: Summary) -> None:
    assert column(summary, "spurious", '"pmcast"') == [0, 0]


RECOVERY = Asked(
    RECOVERIES, "machine", "--set recovery.method=push --set network.loss=0.2",
    ("tree: A few dispatchers.", "recovery · 8 dispatchers · run 0 · seed "),
    "--set network.loss=0.1 --seed 5 --run 1", {*RECOVERIES.metrics}, "delivery",
    assert_silent_without_loss,
)  # fmt: skip
OVERLAY = Asked(
    OVERLAYS, "kernel", "--set workload.nodes=40",
    ("few: A few nodes.", "spidercast · 40 nodes · run 0 · seed ", OVERLAYS.metrics["topics_partitioned"]),
    "--set params.view=0.5 --case spidercast --run 1",
    {"degree_mean", "degree_max", "components", "topics_populated", "topics_partitioned", "diameter_topic_max",
     "diameter_overlay", "messages_per_change"},
    "degrees", assert_rings_hold,
)  # fmt: skip
HIERARCHY = Asked(
    HIERARCHIES, "kernel", "--set hierarchy.branching=4",
    ("levels: A few participants.", "hpmcast · 64 participants · run 0 · seed ", HIERARCHIES.metrics["messages"],
     "share of the interested participants"),  # another study's delivery is another thing
    "--set params.variant=pmcast --run 1", {"delivery", "spurious", "messages", "rounds", "view_size"}, "delivery",
    assert_pmcast_bothers_nobody,
)  # fmt: skip
EVERY = {"recovery": RECOVERY, "spidercast": OVERLAY, "hpmcast": HIERARCHY}
every_study = pytest.mark.parametrize("asked", EVERY.values(), ids=EVERY)


def told(*arguments: object) -> list[dict[str, Any]]:
    ran = gossamer("simulate", *arguments, "--json")
    assert (ran.exit_code, ran.stderr) == (0, "")
    return json.loads(ran.stdout)["outcomes"]  # type: ignore[no-any-return]


@every_study
def test_a_run_is_told_in_numbers_and_what_they_are_here(asked: Asked, tmp_path: Path) -> None:
    ran = gossamer("simulate", asked.written(tmp_path), *asked.run.split())
    assert (ran.exit_code, ran.stderr) == (0, "")
    for text in (*asked.says, *asked.needed):
        assert text in ran.stdout
    if asked is RECOVERY:
        assert re.search(r"delivery +│ +\d+\.\d\d% ", ran.stdout)


@every_study
def test_the_command_of_a_row_shows_the_same_trial_again(asked: Asked, tmp_path: Path) -> None:
    rows = told(asked.written(tmp_path), *asked.again.split())
    (command,) = {row["command"] for row in rows}
    program, simulate, *arguments = shlex.split(command)
    assert (program, simulate) == ("gossamer", "simulate")
    assert told(*arguments) == rows


def test_a_table_of_ones_own_is_found_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text("node,topic\na,x\nb,x\nc,y\nd,y\nd,x\n")
    (tmp_path / "own.toml").write_text(
        '[experiment]\nname = "own"\nprotocol = "spidercast"\n[workload]\nfile = "pairs.csv"\n'
    )
    said = {row["metric"]: row["value"] for row in told(tmp_path / "own.toml")}
    assert (said["topics_populated"], said["components"], said["one_sided"]) == (2, 2, 0)


def test_rows_of_a_table_that_say_no_pair_are_told_and_kept(tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text("node,topic\na,x\n,x\nb,x\nc\n")
    (tmp_path / "own.toml").write_text(
        '[experiment]\nname = "own"\nprotocol = "spidercast"\n[workload]\nfile = "pairs.csv"\n'
    )
    (told,) = points(*read(str(tmp_path / "own.toml")))
    said = "pairs.csv: rows set aside: 2; the first: row 2, no node"
    ran = gossamer("simulate", tmp_path / "own.toml", "--json")
    assert said in ran.stderr.replace("\n", "")
    tell_set_aside(Console(file=(screen := StringIO()), width=1000), [told, told], place_at(tmp_path))
    assert screen.getvalue().count(said) == 1
    kept = tmp_path / "quarantine.csv"
    assert (
        kept.read_text()
        == "file,row,reason,node,topic\npairs.csv,2,no node,,x\npairs.csv,4,not as many fields as the header,c,\n"
    )
    (tmp_path / "pairs.csv").write_text("node,topic\na,x\nb,x\n")
    tell_set_aside(Console(file=(screen := StringIO())), [told], place_at(tmp_path))
    assert (screen.getvalue(), kept.exists()) == ("", False)


@pytest.mark.parametrize(
    ("asked", "setting", "says"),
    [
        (RECOVERY, "recovery.cache=0", r"recovery\.cache must be between 1 and 16777216, not 0"),
        (
            OVERLAY,
            "params.view=half",
            r'params\.view must be "full", a share of all nodes such as 0\.05, or so many nodes, not .*',
        ),
        (OVERLAY, "workload.nodes=0", r"workload\.nodes must be at least 1"),
        (OVERLAY, "churn.up_s=-1", r"churn\.up_s must be more than 0 seconds, not -1\.0"),
        (HIERARCHY, "params.fanout=0", r"params\.fanout must be 1 to 1,024"),
        (
            HIERARCHY,
            "hierarchy.branching=[2,2]",
            r"hierarchy\.branching names 2 levels, and levels says 3: leave levels out",
        ),
        (HIERARCHY, "workload.interest=2", r"workload\.interest is a probability: 0 to 1"),
    ],
)
def test_a_mistake_is_said_in_one_sentence(asked: Asked, setting: str, says: str, tmp_path: Path) -> None:
    refused = gossamer("simulate", asked.written(tmp_path), "--set", setting)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert re.fullmatch(rf"gossamer: [^\n]*: {says}\n", refused.stderr), refused.stderr


# Sweeps


def swept(asked: Asked, tmp_path: Path) -> Summary:
    """The summary of a sweep into `out`, after a look at all that lies there."""
    out = tmp_path / "out"
    sweep = ("sweep", asked.written(tmp_path), "--out", out)
    assert json.loads(gossamer(*sweep, "--dry-run", "--json").stdout)["trials"] == 8
    ran = gossamer(*sweep)
    assert (ran.exit_code, ran.stderr) == (0, "")
    assert all(metric in ran.stdout for metric in asked.study.kind.brief)
    assert sorted(each.name for each in out.iterdir()) == ["figures", "outcomes", "report.html", "summary.csv"]
    assert (out / "figures" / f"{asked.figure}.svg").is_file()
    rows = pq.read_table(out / "outcomes").to_pylist()
    assert list(rows[0]) == [*Measure.__struct_fields__, "wave"]
    summary = summary_of(out)
    assert list(summary[0]) == list(Line.__struct_fields__)
    assert asked.needed <= {row["metric"] for row in summary} <= {*asked.study.metrics}
    for line in summary:
        values = [row["value"] for row in rows if (row["point"], row["metric"]) == (line["point"], line["metric"])]
        assert int(line["runs"]) == len(values) <= 2
        assert float(line["mean"]) == pytest.approx(sum(values) / len(values), rel=1e-8)
        assert float(line["max"]) == pytest.approx(max(values), rel=1e-8)
    asked.as_ever(summary)
    return summary


def summary_of(out: Path) -> Summary:
    with (out / "summary.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.spark
@pytest.mark.parametrize("asked", [OVERLAY, HIERARCHY], ids=["spidercast", "hpmcast"])
def test_a_sweep_leaves_outcomes_summary_figures_and_a_report(
    asked: Asked, spark: "SparkSession", tmp_path: Path
) -> None:
    swept(asked, tmp_path)


@pytest.mark.spark
def test_and_so_it_does_beside_outcomes_of_another_kind(spark: "SparkSession", tmp_path: Path) -> None:
    out, summary = tmp_path / "out", swept(RECOVERY, tmp_path)
    assert gossamer("sweep", write_small(tmp_path), "--out", out, "--runs", "1").exit_code == 0
    before = sorted((out / "outcomes").iterdir())
    again = gossamer("sweep", RECOVERY.written(tmp_path), "--out", out, "--json")
    assert (again.exit_code, again.stderr) == (0, "")
    assert [(line["group"], line["metric"]) for line in json.loads(again.stdout)] == [
        (row["group"], row["metric"]) for row in summary
    ]
    assert sorted((out / "outcomes").iterdir()) == before  # nothing was run again
    assert summary_of(out) == summary


# Whole papers

SURE = {
    "epidemic": ("nothing-by-itself", "remarkable-improvement", "pull-is-silent", "low-rates-favour-push"),
    "spidercast": (
        "3-0-suffices", "fig13-all-connected", "fig7-below-12", "fig10-connected",
        *(f"fig12-spidercast(3,0)-{size}" for size in (1000, 2000, 4000, 6000, 8000, 10000)),
    ),
    "hpmcast": ("view-size", "markov-chain", "pmcast-genuine", "fig7-good-overall", "fig8-falls", "fig13-floor"),
}  # fmt: skip
"Claims that are reproduced whatever else changes."
UNREADABLE = {"epidemic": {"charts"}, "spidercast": {"curves"}}
"All that cannot be compared, since the paper shows it without numbers."


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("name", SURE)
def test_a_paper_is_reproduced_claim_by_claim(name: str, spark: "SparkSession", tmp_path: Path) -> None:
    ran = gossamer("reproduce", name, "--out", tmp_path, "--json")
    assert ran.exit_code == 0, ran.stderr
    out = tmp_path / name
    claims = {claim["id"]: claim for claim in json.loads(ran.stdout)}
    assert json.loads((out / "claims.json").read_bytes()) == [*claims.values()]
    for sure in SURE[name]:
        assert claims[sure]["verdict"] == "reproduced", claims[sure]
    if name == "hpmcast":
        assert claims["mean-level-formula"]["verdict"] == "differs"
    else:
        assert {id for id, claim in claims.items() if claim["verdict"] == "cannot be compared"} <= UNREADABLE[name]
    assert sorted(each.stem for each in (out / "summaries").iterdir()) == sorted(
        each.partition("/")[2] for each in paper(name).experiments
    )
    assert "<svg" in (out / "report.html").read_text()
