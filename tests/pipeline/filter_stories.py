"""Subscriptions that ask for a part, told as stories: what the audit says of each, counted."""

from pathlib import Path

from msgspec.structs import replace

from gossamer.core.ids import EventId
from gossamer.core.trace import Head, Row
from gossamer.live.keys.auditing import AuditKey, FileSealer
from gossamer.wire import values
from gossamer.wire.segment import opening, records

ASKED = {
    "exactly what matches": (
        """
        p 0 start
        r 0 start
        r 0 relay
        a 0 subscribe .x detail=k>=1
        b 0 subscribe .x detail=k==9
        c 0 subscribe . detail=s=="IBM"
        p 5 publish .x p:1 @k=1 @s=IBM
        r 5.1 relay .x p:1
        a 5.2 deliver .x p:1
        c 5.2 deliver .x p:1
        p 5.3 publish .x p:2 @k=0 @s=SAP
        p 5.4 publish .x p:3 @
        p 9 stop
        r 9 stop
        a 9 stop
        b 9 stop
        c 9 stop
        """,
        {"events": 3, "promised": 3, "expected": 2, "delivered": 2, "relays": 1},
    ),
    "lost, doubled and given to the wrong one": (
        """
        p 0 start
        a 0 start
        a 0 relay
        a 0 subscribe .x detail=k==1
        b 0 subscribe .x detail=k==1
        p 5 publish .x p:1 @k=1
        a 5.2 deliver .x p:1
        a 5.3 deliver .x p:1
        p 5.5 publish .x p:2 @k=2
        a 5.6 receive .x p:2
        b 5.6 deliver .x p:2
        a 5.7 deliver .x p:2
        p 9 stop
        a 9 stop
        b 9 stop
        """,
        {"events": 2, "promised": 2, "expected": 2, "delivered": 1, "missing": 1, "broken": 1, "duplicates": 1,
         "parasites": 2, "found": 2, "relays": 1},
    ),
    "one filter given up for another": (  # together they cover the time, for what matches both
        """
        p 0 start
        a 0 subscribe .x detail=k>=1
        a 4 subscribe .x detail=k>=2
        a 5 unsubscribe .x detail=k>=1
        p 5 publish .x p:1 @k=2
        a 5.1 deliver .x p:1
        p 5.2 publish .x p:2 @k=1
        p 5.4 publish .x p:3 @k=1
        a 5.5 deliver .x p:3
        p 9 stop
        a 9 stop
        """,
        {"events": 3, "promised": 3, "expected": 1, "delivered": 1, "in_doubt": 2, "strays": 1},
    ),
    "given up and taken again": (  # within the grace: nobody is to blame for what it lacks, or has
        """
        p 0 start
        a 0 subscribe .x detail=k==1
        a 5 unsubscribe .x detail=k==1
        p 5.5 publish .x p:1 @k=1
        p 5.6 publish .x p:2 @k=2
        a 5.7 deliver .x p:1
        a 6 subscribe .x detail=k==1
        p 6.5 publish .x p:3 @k=1
        p 9 publish .x p:4 @k=1
        a 9.1 deliver .x p:4
        p 13 stop
        a 13 stop
        """,
        {"events": 4, "promised": 4, "expected": 1, "delivered": 1, "in_doubt": 2, "strays": 1},
    ),
    "a filter of its own in each life": (
        """
        p 0 start
        a 0 start
        a 0 subscribe .x detail=k==1
        p 5 publish .x p:1 @k=1
        p 5 publish .x p:2 @k=2
        a 5.1 deliver .x p:1
        a 8 alive
        a/2 10 start
        a/2 10 subscribe .x detail=k==2
        p 15 publish .x p:3 @k=1
        p 15 publish .x p:4 @k=2
        a/2 15.1 deliver .x p:4
        a/2 15.2 deliver .x p:3
        a/2 20 stop
        p 20 stop
        """,
        {"events": 4, "promised": 4, "expected": 2, "delivered": 2, "parasites": 1, "found": 1},
    ),
    "what no trace tells": (
        """
        p 0 start
        a 0 subscribe .x detail=k==1
        b 0 subscribe .x detail=k=~1
        c 0 subscribe .x
        p 5 publish .x p:1
        a 5.1 deliver .x p:1
        b 5.1 deliver .x p:1
        c 5.1 deliver .x p:1
        p 6 publish .x p:2 @k=1
        a 6.1 deliver .x p:2
        b 6.1 deliver .x p:2
        p 9 stop
        a 9 stop
        b 9 stop
        c 9 stop
        """,
        {"events": 2, "promised": 2, "expected": 3, "delivered": 2, "missing": 1, "broken": 1, "in_doubt": 3,
         "unmatched": 3},
    ),
    "attributes in another's words": (  # only the publisher's own trace is believed
        """
        p 0 start
        z 0 start
        a 0 subscribe .x detail=k==1
        p 5 publish .x p:1 @k=1
        z 4.9 publish .x p:1 @k=2
        a 5.1 deliver .x p:1
        p 9 stop
        z 9 stop
        a 9 stop
        """,
        {"events": 1, "promised": 1, "expected": 1, "delivered": 1},
    ),
    "a topic that looks like a number": (
        """
        p 0 start
        a 0 subscribe .2024 detail=2024==1
        b 0 subscribe .2024 detail=k>9223372036854775806
        c 0 subscribe . detail=k<=0
        p 5 publish .2024 p:1 @k=9223372036854775807
        b 5.1 deliver .2024 p:1
        p 6 publish .2024.x p:2 @k=-9223372036854775808
        c 6.1 deliver .2024.x p:2
        p 9 stop
        a 9 stop
        b 9 stop
        c 9 stop
        """,
        {"events": 2, "promised": 2, "expected": 2, "delivered": 2, "in_doubt": 2, "unmatched": 2},
    ),
    "what an event says beside its attributes": (
        """
        p 0 start
        a 0 subscribe . detail=@topic==".x.y"
        b 0 subscribe .x detail=@published>=1700000005500000
        p 5 publish .x.y p:1 @k=1
        a 5.1 deliver .x.y p:1
        p 6 publish .x p:2 @k=1
        b 6.1 deliver .x p:2
        a 6.2 deliver .x p:2
        p 9 stop
        a 9 stop
        b 9 stop
        """,
        {"events": 2, "promised": 2, "expected": 2, "delivered": 2, "parasites": 1, "found": 1},
    ),
    "a publisher who asks for a part": (  # publishing is no subscription: what was not asked for is not for its reader
        """
        p 0 start
        p 0 subscribe .x detail=k==1
        p 5 publish .x p:1 @k=1
        p 5 deliver .x p:1
        q 0 start
        q 5 publish .x q:1 @k=2
        p 5.5 receive .x q:1
        p 5.5 deliver .x q:1
        p 9 stop
        q 9 stop
        """,
        {"events": 2, "promised": 2, "expected": 1, "delivered": 1, "parasites": 1, "found": 1},
    ),
}  # fmt: skip
SEALED = """
p 0 start
a 0 subscribe .x detail=s=="SECRET-1"
b 0 subscribe .x detail=s=="SECRET-2"
p 5 publish .x p:1 @s=SECRET-1
a 5.1 deliver .x p:1
p 6 publish .x p:2 @s=SECRET-1
b 6.1 deliver .x p:2
p 9 stop
a 9 stop
b 9 stop
"""


def write_rubbish(folder: Path, key: AuditKey) -> None:
    """Segments as nobody writes them who is honest: rows sealed under other numbers, filters that are none."""
    sealer, data = FileSealer(key.public), values.encoded({"k": 1})
    assert data is not None
    head = Head(
        *("rubbish", 3), name="p", incarnation=7, values="sealed", sealed_to=key.short, sealed_by=sealer.sealed_by
    )  # fmt: skip
    rows = [
        Row(0, 0, "start"),
        Row(1, 0, "subscribe", topic=".x", detail="k == 1"),
        Row(2, 0, "subscribe", topic=".x", detail="x" * 20_000),
        Row(3, 0, "subscribe", topic="no topic", detail="k == 1"),
        Row(4, 5_000_000, "publish", None, ".x", 3, 7, 1, attributes=sealer.seal(4, EventId(3, 7, 1), data)),
        Row(5, 5_000_000, "publish", None, ".x", 3, 7, 2, attributes=sealer.seal(4, EventId(3, 7, 2), data)),
        Row(6, 5_000_000, "publish", None, ".x", 3, 7, 3, attributes=b""),
        Row(7, 9_000_000, "stop"),
    ]
    folder.mkdir(parents=True)
    (folder / "p-7-0.segment").write_bytes(opening(head) + records(rows))
    weak = replace(head, node=4, name="w", sealed_by=bytes(32))
    row = Row(0, 5_000_000, "publish", None, ".x", 4, 7, 1, attributes=b"abc")
    (folder / "w-7-0.segment").write_bytes(opening(weak) + records([row]))
