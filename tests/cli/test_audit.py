"""gossamer audit: one sentence, a small table, where to look next, and an exit code a script can trust."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

pytest.importorskip("pyspark")

from click.testing import Result
from msgspec.structs import replace

from cli.running import gossamer, script
from cli.test_help import WITHOUT
from gossamer.cli import audit as command
from gossamer.core.trace import Head
from gossamer.live.keys.auditing import AuditKey, FileSealer
from gossamer.pipeline.audit_verdict import Verdict
from gossamer.web.audit import doubts, sentence
from pipeline.stories import write_story

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGES = Path(__file__).parents[2] / "docs"
STORY = """
p 0 start
a 0 start
a 0 subscribe .x
b 0 start
b 0 subscribe .
c 0 start
c 0 subscribe .y
p 5 publish .x p:1
a 5.002 deliver .x p:1 hops=1
a 5.003 deliver .x p:1 hops=1
b 5.004 deliver .x p:1 hops=2
c 5.005 parasite .x p:1 peer=b
p 6 publish .x p:2
a 6.001 deliver .x p:2 hops=1
p 9 stop
a 9 stop
b 9 stop
"""


class Audited:
    """One audit by the command itself; the others are given its verdict."""

    def __init__(self, folder: Path) -> None:
        self.traces, self.out = folder / "traces", folder / "traces" / "audit"
        write_story(self.traces, "net", STORY, level="deliveries")
        self.result = gossamer("audit", self.traces)
        self.verdict = msgspec.json.decode((self.out / "verdict.json").read_bytes(), type=Verdict)

    def again(self, monkeypatch: pytest.MonkeyPatch, verdict: Verdict, *options: str) -> Result:
        monkeypatch.setattr(command, "audit_case", lambda *_: verdict)
        return gossamer("audit", self.traces, *options)


@pytest.fixture(scope="module")
def audited(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> Audited:
    return Audited(tmp_path_factory.mktemp("audit"))


# What is said


@pytest.mark.spark
def test_a_broken_promise_is_told_and_makes_the_command_fail(audited: Audited) -> None:
    said = re.sub(r"\s+", " ", audited.result.stdout)
    assert audited.result.exit_code == 1
    assert "topic events expected delivered missing parasites doubt twice p99 ms .x 2 4 3 1 1 0 1 " in said
    assert (
        "The promise does not hold: 1 promised delivery is missing, 1 event came to a node that did not want it, "
        "1 delivery was made twice. b lacks event 2 of p (.x): last delivered elsewhere, at a "
        "4 nodes · 4 lives · 1 without a stop · one host: one clock"
    ) in said
    assert re.sub(r"\s", "", f"Report with plots: {audited.out / 'report.html'}") in re.sub(r"\s", "", said)


@pytest.mark.spark
def test_the_report_names_what_went_wrong_and_shows_how_it_went(audited: Audited) -> None:
    page = (audited.out / "report.html").read_text()
    headings = re.findall(r"<h[23][^>]*>(.*?)</h[23]>", page)
    assert headings == [
        *("On this page", "Missing deliveries", "Events that nobody asked for", "Delivered twice", "How it went"),
        *("How soon events were delivered", "Deliveries over time", "How many hops deliveries took"),
        *("By topic", "By community", "By node"),
    ]
    assert page.count("<svg") == 3
    assert sorted(path.name for path in (audited.out / "figures").iterdir()) == [
        f"{name}.{kind}" for name in ("hops", "latency", "timeline") for kind in ("png", "svg")
    ]


@pytest.mark.spark
def test_json_is_the_verdict_and_nothing_else(audited: Audited, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = audited.again(monkeypatch, audited.verdict, "--json")
    assert asked.exit_code == 1
    assert msgspec.json.decode(asked.stdout, type=Verdict) == audited.verdict


@pytest.mark.spark
def test_a_promise_that_holds_is_exit_code_0(audited: Audited, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = {"missing": 0, "broken": 0, "parasites": 0, "duplicates": 0, "holds": True, "result": "holds", "torn": 3,
             "lost_rows": 1200}  # fmt: skip
    asked = audited.again(monkeypatch, msgspec.structs.replace(audited.verdict, **whole))
    assert asked.exit_code == 0
    said = re.sub(r"\s+", " ", asked.stdout)
    assert "The promise holds. All 4 expected deliveries of 2 events were made, nobody got an event unasked" in said
    assert "rows lost: 1,200 · segments torn: 3" in said


@pytest.mark.spark
def test_the_verdict_says_what_it_means_when_publishers_were_killed_or_nothing_happened(audited: Audited) -> None:
    whole = {"broken": 0, "parasites": 0, "duplicates": 0, "holds": True, "result": "holds"}
    assert sentence(msgspec.structs.replace(audited.verdict, **whole)).startswith(
        "The promise holds. All promised deliveries were made (3 of 4 expected ones; the publishers of the others were "
    )
    one = msgspec.structs.replace(audited.verdict, events=1, missing=0, relays=2, **whole)
    assert sentence(one) == (
        "The promise holds. All 4 expected deliveries of 1 event were made, nobody but those who carry for others got "
        "an event unasked, and nobody got one twice."
    )


@pytest.mark.spark
@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"events": 0}, "no event was published"),
        ({"expected": 0, "in_doubt": 7}, "no delivery is sure to be owed, all 7 are in doubt"),
        ({"expected": 0}, "nobody subscribed to any of the 2 events"),
        ({"nodes": 0, "skipped": 3}, "none of the 3 files could be read, and skipped.csv says why of each"),
    ],
)
def test_nothing_to_judge_is_a_verdict_and_an_exit_code_of_its_own(
    audited: Audited, monkeypatch: pytest.MonkeyPatch, changed: dict[str, int], why: str
) -> None:
    nothing = {"holds": False, "result": "nothing to judge", "missing": 0} | changed
    asked = audited.again(monkeypatch, msgspec.structs.replace(audited.verdict, **nothing))
    assert asked.exit_code == 3
    assert f"There is nothing to judge: {why}." in re.sub(r"\s+", " ", asked.stdout)


@pytest.mark.spark
def test_traces_of_which_none_can_be_read_are_named(spark: "SparkSession", tmp_path: Path) -> None:
    (tmp_path / "n-1-0.open").write_bytes(b"GOSSAMER\0")
    asked = gossamer("audit", tmp_path)
    assert asked.exit_code == 3
    assert "There is nothing to judge: none of the 1 files could be read" in re.sub(r"\s+", " ", asked.stdout)
    assert "n-1-0.open: n-1-0.open is a trace segment without a head" in re.sub(r"\s+", " ", asked.stdout)
    assert "n-1-0.open" in (tmp_path / "audit" / "skipped.csv").read_text()
    assert "n-1-0.open" in (tmp_path / "audit" / "report.html").read_text()


# What is refused


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nowhere"], "nowhere is not a folder: name the one that the nodes write their traces to"),
        (["empty"], "there are no traces below empty: name the folder that the nodes write their traces to"),
        (["empty", "--out", "file"], "--out file is a file: name a folder"),
    ],
)
def test_misuse_is_told_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "starting_spark", lambda *_: pytest.fail("Spark was started"))
    Path("empty").mkdir()
    Path("file").touch()
    asked = gossamer("audit", *arguments)
    assert (asked.exit_code, asked.stdout, asked.stderr) == (2, "", f"gossamer: {says}\n")


def test_a_key_that_is_none_is_told_before_spark_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "starting_spark", lambda *_: pytest.fail("Spark was started"))
    write_story(tmp_path / "traces", "net", STORY)
    asked = gossamer("audit", tmp_path / "traces", "--key", tmp_path / "audit.key")
    assert (asked.exit_code, asked.stdout) == (2, "")
    assert "audit.key is missing: is " in asked.stderr


def test_keys_that_open_nothing_are_named_with_what_would(tmp_path: Path) -> None:
    key, other = AuditKey.new(), AuditKey.new()
    key.write(tmp_path / "audit.key")
    unlock = command.Unlocking([tmp_path / "audit.key"], None)
    unlock([Head("net", 1, values="plain")])
    assert unlock.unfit == f"The key given ({key.short.hex()}) opens none of these traces: they are not sealed."
    unlock([Head("net", 1, values="sealed", sealed_to=other.short, sealed_by=bytes(32))])
    assert unlock.unfit.endswith(f"opens none of these traces: they are sealed to {other.short.hex()}.")
    fits = command.Unlocking([tmp_path / "audit.key"], None)
    fits([Head("net", 1, values="sealed", sealed_to=key.short, sealed_by=FileSealer(key.public).sealed_by)])
    assert fits.unfit == ""


@pytest.mark.spark
def test_why_filters_could_not_be_judged_is_said(audited: Audited, monkeypatch: pytest.MonkeyPatch) -> None:
    verdict = replace(audited.verdict, unmatched=9, locked=2, damaged=1, untold=3, odd_filters=1)
    said = re.sub(r"\s+", " ", audited.again(monkeypatch, verdict).stdout)
    for sentence_ in (
        "The attributes of 2 events are sealed to a key that was not given: --key FILE opens them.",
        "The attributes of 1 event do not open, or are none: their rows were changed since.",
        "The attributes of 3 events stand in no trace: ",
        "1 filter is none to this version of gossamer.",
        "9 of those in doubt are so because nobody can tell whether a filter matches.",
    ):
        assert sentence_ in said
        assert sentence_ in " ".join(doubts(verdict))
    assert doubts(audited.verdict) == []


@pytest.mark.parametrize(("package", "extra"), [("pyspark", "spark"), ("jinja2", "spark")])
def test_a_missing_extra_is_named(package: str, extra: str) -> None:
    asked = script(WITHOUT, package, "audit", "traces")
    assert (asked.returncode, asked.stdout) == (2, "")
    assert asked.stderr == f'gossamer: this command needs {package}: pip install "gossamer[{extra}]"\n'


# What is documented


def test_every_number_of_the_verdict_is_explained() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", (PAGES / "audit.md").read_text(), re.MULTILINE)
    assert [name for name in rows if name in Verdict.__struct_fields__] == list(Verdict.__struct_fields__)
