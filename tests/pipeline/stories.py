"""Traces written as stories: a line is what happened at a node, and the writer of live nodes makes segments of them.

    b 5.0 publish .x b:1
    a 5.1 deliver b:1 hops=2

Node (`a`, or `a/2` in its second life), seconds, kind, then in any order a topic, an event (`b:1`, or `b/2:1`), or its
publisher alone (`b`, or `b/2`), columns by name, and attributes (`@k=1`; `@` alone: it has none). A life without a stop
was killed: its file is not sealed.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from gossamer.core.ids import peer_of
from gossamer.core.trace import Head, Level, Values
from gossamer.live.watching.scribe import at_once
from gossamer.live.watching.traces import SegmentWriter
from gossamer.wire.segment import OPEN, SEALED
from gossamer.wire.values import Sealer

BEGAN_US = 1_700_000_000_000_000


class Told(NamedTuple):
    """A line, taken apart."""

    name: str
    life: int
    at_us: int
    kind: Any
    columns: dict[str, Any]

    @property
    def event(self) -> tuple[int, int, int] | None:
        found = tuple(self.columns.get(name) for name in ("publisher", "incarnation", "sequence"))
        return None if None in found else found  # type: ignore[return-value]


def lines(story: str) -> Iterator[Told]:
    for line in filter(None, map(str.strip, story.splitlines())):
        who, seconds, kind, *rest = line.split()
        name, _, life = who.partition("/")
        columns: dict[str, Any] = {}
        for word in rest:
            key, equals, value = word.partition("=")
            if word.startswith("@"):
                columns.setdefault("attributes", {}).update({key[1:]: value_of(value)} if equals else {})
            elif equals:
                columns[key] = peer_of(value) if key == "peer" else value if key == "detail" else int(value)
            elif word.startswith("."):
                columns["topic"] = word
            else:
                publisher, _, sequence = word.partition(":")
                publisher, _, incarnation = publisher.partition("/")
                columns |= {"publisher": peer_of(publisher), "incarnation": int(incarnation or 1)}
                columns |= {"sequence": int(sequence)} if sequence else {}
        yield Told(name, int(life or 1), BEGAN_US + round(float(seconds) * 1e6), kind, columns)


def value_of(text: str) -> str | int | float | bool:
    try:
        return msgspec.json.decode(text, type=bool | int | float)
    except msgspec.DecodeError:
        return text


def write_story(
    folder: Path,
    run: str,
    story: str,
    *,
    level: Level = "full",
    hosts: dict[str, str] | None = None,
    ahead_us: dict[str, int] | None = None,
    offsets_us: dict[str, int] | None = None,
    values: Values = "plain",
    sealer: Callable[[], Sealer] | None = None,
) -> None:
    """Segments below folder/run. The clock of a node shows `ahead_us` too much, and its head may say why."""
    writers: dict[tuple[str, int], SegmentWriter] = {}
    stopped: set[tuple[str, int]] = set()
    for told in lines(story):
        key = told.name, told.life
        if key not in writers:
            head = Head(
                run,
                peer_of(told.name),
                name=told.name,
                incarnation=told.life,
                level=level,
                host=(hosts or {}).get(told.name, "one"),
                offset_us=(offsets_us or {}).get(told.name),
                values=values,
            )
            writers[key] = SegmentWriter(folder / run, head, now_us=lambda: 0, sealer=sealer, do=at_once)
        writers[key].row(told.kind, told.at_us + (ahead_us or {}).get(told.name, 0), **told.columns)
        if told.kind == "stop":
            stopped.add(key)
    for (name, life), writer in writers.items():
        writer.close()
        sealed = folder / run / f"{name}-{life}-0{SEALED}"
        if (name, life) not in stopped:
            sealed.rename(sealed.with_suffix(OPEN))
