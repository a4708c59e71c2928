"""What the trace of a live node tells of filters and attributes, whatever carries the events."""

import asyncio
from pathlib import Path

import pytest

from gossamer.core.trace import Row
from gossamer.live.config.place import HpmcastConfig
from gossamer.live.config.tables import TraceConfig
from gossamer.testing import Network
from gossamer.wire import values
from gossamer.wire.segment import SegmentReader

LONG = " or ".join(f"k == {number}" for number in range(0, 400, 2))
SPREADS: dict[str, dict[str, object]] = {
    "camcast": {},
    "spidercast": {"spread": "spidercast"},
    "dispatch": {"spread": "dispatch"},
    "hpmcast": {"spread": "hpmcast", "hpmcast": HpmcastConfig(address="1.2", branching=(4, 4))},
}


def rows_of(folder: Path) -> list[Row]:
    return [row for path in sorted(folder.iterdir()) for record in SegmentReader(path) for row in record]


@pytest.mark.parametrize("spread", SPREADS)
def test_a_subscription_stands_there_as_the_network_knows_it(tmp_path: Path, spread: str) -> None:
    """Where filters are asked at the reader, the node is owed the whole topic; else what they match. However long they
    are, they stand there whole."""

    async def scenario() -> str:
        async with Network() as network:
            trace = TraceConfig(folder=tmp_path, values="plain")
            node = await network.node("a", trace=trace, **SPREADS[spread])
            async with node.subscribe(".x", where=LONG) as inbox:
                await node.publish(".x", b"1", attributes={"k": 2})
                await node.publish(".x", b"2", attributes={"k": 3})
                await node.publish(".x", b"3", attributes={"k": 4})
                async with asyncio.timeout(20):
                    assert [(await anext(inbox)).payload for _ in range(2)] == [b"1", b"3"]  # type: ignore[union-attr]
                return inbox.where

    text = asyncio.run(scenario())
    rows = rows_of(tmp_path)
    inside = spread in ("dispatch", "hpmcast")
    asked = [row.detail for row in rows if row.kind in ("subscribe", "unsubscribe") and row.topic == ".x"]
    assert asked == [text if inside else None] * 2
    assert len(text) > 500
    delivered = [row.sequence for row in rows if row.kind == "deliver"]
    assert delivered == ([1, 3] if inside else [1, 2, 3])
    told = [values.decoded(row.attributes or b"") for row in rows if row.kind == "publish"]
    assert [each and each["k"] for each in told] == [2, 3, 4]
    assert all(each and each["@published"] for each in told)
