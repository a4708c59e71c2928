"""Lost and found again, in the audit: gaps, recoveries, and what nobody could have found."""

import msgspec
import pytest

pytest.importorskip("pyspark")

from gossamer.pipeline import audit_verdict
from gossamer.web.audit import sentence, write_report
from pipeline.audited import Audited
from pipeline.recovery_stories import RECOVERIES

pytestmark = pytest.mark.spark

COLUMNS = ("gaps", "lost", "recovered", "unfilled", "came_late", "after_us_p50", "after_us_p99", "after_us_max")


@pytest.mark.parametrize("name", RECOVERIES)
def test_what_was_lost_and_found_is_counted_as_it_is_told(audited: Audited, name: str) -> None:
    (row,) = audited.table("recovery", name) or [dict.fromkeys(COLUMNS)]
    assert {column: row[column] for column in COLUMNS if row[column]} == RECOVERIES[name][1]


def test_recovery_is_told_by_the_topic_that_the_node_subscribes_to(audited: Audited) -> None:
    (row,) = audited.table("recovery", "found again")
    assert row["topic"] == ".x"  # though one of the two was published below


def test_what_came_by_recovery_is_delivered_like_anything_else(audited: Audited) -> None:
    counts = audited.counts("found again")
    assert counts == {"events": 4, "promised": 4, "expected": 8, "delivered": 8}
    delivered = {
        row["event"].rpartition("-")[2]: row["latency_us_max"] for row in audited.table("events", "found again")
    }
    assert delivered == {"1": 10_000, "2": 250_000, "3": 210_000, "4": 10_000}


def test_what_nobody_found_is_still_missing_whether_it_was_noticed_or_not(audited: Audited) -> None:
    named = [(row["name"], row["event"].rpartition("-")[2]) for row in audited.table("missing", "never found")]
    assert named == [("a", "2"), ("c", "4")]


def test_gaps_are_counted_per_node_apart_from_those_a_reader_was_told_of(audited: Audited) -> None:
    (row,) = (row for row in audited.table("per_node", "odd rows") if row["name"] == "a")
    assert (row["gaps"], row["gaps_told"], row["recovered"]) == (3, 1, 3)


def test_events_that_nobody_but_a_killed_publisher_had_are_counted_apart(audited: Audited) -> None:
    (row,) = audited.table("per_topic", "unheard")
    assert (row["events"], row["promised"], row["expected"], row["missing"]) == (2, 0, 4, 3)
    assert (row["unheard"], row["missing_unheard"], row["broken"]) == (1, 2, 0)
    heard = {each["publisher"]: each["heard"] for each in audited.table("events", "unheard")}
    assert heard == {"p": False, "q": True}


def test_a_subscription_that_is_filtered_on_the_way_expects_nothing_for_sure(audited: Audited) -> None:
    counts = audited.counts("filtered on the way")
    assert counts.pop("in_doubt") == 4  # a's and b's: b asked for everything too, but late
    assert counts.pop("unmatched") == 4
    assert counts == {"events": 2, "promised": 2, "expected": 2, "delivered": 2, "relays": 1}


def test_the_verdict_sums_up_what_was_lost_and_found(audited: Audited) -> None:
    verdict, rows = audited.verdict, audited.table("recovery")
    for name in audit_verdict.OF_RECOVERY:
        assert getattr(verdict, name) == sum(row[name] for row in rows) > 0, name
    for name in ("gaps", "gaps_told"):
        assert getattr(verdict, name) == sum(row[name] for row in audited.table("per_node")) > 0, name
    assert verdict.unheard == sum(not row["promised"] and not row["heard"] for row in audited.table("events")) > 0
    assert verdict.missing >= verdict.missing_unheard > 0
    found_ms = (verdict.recovery_ms_p50, verdict.recovery_ms_p99, verdict.recovery_ms_max)
    assert found_ms == pytest.approx((95.0, 100.0, 100.0))  # of 40, 90, 100, 100


def test_the_report_tells_of_it_in_a_table_and_plots(audited: Audited) -> None:
    page = write_report(audited.out, audited.verdict, "gossamer audit").read_text()
    section = page[page.index("Lost and found again") :]
    assert f"{audited.verdict.recovered:,} events came by recovery" in section
    assert "How soon lost events were found again" in section
    assert {path.stem for path in (audited.out / "figures").iterdir()} >= {"recovery", "found-again"}


def test_where_the_last_events_of_the_killed_went_is_said(audited: Audited) -> None:
    quiet = {
        "broken": 0,
        "parasites": 0,
        "duplicates": 0,
        "holds": True,
        "expected": 100,
        "delivered": 97,
        "missing": 3,
    }
    none, some, all_of_them = (
        sentence(msgspec.structs.replace(audited.verdict, **quiet, missing_unheard=n)) for n in (0, 2, 3)
    )
    assert "(97 of 100 expected ones; the publishers of the others were killed)" in none
    assert "were killed, for 2 of them before anybody else had the event)" in some
    assert "were killed, before anybody else had the event)" in all_of_them
