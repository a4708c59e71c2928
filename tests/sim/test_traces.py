"""A world leaves the traces that live nodes would leave."""

import itertools
from pathlib import Path

import pytest

from gossamer.core.errors import Misuse
from gossamer.core.patterns import Pattern
from gossamer.core.trace import Head, Row
from gossamer.sim.town import Town
from gossamer.sim.traces import WorldTraces
from gossamer.wire import values
from gossamer.wire.segment import SegmentReader
from sim.towns import DESIGNS, town_of


def read(folder: Path) -> dict[str, tuple[Head, list[Row]]]:
    found = {}
    for path in sorted(folder.iterdir()):
        reader = SegmentReader(path)
        rows = [row for record in reader for row in record]
        assert reader.problem is None
        found[path.name] = (reader.head, rows)
    return found


def watched(folder: Path, spread: str, **options: object) -> tuple[Town, WorldTraces]:
    town = town_of(spread)
    return town, WorldTraces(town.world, folder, spread, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("spread", DESIGNS)
def test_every_life_has_a_file_whose_rows_follow_each_other(tmp_path: Path, spread: str) -> None:
    town, traces = watched(tmp_path, spread)
    for peer in range(6):
        town.start(peer, ".d", Pattern(".p", "k > 1"))
    town.run(20)
    event = town.publish(0, ".p", {"k": 2})
    town.publish(0, ".p", {"k": 1})
    town.run(5)
    town.crash(4)
    town.leave(5)
    town.run(3)
    town.restart(4)
    town.run(2)
    traces.close()
    found = read(tmp_path)
    assert set(found) == {*(f"{peer}-1-0.open" for peer in range(5)), "4-2-0.open", "5-1-0.segment"}
    for head, rows in found.values():
        assert (head.run, head.values, head.level) == (spread, "plain", "deliveries")
        assert [row.seq for row in rows] == [*range(len(rows))]
        assert rows[0].kind == "start"
        times = [row.at_us for row in rows]
        assert times == sorted(times)
        assert max(later - earlier for earlier, later in itertools.pairwise(times)) <= 1_000_000
    assert found["5-1-0.segment"][1][-1].kind == "stop"
    assert found["0-1-0.open"][1][-1].at_us == town.world.now_us
    assert found["4-1-0.open"][1][-1].at_us < 26_000_000
    published = [row for row in found["0-1-0.open"][1] if row.kind == "publish"]
    assert [values.decoded(row.attributes or b"") for row in published] == [
        {"k": number, "@published": row.at_us} for number, row in zip((2, 1), published, strict=True)
    ]
    got = {int(name.partition("-")[0]) for name, (_, rows) in found.items() for row in rows if row.kind == "deliver"}
    assert got == {*town.delivered(event)}


def test_a_world_in_which_somebody_lives_already_is_not_traced(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="from its beginning"):
        WorldTraces(town_of("flood", 2).world, tmp_path, "late")
    (tmp_path / "old").touch()
    with pytest.raises(Misuse, match="is not empty: name another folder"):
        WorldTraces(town_of("flood").world, tmp_path, "again")


def test_watching_changes_nothing(tmp_path: Path) -> None:
    def steps(watch: bool) -> tuple[int, int]:
        town = town_of("camcast")
        if watch:
            WorldTraces(town.world, tmp_path, "x", level="full")
        for peer in range(8):
            town.start(peer, ".d")
        town.run(10)
        event = town.publish(0, ".d")
        town.run(3)
        return town.world.steps, len(town.delivered(event))

    assert steps(True) == steps(False)


def test_at_level_full_copies_are_told_too(tmp_path: Path) -> None:
    town, traces = watched(tmp_path, "camcast", level="full")
    for peer in range(4):
        town.start(peer, ".d")
    town.run(10)
    town.publish(0, ".d", payload=b"x" * 100)
    town.run(3)
    traces.close()
    rows = [row for _, rows in read(tmp_path).values() for row in rows]
    sent = [row for row in rows if row.kind == "send"]
    assert len(sent) == sum(row.kind == "receive" for row in rows) >= 3
    assert all(row.bytes is not None and row.bytes > 100 for row in sent)
