"""The audit's clocks: those of one host agree exactly, those of several as far as copies tell."""

import pytest

pytest.importorskip("pyspark")

from gossamer.core.trace import Head
from gossamer.pipeline import audit_clocks as clocks
from pipeline.audited import Audited

pytestmark = pytest.mark.spark


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
