"""Alerts: what somebody should look at while the network runs, as rows. One is `raised` when a batch finds it, and
`over` when a later one finds that it is not so any more: the event came after all, the node speaks again."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct
from msgspec.structs import asdict

from gossamer.pipeline.follow_memory import Memory, Store, Trouble
from gossamer.pipeline.schemas import arrow_schema

Kind: TypeAlias = Literal["missing", "parasite", "duplicate", "silent", "behind"]
State: TypeAlias = Literal["raised", "over"]
FAULTS: dict[Kind, tuple[str, str]] = {
    "missing": ("missing", "published_us"),
    "parasite": ("parasites", "first_us"),
    "duplicate": ("duplicates", "first_us"),
}
"Of which table of a slice each kind is a row, and since when."
Names = Mapping[tuple[str, int], str]


class Alert(Struct, frozen=True, order=True):
    """A row."""

    run: str
    since_us: int
    "When the event was published (missing), came (parasite, duplicate), or when the node was last heard."
    kind: Kind
    state: State
    name: str
    "The node's."
    event: str | None = None
    publisher: str | None = None
    topic: str | None = None
    batch: int = 0
    "Which found it."


def alerts_of(store: Store, before: Memory, after: Memory, names: Names) -> list[Alert]:
    """What one batch has to say beyond those before it."""
    gone = [alert for batch in after.retired for alert in faults(store.slice(batch), names)]
    gone += nodes("silent", before.silent) + nodes("behind", before.behind)
    found = [*faults(store.slice(after.batch), names), *nodes("silent", after.silent), *nodes("behind", after.behind)]
    return [*told(gone, found, "over", after.batch), *told(found, gone, "raised", after.batch)]


def told(these: Iterable[Alert], but: Iterable[Alert], state: State, batch: int) -> list[Alert]:
    others = {key(alert) for alert in but}
    new = {key(alert): alert for alert in these if key(alert) not in others}
    return sorted(Alert(**(asdict(alert) | {"state": state, "batch": batch})) for alert in new.values())


def key(alert: Alert) -> tuple[str, str, str, str | None]:
    return alert.kind, alert.run, alert.name, alert.event


def nodes(kind: Kind, these: Iterable[Trouble]) -> list[Alert]:
    return [Alert(each.run, each.since_us, kind, "raised", each.name) for each in these]


def faults(slice: Path, names: Names) -> Iterator[Alert]:
    for kind, (table, since) in FAULTS.items():
        for file in sorted((slice / table).glob("part-*.parquet")):
            for row in pq.read_table(file).to_pylist():
                if not row.get("stray"):
                    yield fault(kind, row, row[since], names)


def fault(kind: Kind, row: Mapping[str, Any], since_us: int, names: Names) -> Alert:
    run, event = row["run"], f"{row['publisher']}-{row['incarnation']}-{row['sequence']}"
    name, publisher = (names.get((run, row[who]), str(row[who])) for who in ("node", "publisher"))
    return Alert(run, since_us, kind, "raised", name, event, publisher, row["topic"])


def write_alerts(out: Path, batch: int, alerts: list[Alert]) -> None:
    """A file for each batch that has any: one done again writes it again."""
    folder = out / "alerts.parquet"
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / f"part-{batch:08}.parquet"
    if not alerts:
        place.unlink(missing_ok=True)
        return
    table = pa.Table.from_pylist([asdict(alert) for alert in alerts], schema=arrow_schema(Alert))
    draft = place.with_name(f".{place.name}")
    pq.write_table(table, draft, compression="zstd")
    draft.replace(place)


def last_alerts(out: Path, most: int) -> list[dict[str, Any]]:
    """The newest, newest first."""
    found: list[dict[str, Any]] = []
    for file in sorted((out / "alerts.parquet").glob("part-*.parquet"), reverse=True):
        found += reversed(pq.read_table(file).to_pylist())
        if len(found) >= most:
            break
    return found[:most]
