"""The audit's definitions, each in a story of a few lines; all stories are runs of one folder, audited once."""

import csv
import random
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

pytest.importorskip("pyspark")

from gossamer.core.errors import Misuse
from gossamer.core.ids import peer_of
from gossamer.core.trace import Head
from gossamer.pipeline import audit, audit_verdict
from gossamer.pipeline import audit_clocks as clocks
from gossamer.pipeline.desk import read_csv
from pipeline.oracle import Story
from pipeline.stories import BEGAN_US, lines, write_story

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

# What happened, and what the audit must count; what is not named must be 0.

STORIES: dict[str, tuple[str, dict[str, int]]] = {
    "calm": (
        """
        p 0 start
        p 0 subscribe .s
        a 0 start
        a 0 subscribe .
        b 0 start
        b 0 subscribe .s.i
        c 0 start
        c 0 subscribe .other
        p 5 publish .s.i p:1 bytes=64
        p 5 deliver .s.i p:1 hops=0
        p 5 send .s.i p:1 peer=b bytes=80
        p 5 send .s.i p:1 peer=a bytes=80
        a 5.001 receive .s.i p:1 peer=p bytes=80
        a 5.001 deliver .s.i p:1 hops=1
        a 5.001 send .s.i p:1 peer=b bytes=80
        b 5.002 receive .s.i p:1 peer=a bytes=80
        b 5.002 deliver .s.i p:1 hops=2
        b 5.003 receive .s.i p:1 peer=p bytes=80
        b 5.003 duplicate .s.i p:1 peer=p
        p 9 stop
        a 9 stop
        b 9 stop
        c 9 stop
        """,
        {"events": 1, "promised": 1, "expected": 3, "delivered": 3, "messages": 3, "bytes": 240},
    ),
    "missing": (
        """
        p 0 start
        a 0 start
        a 0 subscribe .x
        b 0 start
        b 0 subscribe .x
        c 0 start
        c 0 subscribe .
        d 0 start
        d 0 subscribe .x
        p 5 publish .x p:1
        a 5.5 deliver .x p:1 hops=3
        p 5.6 send .x p:1 peer=b
        d 5.7 receive .x p:1 peer=a hops=4
        d 5.7 reject .x p:1 peer=a detail=forged
        p 6 publish .x p:2
        p 9 stop
        a 9 stop
        b 9 stop
        c 9 stop
        d 9 stop
        """,
        {"events": 2, "promised": 2, "expected": 8, "delivered": 1, "missing": 7, "broken": 7, "messages": 1},
    ),
    "late": (  # subscribed 2 s before: expected; less: in doubt; 2 s later: in doubt; after that: nobody asks
        """
        p 0 start
        a 3 start
        a 3 subscribe .x
        b 3 start
        b 3.001 subscribe .x
        c 6 start
        c 7 subscribe .x
        d 7 start
        d 7.001 subscribe .x
        p 5 publish .x p:1
        a 5 deliver .x p:1
        b 5 deliver .x p:1
        p 20 stop
        a 20 stop
        b 20 stop
        c 20 stop
        d 20 stop
        """,
        {"events": 1, "promised": 1, "expected": 1, "delivered": 1, "in_doubt": 2},
    ),
    "left": (  # unsubscribed or stopped: 2 s after, before, or around
        """
        p 0 start
        a 0 subscribe .x
        a 7 unsubscribe .x
        a 20 stop
        b 0 subscribe .x
        b 6.999 unsubscribe .x
        b 20 stop
        c 0 subscribe .x
        c 2.999 unsubscribe .x
        c 20 stop
        d 0 subscribe .x
        d 7 stop
        e 0 subscribe .x
        e 6.999 stop
        p 5 publish .x p:1
        a 5 deliver .x p:1
        d 5 deliver .x p:1
        p 20 stop
        """,
        {"events": 1, "promised": 1, "expected": 2, "delivered": 2, "in_doubt": 2},
    ),
    "silent": (  # killed: nothing is known after the last row; `alive` is a row too
        """
        p 0 start
        a 0 subscribe .x
        a 7 alive
        b 0 subscribe .x
        b 6.999 alive
        c 0 subscribe .x
        c 2.999 alive
        p 5 publish .x p:1
        a 5.1 deliver .x p:1
        p 7 alive
        """,
        {"events": 1, "promised": 1, "expected": 1, "delivered": 1, "in_doubt": 1},
    ),
    "quiet but alive": (  # gets nothing, and is not excused
        """
        p 0 start
        a 0 subscribe .x
        p 5 publish .x p:1
        a 9 alive
        p 9 stop
        """,
        {"events": 1, "promised": 1, "expected": 1, "missing": 1, "broken": 1},
    ),
    "publisher killed": (  # nothing is promised, and what is missing is still named
        """
        a 0 subscribe .x
        b 0 subscribe .x
        p 0 start
        p 5 publish .x p:1
        a 5.1 deliver .x p:1
        a 9 stop
        b 9 stop
        """,
        {"events": 1, "expected": 2, "delivered": 1, "missing": 1},
    ),
    "publisher came back": (  # its row of the first time was lost with it
        """
        a 0 subscribe .x
        b 0 subscribe .x
        p 0 start
        a 5.1 deliver .x p:1
        p/2 6 start
        p/2 6 publish .x p:1
        b 6.1 deliver .x p:1
        p/2 6.2 alive
        p/3 7 start
        p/3 7 publish .x p:1 detail=again
        a 9 stop
        b 9 stop
        p/3 9 stop
        """,
        {"events": 1, "promised": 1, "expected": 2, "delivered": 2},
    ),
    "publisher came back in vain": (
        """
        a 0 subscribe .x
        p 0 start
        p 5 publish .x p:1
        p/2 20 start
        a 30 stop
        """,
        {"events": 1, "promised": 1, "expected": 1, "missing": 1, "broken": 1},
    ),
    "nobody wrote the publication down": (
        """
        a 0 subscribe .x
        b 0 subscribe .x
        a 5 deliver .x p:1
        a 9 stop
        b 9 stop
        """,
        {"events": 1, "expected": 2, "delivered": 1, "missing": 1},
    ),
    "nobody listens": (
        """
        p 0 start
        p 5 publish .x p:1
        p 9 stop
        """,
        {"events": 1, "promised": 1},
    ),
    "restart": (  # what came while it was away is nobody's fault; what came twice is, unless it says so
        """
        p 0 start
        a 0 start
        a 0 subscribe .x
        p 5 publish .x p:1
        a 5.1 deliver .x p:1
        p 6 publish .x p:2
        a 6.1 deliver .x p:2
        a 8 alive
        p 12 publish .x p:3
        a/2 15 start
        a/2 15 subscribe .x
        a/2 15.1 deliver .x p:1
        a/2 15.2 deliver .x p:2 detail=redelivered
        p 20 publish .x p:4
        a/2 20 deliver .x p:4 detail=redelivered,really
        a/2 30 stop
        p 30 stop
        """,
        {"events": 4, "promised": 4, "expected": 3, "delivered": 3, "duplicates": 1, "redelivered": 2},
    ),
    "two starts under one head": (  # as a simulator writes them
        """
        p 0 start
        a 0 start
        a 0 subscribe .x
        a 4 crash
        a 10 start
        p 13 publish .x p:1
        a 13 subscribe .y
        p 20 publish .y p:2
        a 20 deliver .y p:2
        a 30 stop
        p 30 stop
        """,
        {"events": 2, "promised": 2, "expected": 1, "delivered": 1},
    ),
    "two subscriptions": (  # one takes over from the other without a gap
        """
        p 0 start
        a 0 subscribe .x
        a 4 subscribe .
        a 5 unsubscribe .x
        b 0 subscribe .x
        b 4.5 unsubscribe .x
        b 4.6 subscribe .
        p 5 publish .x p:1
        a 9 stop
        b 9 stop
        p 9 stop
        """,
        {"events": 1, "promised": 1, "expected": 1, "missing": 1, "broken": 1, "in_doubt": 1},
    ),
    "names that only look alike": (
        """
        p 0 start
        a 0 subscribe .x
        b 0 subscribe .xy
        c 0 subscribe .x.y.z
        p 5 publish .x.y p:1
        a 5 deliver .x.y p:1
        p 6 publish . p:2
        a 9 stop
        b 9 stop
        c 9 stop
        p 9 stop
        """,
        {"events": 2, "promised": 2, "expected": 1, "delivered": 1},
    ),
    "parasite told": (
        """
        p 0 start
        a 0 subscribe .y
        p 5 publish .x p:1
        a 5 parasite .x p:1 peer=p bytes=9
        a 9 stop
        p 9 stop
        """,
        {"events": 1, "promised": 1, "parasites": 1, "declared": 1},
    ),
    "parasite hidden": (  # by a node that claims another topic for it, too
        """
        p 0 start
        a 0 subscribe .y
        b 0 subscribe .x.z
        c 0 start
        p 5 publish .x p:1
        a 5 receive .y p:1 peer=p bytes=9
        a 5 receive .y p:1 peer=p bytes=9
        b 5 deliver .x.z p:1
        c 5 recover p:1
        a 9 stop
        b 9 stop
        c 9 stop
        p 9 stop
        """,
        {"events": 1, "promised": 1, "parasites": 3, "found": 3},
    ),
    "publishers are members": (  # of the topic they publish on, and get what climbs there
        """
        p 0 start
        a 0 start
        a 4 publish .x a:1
        p 5 publish .x.y p:1
        a 6 receive .x.y p:1 peer=p
        p 6 receive .x a:1 peer=a
        p 9 stop
        a 9 stop
        """,
        {"events": 2, "promised": 2, "parasites": 1, "found": 1},
    ),
    "on its way": (  # a copy meets a node that has just left, or is just coming
        """
        p 0 start
        p 5 publish .x p:1
        p 5 publish .x p:2
        a 0 subscribe .x
        a 1 unsubscribe .x
        a 3 parasite .x p:1 peer=p
        a 3.001 parasite .x p:2 peer=p
        b 5 receive .x p:1 peer=p
        b 7 subscribe .x
        a 9 stop
        b 9 stop
        p 9 stop
        """,
        {"events": 2, "promised": 2, "in_doubt": 2, "strays": 2, "parasites": 1, "declared": 1},
    ),
    "relays": (  # only the role declared beforehand excuses
        """
        p 0 start
        a 0 relay
        b 0 relay .x
        c 0 start
        p 5 publish .x.y p:1
        p 5 publish .z p:2
        a 5 relay .x.y p:1
        a 5 receive .z p:2
        b 5 relay .x.y p:1
        b 5 receive .z p:2
        c 5 relay .x.y p:1
        c 6 relay
        a 9 stop
        b 9 stop
        c 9 stop
        p 9 stop
        """,
        {"events": 2, "promised": 2, "relays": 3, "parasites": 2, "found": 2},
    ),
    "before its time": (
        """
        p 0 start
        a 0 subscribe .x
        b 0 subscribe .x
        p 5 publish .x p:1
        a 4.9 deliver .x p:1
        b 5.1 deliver .x p:1
        a 9 stop
        b 9 stop
        p 9 stop
        """,
        {"events": 1, "promised": 1, "expected": 2, "delivered": 2, "negative_latencies": 1},
    ),
    "refused": (  # forged ids make no events, and odd rows no trouble
        """
        a 0 subscribe .x
        a 1 reject p:77 detail=forged
        a 2 reject detail=flood
        a 3 gap .x p:5 detail=3
        a 4 receive p:78
        a 9 stop
        """,
        {},
    ),
}
COUNTED = (
    *("events", "promised", "expected", "delivered", "missing", "in_doubt", "broken", "duplicates", "redelivered"),
    *("negative_latencies", "parasites", "declared", "found", "strays", "relays", "messages", "bytes"),
)
SKEWED = """
p 0 start
a 0 subscribe .x
b 0 subscribe .x
c 0 subscribe .x
p 5 publish .x p:1
p 5 send .x p:1 peer=a
p 5 send .x p:1 peer=b
a 5.010 receive .x p:1 peer=p
a 5.010 deliver .x p:1 hops=1
a 5.020 send .x p:1 peer=p
p 5.030 receive .x p:1 peer=a
b 5.040 receive .x p:1 peer=p
b 5.040 deliver .x p:1 hops=1
b 5.050 send .x p:1 peer=a
a 5.055 receive .x p:1 peer=b
a 5.060 send .x p:1 peer=b
b 5.065 receive .x p:1 peer=a
c 5.070 deliver .x p:1 hops=2
p 9 stop
a 9 stop
b 9 stop
c 9 stop
"""


KINDS = (
    *("subscribe", "subscribe", "unsubscribe", "publish", "publish", "deliver", "deliver", "deliver", "receive"),
    *("duplicate", "parasite", "relay", "reject", "alive", "role"),
)


def wild_story(seed: int) -> str:
    """Anything, in an order that could be."""
    draw = random.Random(seed)
    topics = [".", ".x", ".x.y", ".xy"]
    rows: list[tuple[float, str, str]] = []
    published: list[str] = []
    for name in "abcd":
        for life in range(1, draw.choice([2, 2, 3])):
            who, start = f"{name}/{life}", (life - 1) * 15 + draw.uniform(0, 3)
            *moments, end = sorted(start + draw.uniform(0, 12) for _ in range(draw.randint(4, 16)))
            for number, moment in enumerate(moments):
                kind, topic = draw.choice(KINDS), draw.choice(topics)
                if kind == "publish":
                    published.append(f"{topic} {who}:{number}")
                    rows.append((moment, who, f"publish {published[-1]}" + draw.choice(["", "", " detail=again"])))
                elif kind in ("subscribe", "unsubscribe"):
                    rows.append((moment, who, f"{kind} {topic}"))
                else:
                    rows.append((moment, who, kind))
            rows += [(start, who, "start"), *([(end, who, "stop")] if draw.random() < 0.6 else [])]
    rows.sort(key=lambda row: row[0])
    return "\n".join(f"{who} {moment:.1f} {wild_words(draw, words, published)}" for moment, who, words in rows)


def wild_words(draw: random.Random, words: str, published: list[str]) -> str:
    if words == "role":
        return draw.choice(["alive", "alive", "relay", "relay .x"])
    if words not in ("deliver", "receive", "duplicate", "parasite", "relay", "reject"):
        return words
    event = draw.choice([*published, *published, ".x e:1", ".xy e:2", ". e:3"])
    return f"{words} {event}" + (" detail=redelivered" if words == "deliver" and draw.random() < 0.2 else "")


WILD = {f"wild {seed}": wild_story(seed) for seed in range(12)}


class Audited:
    """The one audit of all stories."""

    def __init__(self, spark: "SparkSession", folder: Path) -> None:
        self.traces, self.out = folder / "traces", folder / "out [1]"
        for name, (story, _) in STORIES.items():
            write_story(self.traces, name, story)
        for name, story in WILD.items():
            write_story(self.traces, name, story)
        write_story(self.traces, "brief", STORIES["missing"][0], level="deliveries")
        ahead = {"a": -3_000_000, "b": 700_000, "c": -3_000_000}
        write_story(self.traces, "hosts", SKEWED, hosts={"p": "1", "a": "2", "b": "3", "c": "2"}, ahead_us=ahead)
        write_story(self.traces, "unknown hosts", SKEWED, level="deliveries",
                    hosts={"a": "2", "b": "2", "c": "3"}, ahead_us={"a": -3_000_000})  # fmt: skip
        write_story(self.traces, "one host", SKEWED, ahead_us={"p": 50, "a": -2_000_000},
                    offsets_us={"p": 150, "a": -1_999_900, "b": 100, "c": 100})  # fmt: skip
        shutil.copytree(self.traces / "calm", self.traces / "copy")  # of the same run: counted once
        (self.traces / "notes.txt").write_text("not a trace")
        (self.traces / "calm" / "odd.segment").write_bytes(b"PAR1")
        self.steps: list[str] = []
        self.verdict = audit.audit_folder(spark, self.traces, self.out, self.steps.append)

    def table(self, name: str, run: str | None = None) -> list[dict[str, Any]]:
        return [row for row in read_csv(self.out / f"{name}.csv") if run is None or row["run"] == run]

    def counts(self, run: str) -> dict[str, int]:
        rows = self.table("per_topic", run)
        totals = {name: sum(row[name] or 0 for row in rows) for name in COUNTED}
        return {name: number for name, number in totals.items() if number}


@pytest.fixture(scope="module")
def audited(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> Audited:
    return Audited(spark, tmp_path_factory.mktemp("audit"))


# Definitions


@pytest.mark.parametrize("name", STORIES)
def test_a_story_is_counted_as_it_is_told(audited: Audited, name: str) -> None:
    assert audited.counts(name) == STORIES[name][1]


@pytest.mark.parametrize("name", [name for name in (*STORIES, *WILD) if name != "two starts under one head"])
def test_the_audit_agrees_with_its_definitions_in_plain_python(audited: Audited, name: str) -> None:
    story = STORIES[name][0] if name in STORIES else WILD[name]
    ours = {key: n for key, n in audited.counts(name).items() if key not in ("declared", "found", "messages", "bytes")}
    assert ours == dict(Story(lines(story)).audit())


def test_wild_stories_hold_everything_the_audit_counts() -> None:
    together = sum((Story(lines(story)).audit() for story in WILD.values()), Story([]).audit())
    assert set(together) == set(COUNTED) - {"declared", "found", "messages", "bytes"}
    assert min(together.values()) >= 4


def test_every_missing_delivery_is_named_with_the_place_the_event_was_last_seen_at(audited: Audited) -> None:
    rows = audited.table("missing", "missing")
    assert [(row["event"], row["name"]) for row in rows] == [
        *((f"{peer_of('p')}-1-1", name) for name in "bcd"),
        *((f"{peer_of('p')}-1-2", name) for name in "abcd"),
    ]
    places = [[row[f"seen_{what}"] for what in ("how", "at", "after_us", "hops")] for row in rows]
    assert places == [
        ["sent to it", "p", 600_000, None],
        ["delivered elsewhere", "a", 500_000, 3],
        ["reject there", "d", 700_000, None],
        *[["published", "p", 0, 0]] * 4,
    ]
    assert [(row["community"], row["had"], row["members"]) for row in rows[:3]] == [
        (".x", 1, 3),
        (".", 0, 1),
        (".x", 1, 3),
    ]


def test_without_sends_the_last_place_is_the_latest_delivery_in_the_community(audited: Audited) -> None:
    rows = audited.table("missing", "brief")
    assert [(row["name"], row["seen_how"], row["seen_at"], row["seen_hops"]) for row in rows[:3]] == [
        ("b", "delivered in its community", "a", 3),
        ("c", "delivered elsewhere", "a", 3),
        ("d", "reject there", "d", None),
    ]


def test_parasites_are_named_with_who_told_of_them_and_who_sent_them(audited: Audited) -> None:
    told = audited.table("parasites", "parasite told")
    assert [(r["name"], r["declared"], r["found"], r["copies"], r["bytes"], r["via"]) for r in told] == [
        ("a", True, False, 1, 9, "p")
    ]
    hidden = audited.table("parasites", "parasite hidden")
    assert {(r["name"], r["found"], r["copies"], r["bytes"]) for r in hidden} == {
        ("a", True, 2, 18),
        ("b", True, 1, None),
        ("c", True, 1, None),
    }


def test_duplicates_are_named(audited: Audited) -> None:
    (row,) = audited.table("duplicates", "restart")
    assert (row["name"], row["event"], row["times"]) == ("a", f"{peer_of('p')}-1-1", 2)


def test_lives_are_listed_with_their_ends(audited: Audited) -> None:
    lives = [(row["name"], row["life"], row["ended"], row["returned"]) for row in audited.table("lives", "restart")]
    assert lives == [("a", 1, "silent", True), ("a", 2, "stopped", False), ("p", 1, "stopped", False)]
    parts = [(row["name"], row["part"], row["ended"]) for row in audited.table("lives", "two starts under one head")]
    assert parts == [("a", 1, "crashed"), ("a", 2, "stopped"), ("p", 1, "stopped")]


# Measures


def test_latency_counts_deliveries_at_other_nodes_and_hops_too(audited: Audited) -> None:
    (row,) = audited.table("per_topic", "calm")
    assert [row[f"latency_us_{p}"] for p in ("p50", "p90", "p99", "max")] == [1500, 1900, 1990, 2000]
    assert (row["hops_mean"], row["hops_max"]) == (1.5, 2)


def test_a_negative_latency_is_told_and_not_clipped(audited: Audited) -> None:
    (row,) = audited.table("per_topic", "before its time")
    assert (row["latency_us_p50"], row["latency_us_max"], row["negative_latencies"]) == (0, 100_000, 1)


def test_messages_and_bytes_are_those_sent_or_nothing_is_said_of_them(audited: Audited) -> None:
    nodes = {row["name"]: row for row in audited.table("per_node", "calm")}
    traffic = ("messages_sent", "bytes_sent", "messages_received", "bytes_received")
    assert [nodes["a"][name] for name in traffic] == [1, 80, 1, 80]
    assert [nodes["c"][name] for name in traffic] == [0, 0, 0, 0]
    assert [nodes["b"][name] for name in traffic] == [0, 0, 2, 160]
    for row in audited.table("per_node", "brief"):
        assert [row[name] for name in traffic] == [None] * 4
    (row,) = audited.table("per_topic", "brief")
    assert (row["messages"], row["bytes"]) == (None, None)
    assert audited.verdict.messages is None


def test_efficiency_is_useful_copies_by_all_copies_of_a_community(audited: Audited) -> None:
    rows = {row["community"]: row for row in audited.table("per_community", "calm")}
    assert {name: row["efficiency"] for name, row in rows.items()} == {".": 1.0, ".s": None, ".s.i": 0.5}
    assert rows[".s.i"]["members"] == 1
    assert all(row["efficiency"] is None for row in audited.table("per_community", "brief"))


def test_refusals_and_gaps_are_counted_per_node(audited: Audited) -> None:
    (row,) = audited.table("per_node", "refused")
    assert (row["refused"], row["gaps"], row["published"]) == (2, 1, 0)


def test_an_event_tells_what_became_of_it(audited: Audited) -> None:
    (row,) = audited.table("events", "before its time")
    assert (row["publisher"], row["topic"], row["published_us"]) == ("p", ".x", BEGAN_US + 5_000_000)
    assert (row["expected"], row["delivered"], row["latency_us_max"]) == (2, 2, 100_000)


# Clocks


@pytest.mark.parametrize("run", ["hosts", "one host"])
def test_clocks_that_differ_are_brought_together(audited: Audited, run: str) -> None:
    (row,) = audited.table("per_topic", run)
    assert [row[f"latency_us_{p}"] for p in ("p50", "max")] == [40_000, 70_000]
    assert (row["expected"], row["delivered"], row["negative_latencies"]) == (3, 3, 0)


def test_clocks_of_which_nothing_is_known_are_taken_as_they_are(audited: Audited) -> None:
    (row,) = audited.table("per_topic", "unknown hosts")
    assert (row["negative_latencies"], row["latency_us_p50"]) == (1, 40_000)
    assert audited.verdict.clocks.endswith("hosts: offsets estimated, but for 2 that are assumed to agree")


def test_a_host_is_set_right_by_the_way_that_leaves_least_room_for_error() -> None:
    delays = [clocks.Delay("r", *each) for each in [("1", "2", 900), ("2", "1", 1100), ("1", "3", 5000), ("3", "1", 45),
                                                   ("2", "3", 60), ("3", "2", 20), ("1", "4", 10)]]  # fmt: skip
    assert clocks.estimate_offsets({"1": 5, "2": 1, "3": 1, "4": 1}, delays) == {"1": 0, "2": 100, "3": 80}


def test_without_offsets_a_host_is_left_alone() -> None:
    heads = [Head("r", 1, host="h", incarnation=1), Head("r", 2, host="h", incarnation=2, offset_us=7),
             Head("r", 3, host="h", incarnation=3, offset_us=9), Head("r", 4, offset_us=9)]  # fmt: skip
    assert clocks.align_within_hosts(heads) == {("r", 2, 2): 0, ("r", 3, 3): -2}


# The whole


def test_the_verdict_is_the_sum_of_the_tables(audited: Audited) -> None:
    verdict, topics = audited.verdict, audited.table("per_topic")
    for name in audit_verdict.OF_TOPICS:
        assert getattr(verdict, name) == sum(row[name] for row in topics), name
    assert verdict.expected == verdict.delivered + verdict.missing
    assert verdict.missing == len(audited.table("missing"))
    assert verdict.parasites == sum(1 for row in audited.table("parasites") if row["declared"] or row["found"])
    assert verdict.strays == sum(1 for row in audited.table("parasites") if row["stray"])
    assert verdict.duplicates == sum(row["times"] - 1 for row in audited.table("duplicates"))
    assert verdict.events == len(audited.table("events"))
    assert not verdict.holds


def test_the_verdict_is_written_as_it_is_told(audited: Audited) -> None:
    assert msgspec.json.decode((audited.out / "verdict.json").read_bytes(), type=audit.Verdict) == audited.verdict


def test_every_run_and_node_is_there_and_copies_of_a_file_count_once(audited: Audited) -> None:
    assert audited.verdict.runs == len(STORIES) + len(WILD) + 4
    assert audited.verdict.nodes == len(audited.table("per_node"))
    assert audited.verdict.lost_rows == 0


def test_foreign_files_are_named_and_skipped(audited: Audited) -> None:
    with (audited.out / "skipped.csv").open(newline="") as file:
        assert list(csv.reader(file)) == [
            ["file", "why"],
            ["calm/odd.segment", "not a trace segment by its first bytes"],
            ["notes.txt", "not a trace segment by its name"],
        ]
    assert (audited.verdict.skipped, audited.verdict.torn) == (2, 0)


def test_every_step_is_said(audited: Audited) -> None:
    assert tuple(audited.steps) == audit.STEPS


def test_nothing_half_done_is_left(audited: Audited) -> None:
    assert [path.name for path in audited.out.iterdir() if path.name.startswith(".")] == []


def test_a_folder_without_traces_is_refused(spark: "SparkSession", tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    with pytest.raises(Misuse, match=r"there are no traces below .*: name the folder that the nodes write"):
        audit.audit_folder(spark, tmp_path, tmp_path / "out")
    with pytest.raises(Misuse, match="is not a folder: name the one"):
        audit.audit_folder(spark, tmp_path / "nowhere", tmp_path / "out")
    with pytest.raises(Misuse, match=r"--out .*notes\.txt is a file: name a folder"):
        audit.audit_folder(spark, tmp_path, tmp_path / "notes.txt")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_many_tasks_come_to_the_same_as_one(
    audited: Audited, spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "ROWS_FOR_ONE_TASK", 0)
    assert audit.audit_folder(spark, audited.traces, tmp_path) == audited.verdict
    for table in sorted(audited.out.glob("*.csv")):
        assert (tmp_path / table.name).read_text() == table.read_text(), table.name
