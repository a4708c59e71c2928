"""The page of a network that is followed: it refreshes itself, until the audit's report takes its place."""

from pathlib import Path
from typing import Any

from gossamer import __version__
from gossamer.pipeline.follow_query import Seen
from gossamer.web import report
from gossamer.web.audit import broken_sentence
from gossamer.web.report import Section, Table

REFRESH_S = 5
SHOWN_MAX = 100
FACTS = ("events", "open", "expected", "delivered", "missing", "in_doubt", "parasites", "duplicates", "nodes")
RESULTS = {"holds": "holds so far", "broken": "does not hold", "nothing to judge": "nothing to judge yet"}
COLUMNS = ["run", "topic", "events", "expected", "delivered", "missing", "in_doubt", "parasites", "duplicates"]
ALERT_COLUMNS = ["kind", "state", "run", "name", "event", "publisher", "topic"]


def so_far(seen: Seen) -> str:
    """The verdict so far, in words."""
    if seen.result == "nothing to judge":
        return "There is nothing to judge yet."
    if seen.result == "holds":
        lost = f", {seen.missing:,} of events that were not promised are missing" if seen.missing else ""
        return f"The promise holds so far: {seen.delivered:,} of {seen.expected:,} expected deliveries{lost}."
    return broken_sentence(seen.broken, seen.parasites, seen.duplicates)


def write_page(out: Path, seen: Seen, alerts: list[dict[str, Any]], command: str, going_on: bool = True) -> Path:
    """report.html; `alerts` are the last ones, newest first."""
    facts = [
        ("promise", RESULTS[seen.result]),
        *((name.replace("_", " "), getattr(seen, name)) for name in FACTS),
        ("silent", len(seen.silent)),
        ("version", __version__),
        ("command", command),
    ]
    topics = Table(COLUMNS, [[row[name] for name in COLUMNS] for row in seen.topics[:SHOWN_MAX]])
    told = Table(ALERT_COLUMNS, [[row[name] for name in ALERT_COLUMNS] for row in alerts[:SHOWN_MAX]])
    sections = [
        Section("By topic", "Events that are closed; others are `open`: more may come of them.", table=topics),
        *([Section("Alerts", "The newest first; all are in alerts.parquet.", table=told)] if alerts else []),
    ]
    title = "Gossamer: audit of a running network"
    return report.write(out / "report.html", title, so_far(seen), facts, sections, REFRESH_S if going_on else 0)
