"""The audit judges simulated towns, faults put in on purpose: it finds every one, and makes none up."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import asdict

pytest.importorskip("pyspark")

from gossamer.wire import values
from gossamer.wire.segment import SegmentReader
from pipeline.audited import Audited
from pipeline.oracle import Story
from pipeline.simulated import KILLED, PUBLISHER, SPREADS, Pairs, Simulated
from pipeline.stories import Told

pytestmark = pytest.mark.spark


def pairs(audited: Audited, town: Simulated, table: str) -> Pairs:
    """What a table names of this town."""
    events = {f"{e.publisher}-{e.incarnation}-{e.sequence}": e for e in town.town.chronicle.fates}
    return {(int(row["name"]), events[row["event"]]) for row in audited.table(table, town.run)}


@pytest.mark.parametrize("spread", SPREADS)
def test_every_fault_is_found_and_none_is_made_up(audited: Audited, spread: str) -> None:
    town = audited.towns[spread]
    faults = town.faults
    assert min(len(faults.lost), len(faults.doubled), len(faults.unasked)) >= 5
    assert pairs(audited, town, "missing") == (town.due - town.had) | (faults.lost & town.due)
    assert pairs(audited, town, "duplicates") == faults.doubled
    assert pairs(audited, town, "parasites") == faults.unasked
    assert town.town.missing() == []


@pytest.mark.parametrize("spread", SPREADS)
def test_every_pair_is_judged_filters_and_all(audited: Audited, spread: str) -> None:
    town, counts = audited.towns[spread], audited.counts(f"town {spread}")
    assert counts["expected"] == len(town.due)
    assert counts["delivered"] == len((town.due & town.had) - town.faults.lost)
    assert counts["in_doubt"] == 1  # the publisher that was killed as it published
    assert counts.get("unmatched", 0) == counts.get("strays", 0) == 0
    filtered = {peer for peer in range(15) if peer % 3 == 0}
    assert any(peer in filtered for peer, _ in town.faults.lost)
    assert any(peer in filtered for peer, _ in town.faults.unasked)


@pytest.mark.parametrize("spread", ["dispatch", "hpmcast"])
def test_the_audit_of_a_town_agrees_with_its_definitions_in_plain_python(audited: Audited, spread: str) -> None:
    found = Story(told(audited.traces / f"town {spread}"), int).audit()
    ours = audited.counts(f"town {spread}")
    assert {name: ours.get(name, 0) for name in found} == dict(found)


def told(folder: Path) -> Iterator[Told]:
    """A town's traces as lines of a story; of rows that only say that somebody lives, the last."""
    for path in sorted(folder.iterdir()):
        reader = SegmentReader(path)
        *rows, last = (row for record in reader for row in record)
        for row in (*(each for each in rows if each.kind != "alive"), last):
            columns = {name: value for name, value in asdict(row).items() if value is not None}
            if row.attributes is not None:
                columns["attributes"] = values.decoded(row.attributes)
            yield Told(reader.head.name, reader.head.incarnation, row.at_us, row.kind, columns)


@pytest.mark.parametrize("spread", SPREADS)
def test_who_was_killed_is_seen_to_fall_silent(audited: Audited, spread: str) -> None:
    town = audited.towns[spread]
    ended = {row["name"]: row["ended_us"] for row in audited.table("lives", town.run) if row["ended"] == "silent"}
    last = max(ended.values())
    assert {name for name, at in ended.items() if at < last} == {str(KILLED), str(PUBLISHER)}
    (row,) = (row for row in audited.table("events", town.run) if not row["promised"])
    assert row["event"].startswith(f"{PUBLISHER}-")
