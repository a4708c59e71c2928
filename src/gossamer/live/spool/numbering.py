"""Ordinals of events that an older version kept without them: they stand in the events themselves."""

import sqlite3

from gossamer.core.errors import PeerFault
from gossamer.core.ids import EventId
from gossamer.wire.pack import unpack
from gossamer.wire.sealed import unseal


def number_events(db: sqlite3.Connection) -> None:
    """Reads every event once. One that cannot be read stays without an ordinal, and is in no stream."""
    places = [place for (place,) in db.execute("SELECT place FROM events WHERE sealed != x''").fetchall()]
    for place in places:  # one by one: they may be large
        (sealed,) = db.execute("SELECT sealed FROM events WHERE place = ?", (place,)).fetchone()
        try:
            ordinal = unseal(sealed)[0].ordinal
        except PeerFault:
            continue
        db.execute("UPDATE events SET ordinal = ? WHERE place = ?", (ordinal, place))
    for (last,) in db.execute("SELECT last FROM packs").fetchall():
        for event_id, ordinal in _ordinals(db, "packs", last):
            db.execute(BY_ID, (ordinal, event_id.publisher, event_id.incarnation, event_id.sequence))
    for (last,) in db.execute("SELECT last FROM runs").fetchall():
        ordinals = [ordinal for _, ordinal in _ordinals(db, "runs", last)]
        if ordinals and ordinals == [*range(ordinals[0], ordinals[0] + len(ordinals))]:
            db.execute("UPDATE runs SET ordinal = ? WHERE last = ?", (ordinals[0], last))


def _ordinals(db: sqlite3.Connection, table: str, last: int) -> list[tuple[EventId, int]]:
    (content,) = db.execute(f"SELECT content FROM {table} WHERE last = ?", (last,)).fetchone()
    try:
        return [(event.id, event.ordinal) for event in unpack(content)[1]]
    except PeerFault:
        return []


BY_ID = "UPDATE events SET ordinal = ? WHERE publisher = ? AND incarnation = ? AND sequence = ?"
